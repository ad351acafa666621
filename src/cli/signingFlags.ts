import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { SignatureText } from "../status/approvals.ts"
import { failWith } from "./CliFailure.ts"

export const keyFlag = Flag.String("key").pipe(
  Flag.withDescription("File of an operator's key: signs with it here; it goes nowhere else"),
  Flag.optional,
)
export const signatureFlag = Flag.String("signature").pipe(
  Flag.withSchema(SignatureText),
  Flag.withDescription("A signature that was made elsewhere, with approve sign"),
  Flag.optional,
)
export const printFlag = Flag.Boolean("print").pipe(
  Flag.withDescription("Show what would be signed, and sign nothing"),
  Flag.withDefault(false),
)

/** Nobody signs by leaving a flag out. */
export const oneOf = (said: {
  readonly key: Option.Option<string>
  readonly signature: Option.Option<string>
  readonly print: boolean
}) => {
  const ways = [said.print, Option.isSome(said.key), Option.isSome(said.signature)].filter(Boolean).length
  return ways === 1 ? Effect.void : failWith("usage", "say one of --key FILE, --signature HEX and --print")
}
