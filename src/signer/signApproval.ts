import { sign } from "node:crypto"
import { Effect } from "effect"
import { readKeyFile } from "./KeyFile.ts"

/** The signature (hex) of an operator's key file over the UTF-8 bytes of a text. */
export const signApproval = Effect.fnUntraced(function* (file: string, text: string) {
  const { key } = yield* readKeyFile(file)
  return sign(null, Buffer.from(text), key).toString("hex")
})
