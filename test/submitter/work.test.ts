import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { storyWithApproval } from "../../src/http/approvals.ts"
import { readView } from "../../src/http/StatusView.ts"
import type { daemonLayer } from "../../src/layers.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { powError, type Spawn } from "../../src/pow/Pool.ts"
import { ProofOfWork } from "../../src/pow/ProofOfWork.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { InFlight } from "../../src/submitter/InFlight.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { type Flow, flow, paid, pass, round, states } from "../support/Flow.ts"
import { powOf } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"
import { turn, waitUntil } from "../support/until.ts"

type Services = Layer.Success<ReturnType<typeof daemonLayer>>
type Options = Parameters<Flow>[0]
type Node = Parameters<Flow>[1]

/** The real solver, for which the first work that it is asked for is endless. */
const endlessFirst = Effect.gen(function* () {
  const pow = yield* ProofOfWork
  const searches = { begun: 0, interrupted: 0 }
  let first: string | undefined
  const solve: typeof pow.solve = (work) => {
    first ??= work.tid
    if (work.tid !== first) return pow.solve(work)
    searches.begun++
    const { blockHash, tid } = work
    return Effect.onInterrupt(pow.solve({ blockHash, tid, difficulty: 32 }), () =>
      Effect.sync(() => {
        searches.interrupted++
      }),
    )
  }
  return { searches, work: Layer.succeed(ProofOfWork, { ...pow, solve }) }
})

/** Signs all that is decided, and finds no work for it. */
const signOnly = Effect.gen(function* () {
  const pow = yield* ProofOfWork
  const died = powError({ _tag: "WorkerDied", detail: "for the test" })
  yield* Effect.provideService(submitOnce(), ProofOfWork, { ...pow, solve: () => Effect.fail(died) })
})

const decided = new Set(["submit", "confirm"])
const looked = new Set(["decide", "submit", "confirm"])
/** A person's payment to another receiver than the rule's. */
const handIn = (options: Options) =>
  submitPayment(options.treasury, "live", {
    idempotencyKey: "once",
    transfer: { from: "alice", to: "eve", asset: "USDT", amount: "100" },
  })
const newest = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  const attempts = yield* outbox.attempts(intent?.id ?? "")
  return { intent, attempts, sends: yield* outbox.sends(intent?.id ?? "") }
})
const workAlerts = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (due) => due.filter(({ kind }) => kind === "work"),
)
const pow = (difficulty: number, pastBlocks: number) => ({ ...powOf(pastBlocks), difficulty, txPerBlock: 4 })

describe("proof of work that takes long", () => {
  it.effect("keeps no other payment from its confirmation", () => {
    const logged: Array<string> = []
    const log = Logger.make(({ message }) => {
      logged.push((message as ReadonlyArray<string>)[0]!)
    })
    return flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, decided)
        const { searches, work } = yield* endlessFirst
        yield* ticking(Effect.provide(submitOnce(), Layer.merge(work, Logger.layer([log]))))
        yield* handIn(options)
        for (let i = 0; i < 30 && !(yield* states).includes("confirmed"); i++) {
          yield* ticking(round(options, sandbox, new Set(["decide"])).pipe(Effect.provide(work)))
        }
        assert.deepStrictEqual([...(yield* states)].sort(), ["confirmed", "in_flight"])
        assert.lengthOf(yield* paid(sandbox), 1)
        assert.deepStrictEqual(searches, { begun: 1, interrupted: 0 }, "one search goes on from round to round")
        yield* (yield* InFlight).stopSearches
        assert.strictEqual(searches.interrupted, 1)
        assert.deepStrictEqual(
          logged.filter((word) => /proof/.test(word)),
          ["proof-of-work search ended"],
        )
      },
      { scenario: { pow: pow(3, 60) } },
    )
  })

  const ends: Readonly<Record<string, (options: Options, sandbox: Node) => Effect.Effect<void, unknown, Services>>> = {
    "a halt": () => Effect.flatMap(Controls, (controls) => controls.halt("operator", "stop")),
    "a pause": () =>
      Effect.flatMap(Controls, (controls) =>
        controls.pause({ scope: "rule:keep-bob", reason: "odd", author: "ana", until: undefined }),
      ),
    "the end of the process": () => Effect.flatMap(InFlight, ({ drain }) => drain),
    "the end of its window": (options, sandbox) =>
      Effect.gen(function* () {
        for (let i = 0; i < 8; i++) yield* sandbox.stepBlock
        yield* TestClock.adjust("1 second")
        const poll = pollBalances(options.treasury)
        yield* ticking(Effect.repeat(poll, { while: (isMore) => isMore }))
      }),
    "the end of the attempt": (options, sandbox) =>
      Effect.gen(function* () {
        for (let i = 0; i < 14; i++) yield* sandbox.stepBlock
        // The attempt expires by the newest block, before any balance is read up to it.
        const looked = round(options, sandbox, new Set(["poll", "compare", "decide", "submit"]))
        for (let i = 0; i < 22; i++) yield* ticking(looked)
        assert.strictEqual((yield* newest).attempts[0]?.state, "expired")
      }),
  }

  it.effect.each(Object.keys(ends))("ends within two looks of %s, and nothing is sent", (name) =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, decided)
        const { searches, work } = yield* endlessFirst
        yield* ticking(Effect.provide(submitOnce(), work))
        assert.deepStrictEqual(searches, { begun: 1, interrupted: 0 })
        yield* ends[name]!(options, sandbox)
        yield* TestClock.adjust("200 millis")
        for (let i = 0; i < 20; i++) yield* turn
        assert.deepStrictEqual(searches, { begun: 1, interrupted: 1 })
        assert.lengthOf((yield* newest).sends, 0)
        const before = (yield* newest).attempts
        if (name !== "the end of the attempt") yield* ticking(Effect.provide(submitOnce(), work))
        assert.deepStrictEqual(searches, { begun: 1, interrupted: 1 }, "it is not begun again")
        assert.deepStrictEqual((yield* newest).attempts, before)
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      { scenario: { pow: pow(3, 10) } },
    ),
  )

  it.effect("is begun before the signature is durable, and forgotten if it never is", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, decided)
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TRIGGER refused BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'for the test'); END`
        const pow = yield* ProofOfWork
        const steps: Array<string> = []
        const noted = <A>(step: string, effect: Effect.Effect<A>) =>
          Effect.andThen(
            Effect.sync(() => steps.push(step)),
            effect,
          )
        const work = Layer.succeed(ProofOfWork, {
          ...pow,
          begin: (one) => noted("begun", pow.begin(one)),
          forget: noted("forgotten", pow.forget),
        })
        yield* Effect.exit(ticking(Effect.provide(submitOnce(), work)))
        assert.deepStrictEqual([...new Set(steps)], ["begun", "forgotten"])
        assert.deepStrictEqual(yield* newest.pipe(Effect.map(({ attempts, sends }) => [attempts, sends])), [[], []])
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      { scenario: { pow: pow(3, 60) } },
    ),
  )

  it.effect("resumes with the same tid after the halt, and is sent once", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, decided)
        const { work } = yield* endlessFirst
        yield* ticking(Effect.provide(submitOnce(), work))
        const controls = yield* Controls
        yield* controls.halt("operator", "stop")
        yield* TestClock.adjust("200 millis")
        for (let i = 0; i < 20; i++) yield* turn
        yield* controls.resume({ scope: "all", reason: "looked at it", author: "ana" })
        for (let i = 0; i < 5; i++) yield* round(options, sandbox, new Set(["decide"]))
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.lengthOf((yield* newest).attempts, 1)
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { scenario: { pow: pow(3, 60) } },
    ),
  )

  it.effect("is asked for again where its thread died, and the payment is confirmed", () => {
    let started = 0
    const spawn: Spawn = (cancelled) => {
      started++
      return started === 1
        ? new Worker('require("node:worker_threads").parentPort.on("message", () => process.exit(9))', { eval: true })
        : new Worker(new URL("../../src/pow/worker.ts", import.meta.url), { workerData: cancelled })
    }
    return flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, decided)
        const settled = Effect.gen(function* () {
          for (let i = 0; i < 6; i++) yield* round(options, sandbox, new Set(["decide"]))
        })
        yield* Effect.provide(settled, ProofOfWork.layerWith({ size: 1, spawn }))
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.strictEqual(started, 2)
      },
      { scenario: { pow: pow(3, 60) } },
    )
  })
})

describe("proof of work that is not found in time", () => {
  it.effect("is told at once and signed for never", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["confirm"]))
        const { intent, attempts } = yield* newest
        assert.deepStrictEqual([intent?.state, attempts.length], ["reserved", 0])
        assert.match(
          intent?.detail ?? "",
          /^waits: the network's proof of work would not be ready within its window of 5 blocks: difficulty 24 takes about \d+ (s|min) at /,
        )
        const said = yield* workAlerts
        assert.deepStrictEqual(
          said.map(({ severity, subject }) => [severity, subject]),
          [["ticket", "24"]],
        )
        assert.match(said[0]?.detail ?? "", /^nothing is signed: .*compare the difficulty at another gateway/)
        assert.lengthOf(yield* (yield* Outbox).open, 1)
        const { intents } = yield* readView()
        assert.strictEqual(intents[0]?.detail, intent?.detail, "the page says why")
        const story = yield* storyWithApproval(options.treasury, intent?.id ?? "")
        assert.include("detail" in story ? story.detail : "", "difficulty 24 takes about")
      },
      { scenario: { pow: pow(24, 5) } },
    ),
  )

  it.effect("leaves what was signed unsent, says so, and is judged again after the window", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, decided)
        yield* signOnly
        assert.deepStrictEqual(yield* states, ["in_flight"])
        const real = yield* ProofOfWork
        const harder = {
          solve: (work: Parameters<typeof real.solve>[0]) => real.solve({ ...work, difficulty: 32 }),
          judge: (wanted: Parameters<typeof real.judge>[0]) => real.judge({ ...wanted, difficulty: 32 }),
        }
        for (let i = 0; i < 3; i++) yield* Effect.provideService(submitOnce(), ProofOfWork, harder)
        const { intent, attempts, sends } = yield* newest
        assert.deepStrictEqual([intent?.state, attempts.length, sends.length], ["in_flight", 1, 0])
        const last = (attempts[0]?.anchorHeight ?? 0n) + 10n
        assert.match(
          intent?.detail ?? "",
          /^attempt 1 is not sent: its proof of work would not be ready in time \(difficulty 32 takes about .*\); /,
        )
        assert.include(intent?.detail ?? "", `it ends after block ${last}, and the payment is judged again then`)
        const said = yield* workAlerts
        assert.lengthOf(said, 1)
        assert.match(said[0]?.detail ?? "", /^keep-bob: .*attempt 1 is not sent/)
        yield* pass(sandbox, 36, round(options, sandbox, looked))
        for (let i = 0; i < 6; i++) yield* round(options, sandbox, new Set(["decide"]))
        assert.deepStrictEqual(
          (yield* newest).attempts.map(({ state }) => state),
          ["expired", "confirmed"],
        )
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { scenario: { pow: pow(3, 10) } },
    ),
  )

  it.effect("is told of no attempt that ended while it was judged", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, decided)
        yield* signOnly
        const real = yield* ProofOfWork
        let ended = false
        const passed = Effect.gen(function* () {
          for (let i = 0; i < 14; i++) yield* sandbox.stepBlock
          const confirmed = round(options, sandbox, new Set(["poll", "compare", "decide", "submit"]))
          for (let i = 0; i < 22; i++) yield* confirmed
          ended = (yield* newest).attempts[0]?.state === "expired"
        }).pipe(Effect.provideContext(yield* Effect.context<Services>()), Effect.orDie)
        const slow = {
          solve: (work: Parameters<typeof real.solve>[0]) => real.solve({ ...work, difficulty: 32 }),
          judge: (wanted: Parameters<typeof real.judge>[0]) =>
            Effect.andThen(passed, real.judge({ ...wanted, difficulty: 32 })),
        }
        yield* ticking(Effect.provideService(submitOnce(), ProofOfWork, { ...real, ...slow }))
        yield* waitUntil("the attempt to expire", () => ended, turn)
        yield* turn
        assert.deepStrictEqual(yield* states, ["reserved"])
        for (let i = 0; i < 6; i++) yield* round(options, sandbox, new Set(["decide"]))
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { scenario: { pow: pow(3, 10) } },
    ),
  )
})
