import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Attempt } from "../../src/domain/Attempt.ts"
import { TransferId } from "../../src/domain/Hex.ts"
import { finalIntentStates, type IntentState, openIntentStates } from "../../src/domain/Intent.ts"
import { type IntentFacts, judgeVerb, type Verb } from "../../src/submitter/endIntent.ts"
import { InFlight } from "../../src/submitter/InFlight.ts"
import { mayMoveIntent } from "../support/mayMove.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"

const intent = intentOf("1")
/** Anchored on 100 with a window of 5: over beyond doubt once block 109 is known. */
const attempt = (change: Partial<Attempt> = {}): Attempt =>
  attemptOf(intent, 1, {
    windowBlocks: 5,
    state: "unknown",
    sends: 1,
    hashBare: "ba".repeat(32),
    hashPrefixed: "be".repeat(32),
    ...change,
  })

const facts = (state: IntentState, change: Partial<IntentFacts> = {}): IntentFacts => ({
  intent: { ...intent, state },
  attempts: [],
  sends: [],
  evidence: [],
  done: new Set(),
  height: 200n,
  accepted: 200n,
  now: 1_000_000,
  blockMillis: 1_000,
  ...change,
})
const stuck = (change: Partial<IntentFacts> = {}) => facts("manual", { attempts: [attempt()], ...change })

const executed = (hash: string): Verb => ({ verb: "executed", hash })
const never: Verb = { verb: "never_executed" }
const verbs: ReadonlyArray<Verb> = [
  never,
  executed("ba".repeat(32)),
  { verb: "reject" },
  { verb: "cancel" },
  { verb: "abandon" },
]

describe("a person's verb", () => {
  const dead = attempt({ state: "expired" })
  const leftBehind = [{ k: 1, kind: "left_behind" as const, detail: "of the chain before the reset" }]
  const permitted: ReadonlyArray<readonly [string, Verb, IntentFacts, IntentState]> = [
    ["rejects what is proposed", { verb: "reject" }, facts("proposed"), "rejected"],
    ["rejects what waits for approval", { verb: "reject" }, facts("awaiting_approval"), "rejected"],
    ["cancels what is proposed", { verb: "cancel" }, facts("proposed"), "cancelled"],
    ["cancels what waits for approval", { verb: "cancel" }, facts("awaiting_approval"), "cancelled"],
    ["cancels what is reserved and was never signed", { verb: "cancel" }, facts("reserved"), "cancelled"],
    ["abandons after a proven death", { verb: "abandon" }, facts("reserved", { attempts: [dead] }), "abandoned"],
    [
      "resolves what was signed on a block of the chain before a reset",
      never,
      stuck({ evidence: leftBehind, height: 50n, accepted: 52n }),
      "abandoned",
    ],
    ["resolves by the hash of the bare form", executed("BA".repeat(32)), stuck(), "confirmed"],
    ["resolves by the hash of the prefixed form", executed("be".repeat(32)), stuck(), "confirmed"],
    ["resolves by the transfer id", executed(attempt().transferId), stuck(), "confirmed"],
    [
      "resolves by the hash of work that was dropped since",
      executed("cd".repeat(32)),
      stuck({ sends: [{ k: 1, txHash: "CD".repeat(32) }] }),
      "confirmed",
    ],
    ["resolves what is unknown as executed", executed("ba".repeat(32)), { ...stuck(), height: 101n }, "confirmed"],
    ["resolves as never executed once the window is over", never, stuck({ height: 109n }), "abandoned"],
    [
      "believes that people were called after the window where no heights are",
      never,
      stuck({ height: 0n }),
      "abandoned",
    ],
    ["resolves what has no live attempt left", never, facts("manual", { attempts: [dead] }), "abandoned"],
  ]
  it.each(permitted)("%s", (_, verb, known, to) => {
    const judged = judgeVerb(verb, known)
    assert.isTrue(judged.permitted, "message" in judged ? judged.message : "")
    if (judged.permitted) assert.strictEqual(judged.to, to)
  })

  const failed = [{ k: 1, kind: "execution_failed" as const, detail: "rejected" }]
  const seen = [{ k: 1, kind: "executed" as const, detail: "done" }]
  const two = [attempt({ state: "expired" }), attempt({ k: 2, transferId: TransferId.make("2".repeat(64)) })]
  const refused: ReadonlyArray<readonly [string, Verb, IntentFacts, RegExp]> = [
    ["rejects nothing that is reserved", { verb: "reject" }, facts("reserved"), /is reserved.*"intents cancel"/],
    [
      "cancels nothing after a signature",
      { verb: "cancel" },
      facts("reserved", { attempts: [dead] }),
      /"intents abandon"/,
    ],
    ["abandons nothing before a signature", { verb: "abandon" }, facts("reserved"), /"intents cancel"/],
    [
      "abandons nothing that is proposed",
      { verb: "abandon" },
      facts("proposed"),
      /"intents cancel" or "intents reject"/,
    ],
    [
      "ends nothing whose attempt may execute",
      { verb: "abandon" },
      facts("in_flight", { attempts: [attempt({ state: "accepted" })] }),
      /attempt 1 may execute until block 105.*wait/,
    ],
    ["points to resolve where people must", { verb: "cancel" }, stuck(), /may have executed.*"intents resolve"/],
    ["resolves nothing that is in flight", never, facts("in_flight", { attempts: [attempt()] }), /only what is manual/],
    [
      "resolves nothing that is in flight as executed",
      executed("ba".repeat(32)),
      facts("in_flight"),
      /only what is man/,
    ],
    ["knows no foreign hash", executed("00".repeat(32)), stuck(), /none of its attempts.*transfer/],
    ["sees the failure in the block", executed("ba".repeat(32)), stuck({ evidence: failed }), /failed in its block/],
    ["sees the proof of death", executed(two[0]!.transferId), stuck({ attempts: two }), /attempt 1 is proven never/],
    [
      "sees that another attempt executed",
      executed(two[1]!.transferId),
      stuck({ attempts: [attempt(), two[1]!], evidence: seen }),
      /hold attempt 1, not 2/,
    ],
    [
      "does not believe that unsent bytes executed",
      executed("ba".repeat(32)),
      stuck({ attempts: [attempt({ state: "signed", sends: 0 })] }),
      /never sent/,
    ],
    ["sees the execution", never, stuck({ evidence: seen }), /hold attempt 1 as executed.*--executed/],
    [
      "sees an execution that only a listing showed",
      never,
      stuck({ done: new Set([attempt().transferId]) }),
      /executed/,
    ],
    [
      "does not take bytes of before a reset for dead where the chain is in their window",
      never,
      stuck({ evidence: leftBehind, height: 50n, accepted: 103n }),
      /attempt 1 may still execute/,
    ],
    [
      "does not take them for dead where another newest block is doubted",
      never,
      stuck({ evidence: leftBehind, height: 50n, accepted: undefined }),
      /attempt 1 may still execute/,
    ],
    [
      "sees that bytes of before a reset executed",
      never,
      stuck({ evidence: [...leftBehind, ...seen], height: 50n, accepted: 52n }),
      /hold attempt 1 as executed/,
    ],
    [
      "waits for the time of a window",
      never,
      stuck({ attempts: [attempt({ windowBlocks: 100 })], height: 900n, now: 4_500 }),
      /block [0-9]+ is the newest that is sure, its window is over beyond doubt after block [0-9]+/,
    ],
    ["waits for the margin behind the window", never, stuck({ height: 108n }), /block 108.*after block 108/],
    ...[103n, undefined].map(
      (accepted) =>
        [
          `waits for the window where the chain before a reset is back, and block ${accepted} the newest`,
          never,
          stuck({ evidence: leftBehind, height: 0n, accepted }),
          /may still execute/,
        ] as const,
    ),
    [
      "wants a height for what is unknown",
      never,
      facts("unknown", { attempts: [attempt()], height: 0n }),
      /no block is known/,
    ],
  ]
  it.each(refused)("%s", (_, verb, known, says) => {
    const judged = judgeVerb(verb, known)
    assert.isFalse(judged.permitted)
    if (!judged.permitted) assert.match(`${judged.message}; ${judged.remedy}`, says)
  })

  it("ends nothing that is over", () => {
    for (const state of finalIntentStates) {
      for (const verb of verbs) {
        const judged = judgeVerb(verb, facts(state))
        assert.isFalse(judged.permitted, `${verb.verb} of ${state}`)
      }
    }
  })

  it("never asks for a move that the diagram lacks, nor leaves an attempt alive", () => {
    for (const state of openIntentStates) {
      for (const attempts of [[], [dead], [attempt()], [attempt({ state: "signed", sends: 0 })]]) {
        for (const verb of verbs) {
          const judged = judgeVerb(verb, facts(state, { attempts }))
          if (!judged.permitted) continue
          const from = state === "proposed" && judged.to === "rejected" ? "awaiting_approval" : state
          assert.isTrue(mayMoveIntent(from, judged.to), `${state} to ${judged.to}`)
          const live = attempts.filter((a) => a.state !== "expired")
          assert.strictEqual(live.length, judged.ends === undefined ? 0 : 1, `${verb.verb} of ${state}`)
        }
      }
    }
  })
})

describe("whose turn it is", () => {
  const turns = Effect.provide(InFlight.layer)

  it.effect("a person waits for the loop at the payment, and the next loop yields", () =>
    Effect.gen(function* () {
      const { loop, person } = yield* InFlight
      const said: Array<string> = []
      const say = (what: string) => Effect.sync(() => said.push(what))
      const looking = yield* Effect.forkChild(
        loop("a", say("looks").pipe(Effect.andThen(Effect.sleep(1_000)), Effect.andThen(say("looked")))),
      )
      yield* TestClock.adjust(1)
      const asking = yield* Effect.forkChild(person("a", 5_000, say("ends")))
      yield* TestClock.adjust(500)
      assert.isTrue(Option.isNone(yield* loop("a", say("never"))))
      assert.isTrue(Option.isSome(yield* loop("b", say("another"))))
      yield* TestClock.adjust(1_000)
      yield* Fiber.join(looking)
      assert.isTrue(Option.isSome(yield* Fiber.join(asking)))
      assert.deepStrictEqual(said, ["looks", "another", "looked", "ends"])
      assert.isTrue(Option.isSome(yield* loop("a", Effect.void)), "and loops go on")
    }).pipe(turns),
  )

  it.effect("a person is told where a loop does not let go", () =>
    Effect.gen(function* () {
      const { loop, person } = yield* InFlight
      yield* Effect.forkChild(loop("a", Effect.never))
      yield* TestClock.adjust(1)
      const asking = yield* Effect.forkChild(person("a", 5_000, Effect.void))
      yield* TestClock.adjust(6_000)
      assert.isTrue(Option.isNone(yield* Fiber.join(asking)))
    }).pipe(turns),
  )
})
