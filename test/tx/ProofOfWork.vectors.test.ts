import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { sha3_256 } from "@noble/hashes/sha3.js"
import { isSolved, leadingZeroBits, powHash, powPreimage } from "../../src/tx/ProofOfWork.ts"
import { toHex, vectors, vectorsFile } from "./Vectors.ts"

describe("vectors of proof of work", () => {
  it("lie here as they were copied", () => {
    const sum = createHash("sha256").update(readFileSync(vectorsFile)).digest("hex")
    assert.strictEqual(sum, "565eced22fd6cf3127472da797decc35b10437723c097e4e7f0338324e2b5472")
    assert.strictEqual(vectors.pow.length, 16)
  })

  it.each(vectors.sha3_256)("SHA3-256 of $utf8", ({ utf8, hex }) => {
    const bytes = new TextEncoder().encode(utf8)
    assert.strictEqual(toHex(sha3_256(bytes)), hex)
    assert.strictEqual(createHash("sha3-256").update(bytes).digest("hex"), hex)
  })

  it.each(vectors.pow)("nonce $nonce of tid $tid has $leadingZeros zero bits", (v) => {
    const hash = powHash(v, BigInt(v.nonce))
    assert.strictEqual(toHex(hash), v.hash)
    assert.strictEqual(leadingZeroBits(hash), v.leadingZeros)
    assert.isTrue(isSolved(v, BigInt(v.nonce), v.difficulty))
    assert.isTrue(isSolved(v, BigInt(v.nonce), v.leadingZeros))
    assert.isFalse(isSolved(v, BigInt(v.nonce), v.leadingZeros + 1))
    // node:crypto over the preimage is the second opinion.
    assert.strictEqual(
      createHash("sha3-256")
        .update(powPreimage(v, BigInt(v.nonce)))
        .digest("hex"),
      v.hash,
    )
  })

  it("says which nonces are the first, and so they are", () => {
    const firsts = vectors.pow.filter((v) => v.firstNonce === true && BigInt(v.nonce) < 100_000n)
    assert.isAtLeast(firsts.length, 6)
    for (const v of firsts) {
      const preimage = powPreimage(v, 0n)
      const tail = new DataView(preimage.buffer, preimage.length - 8)
      let nonce = 0n
      for (;;) {
        tail.setBigUint64(0, nonce)
        if (leadingZeroBits(createHash("sha3-256").update(preimage).digest()) >= v.difficulty) break
        nonce++
      }
      assert.strictEqual(nonce, BigInt(v.nonce), v.tid)
    }
  })
})
