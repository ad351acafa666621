import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { StatementSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Fiber, Layer, Logger, ManagedRuntime } from "effect"
import { tracingLayer } from "../../../src/cli/run/tracing.ts"
import { loadTreasury } from "../../../src/config/Treasury.ts"
import { prepare, runLoops } from "../../../src/daemon.ts"
import { submitPayment } from "../../../src/engine/submitPayment.ts"
import { daemonLayer } from "../../../src/layers.ts"
import { writeKeys } from "../../../src/sandbox/Keys.ts"
import { Outbox } from "../../../src/store/payments/Outbox.ts"
import { submitOnce } from "../../../src/submitter/Submitter.ts"
import { threadCpuMicros } from "../../support/threadCpu.ts"
import { type Benchmark, figure } from "../Benchmark.ts"
import { startScript } from "../programs.ts"
import { makePeer } from "./peer.ts"
import { payers, seed, treasuryText } from "./treasury.ts"

const rounds = 5
const peerPayments = 30
/** No round may hang the run. */
const roundMillisMax = 120_000

/** Counts the commits of this process. */
const commitsCounted = () => {
  const all = StatementSync.prototype.all as (...values: ReadonlyArray<unknown>) => ReturnType<StatementSync["all"]>
  let commits = 0
  StatementSync.prototype.all = function (this: StatementSync, ...values: Array<unknown>) {
    if (this.sourceSQL === "COMMIT") commits++
    return all.apply(this, values)
  }
  return () => commits
}

/** A whole daemon in this process, whose loops are run when they are asked for. */
const startDaemon = async (file: string, dataDir: string) => {
  const treasury = await Effect.runPromise(Effect.provide(loadTreasury(file), NodeServices.layer))
  const options = { treasury, mode: "live", dataDir, requestsPerSecond: 100_000 } as const
  const services = Layer.mergeAll(NodeServices.layer, Logger.layer([]), tracingLayer(treasury))
  const runtime = ManagedRuntime.make(daemonLayer(options).pipe(Layer.provideMerge(services)))
  await runtime.runPromise(prepare(options))
  let count = 0
  const states = Effect.gen(function* () {
    const outbox = yield* Outbox
    const counts = yield* outbox.counts
    // One whose answer was lost, or that was sent again since, is in the mempool all the same.
    const sent = (yield* outbox.live).filter(({ state }) => state === "accepted" || state === "unknown").length
    return { sent: sent + (counts.get("confirmed") ?? 0), confirmed: counts.get("confirmed") ?? 0 }
  })
  const until = async (what: "sent" | "confirmed", step: () => Promise<unknown>) => {
    const end = performance.now() + roundMillisMax
    while ((await runtime.runPromise(states))[what] < count) {
      if (performance.now() > end) {
        const open = await runtime.runPromise(Effect.flatMap(Outbox, (outbox) => outbox.open))
        throw new Error(`not all of ${count} payments were ${what}; ${open[0]?.state}: ${open[0]?.detail}`)
      }
      await step()
    }
  }
  return {
    handIn: async (payments: number) => {
      for (let n = 0; n < payments; n++) {
        const transfer = { from: payers[count % payers.length], to: "hot", asset: "USDT", amount: "1" }
        await runtime.runPromise(submitPayment(treasury, "live", { idempotencyKey: `${count++}`, transfer }))
      }
    },
    /** The submitter's rounds alone, until all that was handed in is in the mempool. */
    submit: () => until("sent", () => runtime.runPromise(submitOnce())),
    /** All loops, until all that was handed in is confirmed. Resolves with the time at which it was in the mempool. */
    confirm: async () => {
      const loops = runtime.runFork(Effect.scoped(runLoops(options)))
      await until("sent", () => sleep(5))
      const sentAt = performance.now()
      await until("confirmed", () => sleep(50))
      await Effect.runPromise(Fiber.interrupt(loops))
      return sentAt
    },
    dispose: () => runtime.dispose(),
  }
}

const run: Benchmark["run"] = async (say, { count = 60 }) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-submit-"))
  const file = join(dir, "treasury.yaml")
  writeFileSync(file, treasuryText("http://127.0.0.1:1"))
  const network = startScript("submit/network.ts", file)
  try {
    const url = String((await network.line((one) => "url" in one))["url"])
    writeFileSync(file, treasuryText(url))
    writeKeys(join(dir, "data", "sandbox"), seed, payers)
    const daemon = await startDaemon(file, join(dir, "data"))
    const commits = commitsCounted()
    const pay = await makePeer(url)
    // Warm, and allowed to sign: a new store first compares the ledger with its journal.
    await daemon.handIn(payers.length)
    await daemon.confirm()
    await pay()
    const taken = {
      own: [] as Array<number>,
      cpu: [] as Array<number>,
      peer: [] as Array<number>,
      all: [] as Array<number>,
    }
    const commitsEach: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      let began = performance.now()
      const [cpu, before] = [threadCpuMicros(), commits()]
      await daemon.handIn(count)
      await daemon.submit()
      taken.own.push((count * 1_000) / (performance.now() - began))
      taken.cpu.push((threadCpuMicros() - cpu) / count / 1_000)
      commitsEach.push((commits() - before) / count)
      await daemon.confirm()
      began = performance.now()
      for (let n = 0; n < peerPayments; n++) await pay()
      taken.peer.push((peerPayments * 1_000) / (performance.now() - began))
      began = performance.now()
      await daemon.handIn(count)
      taken.all.push((count * 1_000) / ((await daemon.confirm()) - began))
      say(
        `${round + 1} of ${rounds}: ${taken.own[round]!.toFixed(1)} a second, the client ${taken.peer[round]!.toFixed(1)}`,
      )
    }
    await daemon.dispose()
    const higher = { better: "higher" } as const
    const ratio = (own: ReadonlyArray<number>) => own.map((rate, round) => rate / taken.peer[round]!)
    return [
      figure("submit payments", taken.own, { unit: "per second", ...higher }),
      figure("submit against @vegaprotocol/crypto", ratio(taken.own), { unit: "times", ...higher }),
      figure("submit against @vegaprotocol/crypto, whole daemon", ratio(taken.all), { unit: "times", ...higher }),
      figure("submit processor time of the main thread", taken.cpu, { unit: "ms a payment", better: "lower" }),
      figure("submit commits", commitsEach, { unit: "a payment", better: "lower" }),
    ]
  } finally {
    await network.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The submitter with its store, signer and one worker, beside a sequential client that keeps nothing. */
export const submit: Benchmark = {
  name: "submit",
  about: "payments signed, verified, solved (difficulty 15), made durable and submitted, beside a sequential client",
  limits:
    "The main thread; no single part takes most of its time. Four commits make a payment durable: the record " +
    "and its reserved money; permit, signature and bytes; the start of the send, with the proof of work; the " +
    "answer. On this disk a commit takes a quarter of a millisecond: sharing commits would gain a twentieth. " +
    "SQLite takes a quarter, for some fifty statements; effects take a quarter; decoding rows takes a twelfth, " +
    "which compiled schemas would halve at the cost of a slower start; verifying the signature with the second " +
    "implementation takes 6 %. The proof of work, 6 ms on another thread, runs meanwhile.",
  run,
}
