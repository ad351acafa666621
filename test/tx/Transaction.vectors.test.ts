import { createPrivateKey, sign } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { getPublicKeyAsync, signAsync } from "@noble/ed25519"
import { Result } from "effect"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { InputData } from "../../src/domain/Command.ts"
import { decodeInputData, encodeInputData } from "../../src/tx/InputData.ts"
import { isSolved } from "../../src/tx/ProofOfWork.ts"
import {
  decodeTransaction,
  reencodeTransaction,
  signingDigest,
  transactionBytes,
  transferId,
  txHash,
  txVersions,
  verifySignature,
} from "../../src/tx/Transaction.ts"
import { fromHex, toHex, type Vectors, vectors } from "./Vectors.ts"

const { computed, signMessages, signTreeTx } = vectors

/** Ed25519 by node:crypto from the 32-byte seed, in the PKCS #8 form of RFC 8410. */
const signNode = (seed: Uint8Array, digest: Uint8Array): string => {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed])
  return sign(null, digest, createPrivateKey({ key: der, format: "der", type: "pkcs8" })).toString("hex")
}

const to = "30ebce58d94ad37c4ff6a9014c955c20e12468da956163228cc7ec9b98d3a371"
const asset = "fc7fd956078fb1fc9db5c19b88f0874c4299b2a7639ad05a47a28c0aef291b55"
const transfer = { _tag: "Transfer", fromAccountType: 4, to, toAccountType: 4, asset } as const

/** The commands behind the computed cases, written out by hand. */
const inputs: Record<keyof Vectors["computed"]["cases"], InputData> = {
  transfer_oneoff: {
    nonce: 18446744073709551557n,
    blockHeight: 1789n,
    command: {
      ...transfer,
      amount: baseUnits(1_000_000n),
      reference: "payout-42",
      kind: { _tag: "OneOff", deliverOn: 0n },
    },
  },
  transfer_oneoff_deliver: {
    nonce: 7n,
    blockHeight: 1789n,
    command: {
      ...transfer,
      amount: baseUnits(1_000_000n),
      reference: "",
      kind: { _tag: "OneOff", deliverOn: 1_700_000_000_000_000_000n },
    },
  },
  transfer_recurring: {
    nonce: 8n,
    blockHeight: 1789n,
    command: {
      ...transfer,
      amount: baseUnits(5n),
      reference: "r",
      kind: { _tag: "Recurring", startEpoch: 10n, endEpoch: 12n, factor: "1" },
    },
  },
  cancel_transfer: {
    nonce: 9n,
    blockHeight: 1789n,
    command: { _tag: "CancelTransfer", transferId: "0f".repeat(32) },
  },
  withdraw: {
    nonce: 10n,
    blockHeight: 1789n,
    command: {
      _tag: "Withdraw",
      amount: baseUnits(250n),
      asset,
      receiverAddress: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    },
  },
}

const seed = fromHex(signMessages.find((m) => m.pub === computed.pubKey)!.seedHex)
const cases = Object.entries(inputs).map(([name, input]) => {
  const vector = Object.entries(computed.cases).find(([key]) => key === name)![1]
  return { name, input, vector }
})

describe("vectors of transactions", () => {
  it("has a hand-written command for every computed case", () => {
    assert.deepStrictEqual(Object.keys(inputs), Object.keys(computed.cases))
  })

  it.each(cases)("encodes the input data of $name byte for byte", ({ input, vector }) => {
    const bytes = encodeInputData(input)
    assert.strictEqual(toHex(bytes), vector.inputDataHex)
    assert.strictEqual(Buffer.from(bytes).toString("base64"), vector.inputDataB64)
    assert.deepStrictEqual(decodeInputData(bytes), Result.succeed(input))
  })

  it.each(cases)("signs $name with node:crypto and with noble to the same bytes", async ({ vector }) => {
    const digest = signingDigest(fromHex(vector.inputDataHex), computed.chainId)
    assert.strictEqual(toHex(digest), vector.digest)
    assert.strictEqual(signNode(seed, digest), vector.sig)
    assert.strictEqual(toHex(await signAsync(digest, seed)), vector.sig)
    assert.isTrue(verifySignature(computed.pubKey, digest, vector.sig))
  })

  it.each(cases)("serialises, hashes and names $name as the network does", ({ vector }) => {
    const bytes = transactionBytes({
      inputData: fromHex(vector.inputDataHex),
      signature: vector.sig,
      pubKey: computed.pubKey,
      version: txVersions.TX_VERSION_V3,
      pow: { tid: computed.tid, nonce: BigInt(computed.powNonce) },
    })
    assert.strictEqual(toHex(bytes), vector.txHex)
    assert.strictEqual(txHash(bytes), vector.txHash.toLowerCase())
    assert.strictEqual(transferId(vector.sig), vector.id)
    assert.strictEqual(toHex(reencodeTransaction(decodeTransaction(bytes)!)), vector.txHex)
  })

  it("uses a proof of work that is solved at difficulty 16", () => {
    assert.isTrue(isSolved(computed, BigInt(computed.powNonce), 16))
  })

  it.each(signMessages)("signs the message of $pub for chain $chainId", async (m) => {
    const key = fromHex(m.seedHex)
    const digest = signingDigest(new TextEncoder().encode(m.utf8), m.chainId ?? undefined)
    assert.strictEqual(signNode(key, digest), m.sig)
    assert.strictEqual(toHex(await signAsync(digest, key)), m.sig)
    assert.strictEqual(toHex(await getPublicKeyAsync(key)), m.pub)
    assert.isTrue(verifySignature(m.pub, digest, m.sig))
    assert.isFalse(verifySignature(m.pub, signingDigest(new TextEncoder().encode(m.utf8), "another-chain"), m.sig))
  })

  it("rebuilds the network's transaction of version 2, without proof of work", async () => {
    // It cancels an order, which this program neither signs nor reads.
    const inputData = fromHex(signTreeTx.inputDataHex)
    assert.isTrue(Result.isFailure(decodeInputData(inputData)))
    const digest = signingDigest(inputData, undefined)
    assert.strictEqual(signNode(seed, digest), signTreeTx.signature)
    assert.strictEqual(toHex(await signAsync(digest, seed)), signTreeTx.signature)
    assert.isTrue(verifySignature(signTreeTx.pubKey, digest, signTreeTx.signature))
    // Without work the message is absent altogether, which this program never sends: take it out of the bytes.
    const tx = { signature: signTreeTx.signature, pubKey: signTreeTx.pubKey, version: txVersions.TX_VERSION_V2 }
    const wire = decodeTransaction(transactionBytes({ ...tx, inputData, pow: { tid: "", nonce: 0n } }))!
    delete wire.pow
    assert.strictEqual(txHash(reencodeTransaction(wire)), signTreeTx.txHashWithoutPow.toLowerCase())
  })
})
