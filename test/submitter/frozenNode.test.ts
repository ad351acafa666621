import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { TrustedHead } from "../../src/store/TrustedHead.ts"
import { endIntent } from "../../src/submitter/endIntent.ts"
import { watchHead } from "../../src/submitter/watchHead.ts"
import { type FlowSetup, lives, round } from "../support/Flow.ts"
import { type Manner, startFront } from "../support/Fronts.ts"
import { behind, pow } from "../support/LoneLiar.ts"
import { chainId } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

/** One address behind which one of three nodes tells block 20 for ever. It keeps what is sent to itself. */
const balanced = () => {
  const state = { isFrozen: true, kept: 0 }
  let asked = 0
  let frozen: string | undefined
  const manner: Manner = async (request, ask) => {
    if (request.method === "POST") {
      state.kept++
      return { status: 503, headers: {}, text: "" }
    }
    const answer = await ask()
    if (request.url.pathname !== "/blockchain/height" || answer.status !== 200) return answer
    const height = Number(JSON.parse(answer.text).height)
    if (height === 20) frozen = answer.text
    const isStale = state.isFrozen && frozen !== undefined && height > 20 && ++asked % 3 === 0
    return isStale ? { ...answer, text: frozen ?? "" } : answer
  }
  const setup: FlowSetup = {
    scenario: { pow: { difficulty: 3, pastBlocks: 40, txPerBlock: 2, increaseDifficulty: true } },
    front: (url) =>
      Effect.map(startFront("balanced", url), (front) => {
        front.manner = manner
        return front.server.url
      }),
  }
  return { state, setup }
}

/** Loops that have no part in it once the payment is out. */
const idle = new Set(["compare", "decide"])

const first = Effect.gen(function* () {
  const outbox = yield* Outbox
  const intent = (yield* outbox.recent(10)).at(-1)
  const [attempt] = yield* outbox.attempts(intent?.id ?? "")
  return { id: intent?.id ?? "", state: attempt?.state }
})

const tickets = Effect.gen(function* () {
  const due = (yield* (yield* AlertQueue).due(100)).filter(({ kind }) => kind === "head")
  return [...new Set(due.map(({ severity, subject, detail }) => `${severity} ${subject}: ${detail}`))]
})

describe("one address behind which one of three nodes stands still", () => {
  const { state, setup } = balanced()
  const rounds = (count: number, ...[options, sandbox]: Parameters<typeof round>) =>
    Effect.forEach(
      Array.from({ length: count }),
      () => Effect.andThen(Effect.ignore(round(options, sandbox, state.kept === 0 ? new Set() : idle)), watchHead()),
      { discard: true },
    )

  it.effect("is reported once, and another address proves a payment never executed", () =>
    lives(
      [
        (...[options, sandbox]) =>
          Effect.gen(function* () {
            yield* waitUntil("a payment to be kept back", () => state.kept > 0, rounds(1, options, sandbox))
            yield* rounds(310, options, sandbox)
            const { trusted, stood } = yield* (yield* TrustedHead).of(chainId)
            assert.isAbove(Number(trusted?.height), 300)
            assert.strictEqual(stood?.height, 20n)
            assert.deepStrictEqual(yield* tickets, [])
          }),
        (...[options, sandbox]) =>
          Effect.gen(function* () {
            yield* rounds(70, options, sandbox)
            const [ticket, ...others] = yield* tickets
            assert.match(
              ticket ?? "",
              /^ticket newest block flaps: no payment .* above 20: .* block 20 again and again/,
            )
            assert.deepStrictEqual(others, [])
            const { id } = yield* first
            const asked = { intentId: id, verb: { verb: "never_executed" }, author: "ana", reason: "looked" } as const
            const refused = yield* Effect.flip(endIntent(asked, () => Effect.void))
            assert.containSubset(refused, { _tag: "VerbRefused" })
            assert.match(String("remedy" in refused && refused.remedy), /one of its nodes stands still/)
          }),
        (...[options, sandbox]) =>
          Effect.gen(function* () {
            state.isFrozen = false
            yield* rounds(60, options, sandbox)
            assert.strictEqual((yield* first).state, "expired")
            assert.lengthOf(yield* tickets, 1)
          }),
      ],
      setup,
    ),
  )
})

/** The same of two nodes, where the newest block is asked for so seldom that every other answer is the frozen one. */
describe("one slow address behind which one of two nodes stands still", () => {
  for (const every of [20, 35]) {
    it.effect(`is reported to people when its block is read every ${every} seconds`, () => {
      const state = { isStale: false, kept: 0 }
      let frozen: string | undefined
      const manner: Manner = async (request, ask) => {
        if (request.method === "POST") {
          state.kept++
          return { status: 503, headers: {}, text: "" }
        }
        const answer = await ask()
        if (request.url.pathname !== "/blockchain/height" || answer.status !== 200) return answer
        if (Number(JSON.parse(answer.text).height) === 20) frozen = answer.text
        return state.isStale && frozen !== undefined ? { ...answer, text: frozen } : answer
      }
      return behind({ scenario: pow(40) }, (liar, _, options, sandbox) =>
        Effect.gen(function* () {
          liar.manner = manner
          for (let i = 0; i < 30; i++) yield* Effect.ignore(round(options, sandbox))
          assert.isAbove(state.kept, 0)
          for (let second = 0; second < 900; second += every) {
            state.isStale = !state.isStale
            yield* TestClock.adjust(`${every - 1} seconds`)
            yield* Effect.repeat(sandbox.stepBlock, { times: every - 2 })
            yield* Effect.andThen(Effect.ignore(round(options, sandbox, idle)), watchHead())
          }
          assert.isBelow(Number((yield* (yield* TrustedHead).of(chainId)).stood?.height), 60)
          assert.lengthOf(yield* tickets, 1)
          assert.match((yield* tickets)[0] ?? "", /block 20 again and again/)
          const asked = { verb: { verb: "never_executed" }, author: "ana", reason: "looked" } as const
          const refused = yield* Effect.flip(endIntent({ intentId: (yield* first).id, ...asked }, () => Effect.void))
          assert.match(String("remedy" in refused && refused.remedy), /one of its nodes stands still/)
        }),
      )
    })
  }
})
