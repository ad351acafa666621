import { setTimeout as sleep } from "node:timers/promises"
import { type Dice, makeDice } from "../../support/Dice.ts"
import { readFlags } from "../../support/Flags.ts"
import { startServer } from "../../support/PostgresServer.ts"
import { explainOpen } from "./explainOpen.ts"
import { type Fleet, makeFleet, type Replica, staleActs } from "./Fleet.ts"

const usage = `usage: node test/proof/replicas/main.ts [--rounds N] [--minutes M] [--treasuries N] [--replicas N] [--seed S]
  [--only KIND]

Processes that share one PostgreSQL are killed, frozen and stopped, the server is restarted, its connections are cut and
the clock of leases is stepped, at random, each time after payments were made. Counts payments that are lost or executed twice, by
the ledger. No round begins after so many minutes.`

const { values, whole, fail } = readFlags("replicas", usage, {
  rounds: "100",
  minutes: "20",
  treasuries: "60",
  replicas: "3",
  seed: "1",
  only: "",
})

const kinds = ["kill", "freeze", "stop", "restart", "cut", "clock"] as const
type Kind = (typeof kinds)[number]

const takeoverMillisMax = 60_000
/** Longer than a lease lasts. */
const frozenMillis = 9_000
/** How long a round waits for payments. */
const paidMillisMax = 45_000
if (values.only !== "" && !kinds.some((kind) => kind === values.only)) fail(`--only takes one of ${kinds.join(", ")}`)

const secondsWrong = [-86_400, -3_600, -30, 30, 3_600, 86_400]

const play = async (fleet: Fleet, kind: Kind, hit: Replica, dice: Dice) => {
  const others = () => fleet.fleet.filter((one) => one !== hit).map(({ daemon }) => daemon.child.pid)
  const all = () => fleet.fleet.map(({ daemon }) => daemon.child.pid)
  switch (kind) {
    case "kill":
    case "stop": {
      const had = (await fleet.held()).get(hit.daemon.child.pid ?? 0) ?? []
      const ended = hit.daemon.stop(kind === "kill" ? "SIGKILL" : "SIGTERM")
      const rest = fleet.fleet.filter((one) => one !== hit)
      const [millis, running] = await Promise.all([
        fleet.untilHeld(others, takeoverMillisMax),
        fleet.untilRun(had, rest, takeoverMillisMax),
      ])
      await ended
      fleet.restart(hit)
      return { millis, running, stale: [] }
    }
    case "freeze": {
      hit.daemon.child.kill("SIGSTOP")
      const stored = await fleet.stored()
      const millis = await fleet.untilHeld(others, takeoverMillisMax)
      await sleep(Math.max(0, frozenMillis - (millis ?? 0)))
      // What it wrote before it was frozen has been read by now.
      const [before, sent] = [hit.daemon.lines.length, hit.sent.length]
      hit.daemon.child.kill("SIGCONT")
      await sleep(3_000)
      const lines = hit.daemon.lines.slice(before)
      const stale = [...staleActs(lines, stored)]
      const isBegun = lines.some((line) => line["msg"] === "daemon starting")
      if (!isBegun && hit.sent.length > sent) stale.push(`${hit.sent.length - sent} transactions sent after it`)
      return { millis, stale }
    }
    case "restart":
      server.restart()
      return { millis: await fleet.untilHeld(all, takeoverMillisMax), stale: [] }
    case "clock":
      await fleet.stepClock(dice.pick(secondsWrong)!)
      return { millis: await fleet.untilHeld(all, takeoverMillisMax), stale: [] }
    case "cut":
      await fleet.cut()
      return { millis: await fleet.untilHeld(all, takeoverMillisMax), stale: [] }
  }
}

/** How long a payment may take to its end where nothing happens any more. */
const restMillis = 180_000
/** Processes that are too slow for their leases take treasuries from each other; a payment may not wait for ever. */
const unrestMillisMax = 600_000

const untilRest = async (fleet: Fleet) => {
  const last = performance.now() + unrestMillisMax
  let end = performance.now() + restMillis
  let before = await fleet.takeovers()
  for (let quiet = 0; quiet < 6 && performance.now() < Math.min(end, last); await sleep(1_000)) {
    quiet = (await fleet.open()).length === 0 ? quiet + 1 : 0
    const now = await fleet.takeovers()
    if (now !== before) end = performance.now() + restMillis
    before = now
  }
}

const percentile = (sorted: ReadonlyArray<number>, share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

const seconds = (millis: number) => (millis / 1_000).toFixed(2)

const run = async (fleet: Fleet, rounds: number, dice: Dice) => {
  const times = new Map<Kind, Array<number>>()
  const problems: Array<string> = []
  const count = () => fleet.fleet.map(({ daemon }) => daemon.child.pid)
  if ((await fleet.untilHeld(count, 120_000)) === undefined) problems.push("the treasuries did not start")
  const end = performance.now() + whole("minutes", values.minutes) * 60_000
  let round = 1
  for (; round <= rounds && performance.now() < end; round++) {
    if (!(await fleet.untilPaid(3, paidMillisMax))) problems.push(`round ${round}: no three payments before it`)
    await sleep(dice.below(2_000))
    const kind = dice.pick(kinds.filter((one) => values.only === "" || one === values.only))!
    const held = await fleet.held()
    const holders = fleet.fleet.filter(({ daemon }) => held.has(daemon.child.pid ?? 0))
    const hit = dice.pick(holders.length > 0 ? holders : fleet.fleet)!
    const { millis, running, stale } = await play(fleet, kind, hit, dice)
    problems.push(...stale.map((act) => `round ${round}, frozen: ${act}`))
    if (millis === undefined) problems.push(`round ${round}, ${kind}: not taken over in ${takeoverMillisMax} ms`)
    else times.set(kind, [...(times.get(kind) ?? []), millis])
    const run = running === undefined ? "" : `, running after ${seconds(running)} s`
    console.log(
      `${round} of ${rounds}: ${kind} of replica ${hit.number}, all held after ${seconds(millis ?? 0)} s${run}`,
    )
  }
  return { times, problems, played: round - 1 }
}

const server = startServer() ?? fail("needs PostgreSQL")
const [rounds, treasuries, replicas] = [values.rounds, values.treasuries, values.replicas].map((text, i) =>
  whole(["rounds", "treasuries", "replicas"][i]!, text),
) as [number, number, number]
const fleet = await makeFleet({ serverUrl: server.url, treasuries, replicas, blocks: rounds * 60 })
try {
  const { times, problems, played } = await run(fleet, rounds, makeDice(`replicas ${values.seed}`))
  fleet.calm()
  await untilRest(fleet)
  const { lost, duplicate, executed } = await fleet.verdict()
  if (executed < treasuries) problems.push("hardly a payment was executed: the run shows nothing")
  for (const [kind, all] of times) {
    const sorted = all.toSorted((a, b) => a - b)
    const [p50, p99, most] = [percentile(sorted, 0.5), percentile(sorted, 0.99), sorted.at(-1) ?? 0].map(seconds)
    console.log(`${kind}: ${all.length} times, all held after p50 ${p50} s, p99 ${p99} s, at most ${most} s`)
  }
  await explainOpen(fleet)
  console.log(`leases were taken ${await fleet.takeovers()} times`)
  console.log(`payments by state: ${(await fleet.states()).join(", ")}`)
  for (const text of [...problems, ...lost, ...duplicate]) console.log(text)
  console.log(
    `${played} rounds, ${treasuries} treasuries, ${executed} executed: ${lost.length} lost, ${duplicate.length} duplicate, ${problems.length} other problems`,
  )
  process.exitCode = lost.length + duplicate.length + problems.length > 0 ? 1 : 0
} finally {
  await fleet.close()
  server.stop()
}
process.exit()
