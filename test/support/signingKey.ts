import { createPrivateKey, type KeyObject } from "node:crypto"

/** An Ed25519 key of its 32 bytes, in the frame that node:crypto wants. */
export const signingKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  })
