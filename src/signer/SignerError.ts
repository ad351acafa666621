import { Schema } from "effect"
import { type Refusal, refusals } from "../rules/policy/Policy.ts"

/** The policy, or the state of the treasury, forbids the signature. Nothing was signed. */
export const Refused = Schema.TaggedStruct("Refused", {
  refusal: Schema.Literals(refusals),
  detail: Schema.String,
})

/** The signer has no key for the party: watch-only, or the treasury does not run live. */
const KeyMissing = Schema.TaggedStruct("KeyMissing", { party: Schema.String })

/** The signer's store failed. Something may have been recorded, and must be read again; nothing was returned. */
const MemoryFailed = Schema.TaggedStruct("MemoryFailed", {
  detail: Schema.String,
  cause: Schema.Defect(),
})

/** No signature came out of the signer. */
export class SignerError extends Schema.TaggedError<SignerError>()("SignerError", {
  operation: Schema.String,
  reason: Schema.Union([Refused, KeyMissing, MemoryFailed]),
}) {
  override get message() {
    const { reason } = this
    if (reason._tag === "Refused") return `refused (${reason.refusal}): ${reason.detail}`
    return reason._tag === "KeyMissing" ? `no key for ${reason.party}` : reason.detail
  }
}

/** A refusal. Its detail is journalled. */
export const refuse = (refusal: Refusal, detail: string) =>
  new SignerError({ operation: "sign", reason: { _tag: "Refused", refusal, detail } })
