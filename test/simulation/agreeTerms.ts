import { Effect, Schedule } from "effect"
import { ConfigInForce, treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import { acceptTerms, approveTerms, settleTerms } from "../../src/http/termsApproval.ts"
import { termsHash } from "../../src/rules/policy/storedTerms.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { operatorNames, operatorSigns } from "../support/Operators.ts"

const termsHalt = Effect.map(
  Effect.flatMap(Controls, ({ halts }) => halts),
  (halts) => halts.find(({ reason }) => reason === "terms"),
)

/** Operators sign the terms of a file, as many as must. */
export const signTerms = Effect.fnUntraced(function* (file: string) {
  const now = (yield* ConfigInForce).now()
  for (const name of operatorNames) {
    const found = yield* approveTerms(now, { files: [file] })
    if ("problem" in found || found.missing === 0) return
    yield* approveTerms(now, { files: [file], signature: operatorSigns(name, found.text) })
  }
})

/** A person's word for the file's terms: at once, or where operators are named after an hour. */
export const acceptAlone = Effect.flatMap(ConfigInForce, ({ now }) =>
  acceptTerms({ hash: termsHash(treasuryTermsOf(now())), author: "zoe", reason: "meant so" }),
)

/** Ends the halt of a start with weaker terms as its page names it. Returns whether they are in force. */
export const agreeTerms = Effect.gen(function* () {
  if ((yield* termsHalt) === undefined) return true
  yield* signTerms((yield* ConfigInForce).now().treasury.files[0])
  yield* settleTerms()
  if ((yield* termsHalt) !== undefined) yield* acceptAlone
  return (yield* termsHalt) === undefined
})

/** The same once the halt is there, for half a minute: who waits for it looks again. */
export const agreeOnceHalted = Effect.gen(function* () {
  if ((yield* termsHalt) === undefined) return yield* Effect.fail("nothing halts")
  return yield* agreeTerms
}).pipe(Effect.retry({ schedule: Schedule.spaced("2 seconds"), times: 15 }))
