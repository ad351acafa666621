import { assert, describe, it } from "@effect/vitest"
import {
  decodeTransaction,
  frame,
  reencodeTransaction,
  signingDigest,
  transactionBytes,
  transferId,
  txHash,
  txVersions,
  verifySignature,
  withChainPrefix,
} from "../../src/tx/Transaction.ts"
import { fromHex, toHex, vectors } from "./Vectors.ts"

const { computed } = vectors
const vector = computed.cases.transfer_oneoff
const inputData = fromHex(vector.inputDataHex)
const tx = {
  inputData,
  signature: vector.sig,
  pubKey: computed.pubKey,
  version: txVersions.TX_VERSION_V3,
  pow: { tid: computed.tid, nonce: BigInt(computed.powNonce) },
}

describe("Transaction", () => {
  it("prefixes the chain id and one zero byte where the form asks", () => {
    assert.strictEqual(toHex(withChainPrefix("ab", Uint8Array.of(1, 2))), "6162000102")
    assert.deepStrictEqual(frame("bare", "ab", inputData), inputData)
    assert.deepStrictEqual(frame("prefixed", "ab", inputData), withChainPrefix("ab", inputData))
  })

  it("signs the prefixed message, whatever stands on the wire", () => {
    assert.deepStrictEqual(
      signingDigest(inputData, computed.chainId),
      signingDigest(withChainPrefix(computed.chainId, inputData), undefined),
    )
    assert.notDeepEqual(signingDigest(inputData, "another-chain"), signingDigest(inputData, computed.chainId))
  })

  it("has another hash in each form, and one transfer id", () => {
    const bare = transactionBytes(tx)
    const prefixed = transactionBytes({ ...tx, inputData: frame("prefixed", computed.chainId, inputData) })
    assert.notStrictEqual(txHash(bare), txHash(prefixed))
    assert.match(txHash(bare), /^[0-9a-f]{64}$/)
    assert.strictEqual(transferId(tx.signature), vector.id)
  })

  it("keeps its transfer id and changes its hash when the work is solved anew", () => {
    const again = { ...tx, pow: { tid: "ff".repeat(32), nonce: 2n ** 64n - 1n } }
    assert.notStrictEqual(txHash(transactionBytes(again)), txHash(transactionBytes(tx)))
    assert.strictEqual(transferId(again.signature), transferId(tx.signature))
    assert.strictEqual(decodeTransaction(transactionBytes(again))?.pow?.nonce, 2n ** 64n - 1n)
  })

  it("reads its own bytes back", () => {
    const wire = decodeTransaction(transactionBytes(tx))
    assert.deepStrictEqual(wire?.inputData, inputData)
    assert.deepInclude(wire?.signature, { value: tx.signature, algo: "vega/ed25519", version: 1 })
    assert.deepStrictEqual(wire?.from, { case: "pubKey", value: tx.pubKey })
    assert.strictEqual(wire?.version, 3)
    assert.deepInclude(wire?.pow, tx.pow)
  })

  it("keeps a sender's address and unknown fields when it writes again", () => {
    const address = `ca3e${"0461626364"}`
    const unknown = "980601"
    const hex = `0a0108${"80 7d 03".replaceAll(" ", "")}${unknown}${address}`
    const wire = decodeTransaction(fromHex(hex))!
    assert.deepStrictEqual(wire.from, { case: "address", value: "abcd" })
    assert.strictEqual(toHex(reencodeTransaction(wire)), hex)
  })

  it("finds no message in bytes that are none", () => {
    assert.isUndefined(decodeTransaction(fromHex("00010267617262616765")))
    assert.strictEqual(decodeTransaction(new Uint8Array())?.version, 0)
  })

  const digest = signingDigest(inputData, computed.chainId)
  it.each([
    ["another digest", computed.pubKey, signingDigest(inputData, "x"), vector.sig],
    ["another key", "30ebce58d94ad37c4ff6a9014c955c20e12468da956163228cc7ec9b98d3a371", digest, vector.sig],
    ["another signature", computed.pubKey, digest, computed.cases.withdraw.sig],
    ["a key that is too short", computed.pubKey.slice(2), digest, vector.sig],
    ["a key with a stray letter", `${computed.pubKey.slice(0, 63)}g`, digest, vector.sig],
    ["a key that is no point of the curve", "ff".repeat(32), digest, vector.sig],
    ["no signature", computed.pubKey, digest, ""],
    ["a signature that is too long", computed.pubKey, digest, `${vector.sig}00`],
  ])("does not verify with %s", (_name, key, over, signature) => {
    assert.isFalse(verifySignature(key, over, signature))
    assert.isTrue(verifySignature(computed.pubKey, digest, vector.sig))
  })
})
