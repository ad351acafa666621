import {
  createHash,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto"
import { closeSync, constants, fstatSync, fsyncSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import * as ed from "@noble/ed25519"
import { sha512 } from "@noble/hashes/sha2.js"
import { Effect } from "effect"
import { readableByOthers } from "../config/ownFiles.ts"
import { type ConfigError, configProblem } from "../config/yaml/ConfigError.ts"
import { shellWord } from "../domain/text.ts"

ed.hashes.sha512 = sha512

/**
 * Signs by node:crypto, and returns the signature only if @noble/ed25519 verifies it by the rules of RFC 8032 under the
 * public key: a wrong signature may reveal the key. Undefined if the two disagree. The private key stays in
 * node:crypto.
 */
export const signTwice = (
  { key, publicKey }: { readonly key: KeyObject; readonly publicKey: string },
  message: Uint8Array,
): Buffer | undefined => {
  const signature = sign(null, message, key)
  return isVerified(signature, message, publicKey) ? signature : undefined
}

const isVerified = (signature: Buffer, message: Uint8Array, publicKey: string): boolean => {
  const bytes = (data: Uint8Array): Uint8Array => Uint8Array.from(data)
  try {
    return ed.verify(bytes(signature), bytes(message), bytes(Buffer.from(publicKey, "hex")), { zip215: false })
  } catch {
    return false
  }
}

/** A private key in the hands of the signer. Nothing prints it: KeyObject shows neither in logs nor in JSON. */
export interface SigningKey {
  readonly publicKey: string
  readonly key: KeyObject
}

const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")
/** 64 hex characters and a line end. */
const fileBytesMax = 66

/**
 * Opens a key file: 32 raw bytes or 64 hex characters. It must belong to us without any right for group or others, or
 * to root with at most a right to read for the group (as Kubernetes mounts secrets). The buffer is zeroed.
 */
export const openKeyFile = (file: string, expected: string): Effect.Effect<SigningKey, ConfigError> =>
  Effect.flatMap(readKeyFile(file), (key) => {
    if (key.publicKey === expected) return Effect.succeed(key)
    const remedy = `expected ${expected}: name the file of that key, or correct publicKey`
    return Effect.fail(configProblem(file, `holds the key of ${key.publicKey}`, remedy))
  })

/** The same for any key. */
export const readKeyFile = (file: string): Effect.Effect<SigningKey, ConfigError> =>
  Effect.suspend(() => {
    let bytes: Buffer | undefined
    try {
      bytes = readChecked(file)
      const key = keyOf(bytes)
      if (key === undefined) {
        return Effect.fail(configProblem(file, "not a key file", "it holds 32 raw bytes or 64 hex characters"))
      }
      if (!isSound(key)) {
        const remedy = "this Node signs wrongly: use another build of it, or another machine if it persists"
        return Effect.fail(configProblem(file, "two implementations disagree about its public key", remedy))
      }
      return Effect.succeed(key)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (error instanceof NoFile) return Effect.fail(configProblem(file, "is not a file", "name a key file"))
      if (error instanceof Loose)
        return Effect.fail(configProblem(file, error.message, `run: chmod 600 ${shellWord(file)}`))
      const message = code === "ENOENT" ? "no such key file" : `the key file cannot be read (${code})`
      return Effect.fail(configProblem(file, message, "put the key there, readable by this process alone"))
    } finally {
      bytes?.fill(0)
    }
  })

class Loose extends Error {}
class NoFile extends Error {}

const readChecked = (file: string): Buffer => {
  // O_NONBLOCK: a pipe without a writer would block.
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new NoFile()
    // A treasury file that was named by mistake has no key to protect.
    if (stat.size > fileBytesMax) return Buffer.alloc(0)
    const why = readableByOthers(stat, "key file")
    if (why !== undefined) throw new Loose(why)
    const bytes = Buffer.alloc(fileBytesMax + 1)
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}

/** The key in the bytes; undefined if there is none. Decoded in place: no string holds a secret. */
export const keyOf = (bytes: Buffer): SigningKey | undefined => {
  const seed = bytes.length === 32 ? ownCopy(bytes) : seedOfHex(bytes)
  if (seed === undefined) return undefined
  const der = ownCopy(pkcs8Prefix, seed)
  try {
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
    const spki = createPublicKey(key).export({ format: "der", type: "spki" })
    return { publicKey: spki.subarray(-32).toString("hex"), key }
  } finally {
    seed.fill(0)
    der.fill(0)
  }
}

/** Copies to separate memory: Buffer.from and Buffer.concat use a pool that all code of the process shares. */
const ownCopy = (...parts: ReadonlyArray<Buffer>): Buffer => {
  const whole = Buffer.alloc(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) at += part.copy(whole, at)
  return whole
}

/** A private key that no file holds yet. */
export interface NewKey {
  readonly publicKey: string
  /** Writes it to a file that must not exist, for its owner alone, and clears it. Call it once. */
  readonly writeTo: (file: string) => Effect.Effect<void, ConfigError>
}

export const makeKey = (): NewKey => {
  const seed = randomBytes(32)
  const { publicKey } = keyOf(seed)!
  return {
    publicKey,
    writeTo: (file) =>
      Effect.try({
        try: () => {
          mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
          const fd = openSync(file, "wx", 0o600)
          const hex = hexLineOf(seed)
          try {
            writeSync(fd, hex)
            fsyncSync(fd)
          } catch (error) {
            // It holds no whole key, and would refuse the next try.
            rmSync(file, { force: true })
            throw error
          } finally {
            closeSync(fd)
            seed.fill(0)
            hex.fill(0)
          }
        },
        catch: (error) => {
          const { code } = error as NodeJS.ErrnoException
          return code === "EEXIST"
            ? configProblem(file, "the file exists, and no key is overwritten", "name another file")
            : configProblem(file, `the key cannot be written (${code})`, "name a file in a directory of this user")
        },
      }),
  }
}

/** 64 hex digits and a line end. The caller clears it. */
const hexLineOf = (seed: Buffer): Buffer => {
  const line = Buffer.alloc(2 * seed.length + 1, "\n")
  for (const [i, byte] of seed.entries()) {
    line[2 * i] = digits[byte >> 4]!
    line[2 * i + 1] = digits[byte & 15]!
  }
  return line
}

const digits = Buffer.from("0123456789abcdef")

const seedOfHex = (bytes: Buffer): Buffer | undefined => {
  let end = bytes.length
  while (end > 64 && (bytes[end - 1] === 10 || bytes[end - 1] === 13)) end--
  if (end !== 64) return undefined
  const seed = Buffer.alloc(32)
  for (let i = 0; i < 64; i++) {
    const c = bytes[i]!
    const digit = c >= 48 && c <= 57 ? c - 48 : (c | 32) >= 97 && (c | 32) <= 102 ? (c | 32) - 87 : -1
    if (digit < 0) {
      seed.fill(0)
      return undefined
    }
    seed[i >> 1] = (seed[i >> 1]! << 4) | digit
  }
  return seed
}

const nonceText = Buffer.from("cofferer nonce key v1")
const tagText = Buffer.from("cofferer tag key v1")

/** Hashes of verified signatures of these texts. A start asks four times for two, and each check takes milliseconds. */
const verified = new Set<string>()

/** The signature of one of the texts above, as `signTwice` gives it. */
const fixedSignature = ({ key, publicKey }: SigningKey, text: Buffer): Buffer | undefined => {
  const signature = sign(null, text, key)
  const known = createHash("sha256").update(`${publicKey} ${text} `).update(signature).digest("base64")
  if (!verified.has(known) && !isVerified(signature, text, publicKey)) return undefined
  verified.add(known)
  return signature
}

/** True if a second implementation verifies, with the derived public key, a signature of the private one. */
export const isSound = (key: SigningKey): boolean => fixedSignature(key, nonceText) !== undefined

/**
 * The secret that nonces are derived from: SHA3-256 over the key's signature of a fixed text. Equal in every process
 * and after every restore, so that one intent's attempt has one nonce wherever it is signed. Throws where two
 * implementations disagree about that signature.
 */
export const nonceKeyOf = (key: SigningKey): KeyObject => derived(key, nonceText)

/** The secret that tags of payments are derived from, as nonces are, with a text of its own. */
export const tagKeyOf = (key: SigningKey): KeyObject => derived(key, tagText)

const derived = (key: SigningKey, text: Buffer): KeyObject => {
  const signature = fixedSignature(key, text)
  if (signature === undefined) throw new Error(`two implementations disagree about the key ${key.publicKey}`)
  return createSecretKey(createHash("sha3-256").update(signature).digest())
}

/** The signature (hex) of an operator's key file over the UTF-8 bytes of a text. */
export const signApproval = Effect.fnUntraced(function* (file: string, text: string) {
  const { key } = yield* readKeyFile(file)
  return sign(null, Buffer.from(text), key).toString("hex")
})
