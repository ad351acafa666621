import { assert, describe, it } from "@effect/vitest"
import { attemptsMax, deadlineHeight } from "../../src/domain/Attempt.ts"
import { rebroadcastBlocks } from "../../src/payments/planSend.ts"
import type { IntentFacts } from "../../src/submitter/endIntent.ts"
import { type Explored, explore } from "./explore.ts"
import { productRules, type Rules } from "./model.ts"

const { judgeAbsence } = productRules

const asDead = (facts: IntentFacts): IntentFacts => ({
  ...facts,
  intent: { ...facts.intent, state: "reserved" },
  attempts: facts.attempts.map((attempt) => ({ ...attempt, state: "expired" })),
})

/** Mistakes that would cost money, each in the place of one of the product's decisions. */
const mistakes: ReadonlyArray<readonly [string, Partial<Rules>, RegExp]> = [
  ["a refusal is taken for death", { refusalIsDeath: true }, /called dead and executed/],
  ["a send that a crash cut off is forgotten", { forgetsCutSends: true }, /called dead and executed/],
  [
    "absence counts before the window is over",
    {
      judgeAbsence: (attempt, tip, listing, earlier) => {
        const first = earlier[0]
        if (listing.holds || !listing.complete || listing.height === undefined) return "nothing"
        if (first === undefined) return "note"
        return listing.height < first + rebroadcastBlocks(attempt.windowBlocks) || tip === 0n ? "nothing" : "proven"
      },
    },
    /called dead and executed/,
  ],
  [
    "a listing of a gateway that lags behind is believed",
    {
      judgeAbsence: (attempt, tip, listing, earlier) => {
        const height = listing.height === undefined ? undefined : deadlineHeight(attempt) + 1n + (tip - 1_000n)
        const later = earlier.length === 0 || height === undefined ? height : height + 20n
        return judgeAbsence(
          attempt,
          tip,
          { ...listing, height: later },
          earlier.map(() => 0n),
        )
      },
    },
    /called dead and executed/,
  ],
  [
    "a torn listing is believed",
    {
      judgeAbsence: (attempt, tip, listing, earlier) =>
        judgeAbsence(attempt, tip, { ...listing, complete: true, holds: listing.complete && listing.holds }, earlier),
    },
    /called dead and executed/,
  ],
  [
    "bytes are dead by a head that the clock does not bear out",
    { sureHeight: (attempt, reached) => productRules.sureHeight(attempt, { ...reached, blockMillis: 1 }) },
    /called dead and executed/,
  ],
  ["the margin before the window's end is ignored", { maySend: () => true }, /inside the margin/],
  [
    "a person is believed before the window is over",
    {
      judgeVerb: (verb, facts) =>
        productRules.judgeVerb(verb, { ...facts, height: facts.height + 100n, blockMillis: 1 }),
    },
    /called dead and executed/,
  ],
  [
    "a person may give up what may still execute",
    { judgeVerb: (verb, facts) => productRules.judgeVerb(verb, verb.verb === "abandon" ? asDead(facts) : facts) },
    /called abandoned and it was paid/,
  ],
  ["a payment that waits for a person begins anew", { afterExpiry: () => "reserved" }, /from manual to reserved/],
]

const trace = ({ violation }: Explored): string => `${violation?.what}:\n  ${violation?.trace.join("\n  ")}`

describe("every order of events in a small world", () => {
  it("pays at most once, kills nothing alive, and can always end", () => {
    const found = explore(productRules)
    assert.isUndefined(found.violation, trace(found))
    assert.strictEqual(found.stuck, 0, "worlds from which the intent can never be settled")
    assert.isAbove(found.settled, 0)
    assert.strictEqual(found.attemptsMost, attemptsMax)
    console.info(
      `model: ${found.worlds} worlds, ${found.steps} steps, ${found.settled} settled, ${found.stuck} stuck;`,
      `window 5, ${found.attemptsMost} attempts, 2 replicas, time without bound`,
    )
  })

  it.each(mistakes)("finds it when %s, with the shortest way there", (_, mistake, what) => {
    const found = explore({ ...productRules, ...mistake })
    assert.isDefined(found.violation)
    assert.match(found.violation?.what ?? "", what)
    assert.isAbove(found.violation?.trace.length ?? 0, 1)
    console.info(trace(found))
  })
})
