import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { doubted, headBounds } from "../../src/rules/headBelief.ts"
import { ChainRules } from "../../src/store/ChainRules.ts"
import { TrustedHead } from "../../src/store/TrustedHead.ts"
import { ask, controlled } from "../support/Control.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"

const chainId = "sandbox-1"
const why = { reason: "looked at it", author: "zoe" }
const pow = { hashFunction: "sha3_24_rounds", difficulty: 3, pastBlocks: 90, txPerBlock: 2, increasing: false }

/** Heads with these terms, at blocks from one to another, of which one begins each second. */
const told = (work: typeof pow, from: bigint, to: bigint) =>
  Effect.gen(function* () {
    const rules = yield* ChainRules
    for (let height = from; height <= to; height++) {
      yield* rules.see({ chainId, height, pow: work })
      yield* TestClock.adjust("1 second")
    }
  })

const trusted = { height: 7n, at: 0, epoch: 0, isFirst: false }
const wild = 9_000_000_000_000n
const heads = Effect.flatMap(TrustedHead, ({ of }) => of(chainId))
/** The gateway tells a block that cannot be the newest. */
const tellsWild = (height: bigint) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const stray = { height, rows: undefined, now, bounds: headBounds, trustable: height }
    yield* (yield* TrustedHead).keep(chainId, doubted(yield* heads, stray))
  })

describe("what two operators agreed to once", () => {
  it.effect("trusts no work that the network votes for again later", () =>
    controlled(
      (options) =>
        Effect.gen(function* () {
          const rules = yield* ChainRules
          const post = (more: object = {}) => ask(options, "/api/v1/trust/work", { ...why, ...more })
          const agreed = Effect.gen(function* () {
            const { text } = (yield* post()).json as { readonly text: string }
            const signatures = ["ana", "ben"].map((name) => operatorSigns(name, text))
            for (const signature of signatures) yield* post({ signature })
            return signatures
          })
          yield* told(pow, 7n, 7n)
          const first = yield* agreed
          assert.isUndefined(yield* rules.doubt(7n))
          yield* told({ ...pow, pastBlocks: 60 }, 500n, 520n)
          yield* told(pow, 620n, 624n)
          assert.strictEqual((yield* post()).status, 202, "the first terms were seen at another block")
          const back = yield* agreed
          assert.isUndefined(yield* rules.doubt(624n))
          yield* told({ ...pow, pastBlocks: 60 }, 720n, 740n)
          yield* told(pow, 840n, 844n)
          assert.strictEqual((yield* post()).status, 202, "the work changed at another block")
          for (const signature of [...first, ...back]) assert.strictEqual((yield* post({ signature })).status, 403)
          assert.strictEqual((yield* rules.doubt(844n))?.kind, "changed")
        }),
      { more: deskFields() },
    ),
  )

  it.effect("trusts no newest block that is doubted again between two signatures", () =>
    controlled(
      (options) =>
        Effect.gen(function* () {
          const post = (more: object = {}) =>
            Effect.andThen(
              TestClock.adjust("3 seconds"),
              ask(options, "/api/v1/trust/head", { ...why, height: String(wild), ...more }),
            )
          const { keep } = yield* TrustedHead
          yield* keep(chainId, { trusted, doubt: undefined })
          yield* tellsWild(wild)
          const { text } = (yield* post()).json as { readonly text: string }
          const [ana, ben] = ["ana", "ben"].map((name) => operatorSigns(name, text))
          yield* tellsWild(wild + 3n)
          assert.strictEqual((yield* post({ signature: ana })).status, 202)
          yield* tellsWild(wild + 6n)
          assert.strictEqual((yield* post({ signature: ben })).status, 200)
          assert.strictEqual((yield* heads).trusted?.height, wild + 6n)
          // It was wrong after all, and later the gateway tells the same again.
          yield* keep(chainId, { trusted, doubt: undefined })
          yield* tellsWild(wild)
          assert.strictEqual((yield* post()).status, 202)
          for (const signature of [ana, ben]) assert.strictEqual((yield* post({ signature })).status, 403)
          assert.strictEqual((yield* heads).trusted?.height, 7n)
        }),
      { more: deskFields() },
    ),
  )
})
