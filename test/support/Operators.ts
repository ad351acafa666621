import { createHash, sign } from "node:crypto"
import { keyOf, type SigningKey } from "../../src/signer/KeyFile.ts"

/** Keys of operators, made from their names. */
export const operatorKey = (name: string): SigningKey => {
  const key = keyOf(createHash("sha256").update(`operator ${name}`).digest())
  if (key === undefined) throw new Error(name)
  return key
}

export const operatorNames = ["ana", "ben", "chloe"] as const

/** What the operator's signature over the text is, in hex. */
export const operatorSigns = (name: string, text: string): string =>
  sign(null, Buffer.from(text), operatorKey(name).key).toString("hex")

/** The same as a line of a file that is text. */
export const deskText = (need = 2, within = "4h"): string => {
  const people = operatorNames.map((name) => `${name}: "${operatorKey(name).publicKey}"`)
  return `approvals: { desk: { need: ${need}, within: ${within}, of: { ${people.join(", ")} } } }`
}

/** Keys of a treasury file with the group `desk`: so many of ana, ben and chloe. */
export const deskFields = (need = 2, within = "4h") => ({
  approvals: {
    desk: { need, within, of: Object.fromEntries(operatorNames.map((name) => [name, operatorKey(name).publicKey])) },
  },
})
