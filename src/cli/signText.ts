import { sign } from "node:crypto"
import { Effect } from "effect"
import { Flag } from "effect/cli"
import { readKeyFile } from "../signer/KeyFile.ts"
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

/** The operator's signature over the text, in hex. */
export const signText = Effect.fnUntraced(function* (file: string, text: string) {
  const { key } = yield* readKeyFile(file)
  return sign(null, Buffer.from(text), key).toString("hex")
})
