import type { Refusal } from "../rules/Policy.ts"
import { SignerError } from "./SignerError.ts"

/** What the journal says of a refusal. */
export const refuse = (refusal: Refusal, detail: string) =>
  new SignerError({ operation: "sign", reason: { _tag: "Refused", refusal, detail } })
