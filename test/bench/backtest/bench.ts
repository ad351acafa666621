import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { readTests } from "../../../src/backtest/readTests.ts"
import { runPlan } from "../../../src/backtest/runPlan.ts"
import { makeVirtualTreasury } from "../../../src/backtest/VirtualTreasury.ts"
import { type Benchmark, figure } from "../Benchmark.ts"
import { events, settings, yearMillis } from "./year.ts"

/** Seconds of this thread's work, whatever else the machine does. */
const cpuSeconds = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1e6
}

const playYear = async (perMinute: number, say: (text: string) => void): Promise<number> => {
  const world = settings()
  const rehearsal = makeVirtualTreasury(world)
  const seconds = await cpuSeconds(() => rehearsal.advance(events(perMinute), world.start + yearMillis))
  const { ledger, counts } = rehearsal
  say(
    `${perMinute} changes a minute: ${ledger.payments.length} payments, ${counts.subjects} evaluations, ${seconds.toFixed(2)} s`,
  )
  return seconds
}

const run: Benchmark["run"] = async (say) => {
  const file = fileURLToPath(new URL("../../../config/tests/sandbox.yaml", import.meta.url))
  const plans = await Effect.runPromise(readTests(file, []))
  const hundred = Array.from({ length: 100 }, (_, i) => plans[i % plans.length]!)
  const inTurn = async (times: number, work: () => Promise<number>): Promise<ReadonlyArray<number>> => {
    const done: Array<number> = []
    for (let i = 0; i < times; i++) done.push(await work())
    return done
  }
  const one = await inTurn(3, () => playYear(1, say))
  const all = await inTurn(1, () => playYear(50, say))
  const tests = await inTurn(5, () =>
    cpuSeconds(async () => {
      for (const plan of hundred) await runPlan(plan)
    }),
  )
  const seconds = { unit: "seconds of a core", better: "lower" } as const
  return [
    figure("backtest year, one of 50 accounts each minute", one, seconds),
    figure("backtest year, all 50 accounts each minute", all, seconds),
    figure("backtest 100 tests of rules", tests, seconds),
  ]
}

/** A year of one-minute data for 50 rules, and a hundred tests of rules. */
export const backtest: Benchmark = {
  name: "backtest",
  about: "seconds that a year of one-minute balances takes for 50 rules, and a hundred tests of rules",
  limits: "Each change is a round: the rules of the changed account are judged with all checks and sentences.",
  run,
}
