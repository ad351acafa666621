import { sign as signByNode, verify as verifyByNode } from "node:crypto"
import * as noble from "@noble/ed25519"
import { keyOf, signTwice } from "../../../src/signer/KeyFile.ts"
import { signingDigest } from "../../../src/tx/Transaction.ts"
import { type Benchmark, besidePeers, type Variant } from "../Benchmark.ts"
import { wallet } from "../peers.ts"

const chainId = "bench-1"
const seed = Buffer.alloc(32, 7)
const messageOf = (n: number): Uint8Array => Buffer.alloc(217, n)

const each =
  (use: (message: Uint8Array) => unknown): Variant["work"] =>
  async (from, count) => {
    for (let n = from; n < from + count; n++) await use(messageOf(n))
  }

/** A payment's signature as the signer makes it, beside others that sign and verify with one implementation. */
export const sign: Benchmark = {
  name: "sign",
  about: "signatures of a payment's bytes: hashed, signed, and verified before they are used",
  limits:
    "Nine tenths are the verification by @noble/ed25519, a second implementation in JavaScript: a wrong signature must " +
    "not leave the process. node:crypto alone signs and verifies with one implementation.",
  run: async () => {
    const own = keyOf(Buffer.from(seed))!
    const key = await wallet.key(seed)
    const publicKey = noble.getPublicKey(seed)
    const digestOf = (message: Uint8Array) => signingDigest(message, chainId)
    const alone = [
      { name: "sign alone", batch: 64, work: each((message) => signByNode(null, digestOf(message), own.key)) },
      { name: "@vegaprotocol/crypto", batch: 16, work: each((message) => key.sign(message, chainId)) },
    ] as const
    const verified = [
      { name: "sign and verify", batch: 16, work: each((message) => signTwice(own, digestOf(message))) },
      {
        name: "@vegaprotocol/crypto",
        batch: 16,
        work: each(async (message) => key.verify(await key.sign(message, chainId), message, chainId)),
      },
      {
        name: "@noble/ed25519",
        batch: 16,
        work: each((message) => noble.verify(noble.sign(digestOf(message), seed), digestOf(message), publicKey)),
      },
      {
        name: "node:crypto",
        batch: 64,
        work: each((message) => {
          const digest = digestOf(message)
          return verifyByNode(null, digest, own.key, signByNode(null, digest, own.key))
        }),
      },
    ] as const
    const per = { unit: "per second" }
    return [...(await besidePeers(alone, { ...per, prefix: "sign alone" })), ...(await besidePeers(verified, per))]
  },
}
