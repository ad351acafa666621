import { createPrivateKey, createPublicKey } from "node:crypto"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { sha3_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import type { PublicKey } from "../domain/Hex.ts"

/** File in the ledger's directory with the address of the network that runs there, for commands without --url. */
export const urlFile = "url"

const pkcs8Prefix = hexToBytes("302e020100300506032b657004220420")

/** The Ed25519 seed (32 bytes) of a party: play money, so a name and the scenario's seed are all that it takes. */
export const privateKeyOf = (seed: string, name: string): Uint8Array =>
  sha3_256(
    concatBytes(
      utf8ToBytes("cofferer sandbox key v1"),
      Uint8Array.of(0),
      utf8ToBytes(seed),
      Uint8Array.of(0),
      utf8ToBytes(name),
    ),
  )

/** The public key of a party, which is its id on the ledger. */
export const publicKeyOf = (seed: string, name: string): PublicKey => {
  const der = Buffer.from(concatBytes(pkcs8Prefix, privateKeyOf(seed, name)))
  const key = createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" }))
  return bytesToHex(key.export({ format: "der", type: "spki" }).subarray(-32)) as PublicKey
}

/** Writes `<dir>/keys/<name>` (64 hex, mode 0600) for each party and returns the folder (mode 0700). */
export const writeKeys = (dir: string, seed: string, names: ReadonlyArray<string>): string => {
  const folder = join(dir, "keys")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  for (const name of names) {
    const file = join(folder, name)
    const hex = bytesToHex(privateKeyOf(seed, name))
    if (readIfThere(file) !== hex) writeFileSync(file, hex, { mode: 0o600 })
    chmodSync(file, 0o600)
  }
  return folder
}

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}
