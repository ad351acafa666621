import { Flag } from "effect/cli"
import { SignatureText } from "../status/approvals.ts"

export const keyFlag = Flag.String("key").pipe(
  Flag.withDescription("File of an operator's key: signs with it here; it goes nowhere else"),
  Flag.optional,
)
export const signatureFlag = Flag.String("signature").pipe(
  Flag.withSchema(SignatureText),
  Flag.withDescription("A signature that was made elsewhere, with approve sign"),
  Flag.optional,
)
