import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { isSolved, leadingZeroBits, powPreimage } from "../../src/tx/ProofOfWork.ts"
import { toHex, vectors } from "./Vectors.ts"

const work = { blockHash: "ab".repeat(32), tid: "cd".repeat(32) }

describe("ProofOfWork", () => {
  it("hashes 149 bytes: the word, hash and tid as text, the nonce big-endian", () => {
    const bytes = powPreimage(work, 0x0102030405060708n)
    assert.strictEqual(bytes.length, 149)
    assert.strictEqual(
      Buffer.from(bytes.subarray(0, 141)).toString("ascii"),
      `Vega_SPAM_PoW${work.blockHash}${work.tid}`,
    )
    assert.strictEqual(toHex(bytes.subarray(141)), "0102030405060708")
    assert.strictEqual(toHex(powPreimage(work, 2n ** 64n - 1n).subarray(141)), "ff".repeat(8))
  })

  it.each([
    ["80", 0],
    ["7f", 1],
    ["01", 7],
    ["00ff", 8],
    ["0001", 15],
    ["000000", 24],
    ["00".repeat(32), 256],
  ])("counts the zero bits in front of %s as %i", (hex, bits) => {
    assert.strictEqual(leadingZeroBits(Buffer.from(hex, "hex")), bits)
  })

  it.prop(
    "counts as many zero bits as the number has",
    { n: Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 2n ** 256n - 1n })) },
    ({ n }) => {
      const bytes = Buffer.from(n.toString(16).padStart(64, "0"), "hex")
      assert.strictEqual(leadingZeroBits(bytes), 256 - n.toString(2).length)
    },
  )

  it("refuses a hash of another length or an empty tid", () => {
    const solved = vectors.pow[0]!
    assert.isTrue(isSolved(solved, BigInt(solved.nonce), 0))
    assert.isFalse(isSolved({ ...solved, tid: "" }, BigInt(solved.nonce), 0))
    assert.isFalse(isSolved({ ...solved, blockHash: solved.blockHash.slice(1) }, BigInt(solved.nonce), 0))
    assert.isFalse(isSolved({ ...solved, blockHash: `${solved.blockHash}0` }, BigInt(solved.nonce), 0))
  })

  it("makes the case of the letters count", () => {
    const solved = vectors.pow[3]!
    assert.isTrue(isSolved(solved, BigInt(solved.nonce), solved.difficulty))
    assert.isFalse(isSolved({ ...solved, tid: solved.tid.toUpperCase() }, BigInt(solved.nonce), solved.difficulty))
  })
})
