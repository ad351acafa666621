import { Effect, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import type { VerbRefused } from "../submitter/endIntent.ts"
import { trustHead } from "../submitter/trustHead.ts"
import { trustWork } from "../submitter/trustWork.ts"
import { agreeing, needAgreement } from "./agreeing.ts"
import { SignatureText } from "./approvals.ts"
import { Words } from "./people.ts"
import { problem } from "./stories.ts"

export const HeightText = Schema.String.check(
  Schema.isPattern(/^[0-9]{1,18}$/, { expected: "the height of a block, in digits" }),
)

export const TrustHeadBody = Schema.Struct({
  height: HeightText,
  reason: Words,
  author: Words,
  signature: Schema.optional(SignatureText),
})

export const TrustWorkBody = Schema.Struct({
  reason: Words,
  author: Words,
  signature: Schema.optional(SignatureText),
})

/** Terms of work that are not believed yet, which operators looked up. The answer is plain JSON. */
export const askTrustWork = Effect.fn("Control.trustWork")(function* (
  treasury: Treasury,
  { signature, reason, author }: typeof TrustWorkBody.Type,
) {
  const trusted = trustWork({ treasury: treasury.name, reason, author }, (words) =>
    needAgreement(treasury, { kind: "trust", words, reason }),
  )
  return yield* agreeing(treasury, signature, trusted).pipe(Effect.catchTag("VerbRefused", asProblem))
})

const asProblem = ({ message, remedy }: VerbRefused) => Effect.succeed(problem(message, 409, remedy))

/** A doubted newest block, which operators found elsewhere as well. The answer is plain JSON. */
export const askTrustHead = Effect.fn("Control.trustHead")(function* (
  treasury: Treasury,
  { signature, height, reason, author }: typeof TrustHeadBody.Type,
) {
  const { chainId, head } = treasury.network
  const asked = { treasury: treasury.name, chainId, height: BigInt(height), bounds: head, reason, author }
  const trusted = trustHead(asked, (words) => needAgreement(treasury, { kind: "trust", words, reason }))
  return yield* agreeing(treasury, signature, trusted).pipe(Effect.catchTag("VerbRefused", asProblem))
})
