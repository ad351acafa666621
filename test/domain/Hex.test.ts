import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { isHex64, PublicKey, shortId } from "../../src/domain/Hex.ts"

const key = "30ebce58d94ad37c4ff6a9014c955c20e12468da956163228cc7ec9b98d3a371"
const Forty = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 40n - 1n }))
const id = (n: bigint): string => n.toString(16).padStart(10, "0").padEnd(64, "a")

describe("Hex", () => {
  it("takes 64 lower-case hex characters, and nothing else", () => {
    assert.isTrue(isHex64(key))
    assert.strictEqual(Schema.decodeSync(PublicKey)(key), key)
    for (const bad of [key.toUpperCase(), key.slice(1), `${key}0`, `${key}\n`, ` ${key}`, `g${key.slice(1)}`, ""]) {
      assert.isFalse(isHex64(bad), JSON.stringify(bad))
      assert.strictEqual(Schema.decodeExit(PublicKey)(bad)._tag, "Failure")
    }
  })

  it.each([
    ["00".repeat(32), "00000000"],
    ["ff".repeat(32), "zzzzzzzz"],
    ["0000000001".padEnd(64, "0"), "00000001"],
    ["0000000020".padEnd(64, "0"), "00000010"],
  ])("shortens %s to %s", (long, short) => {
    assert.strictEqual(shortId(long), short)
  })

  it.prop("gives eight characters that people cannot mix up", { n: Forty }, ({ n }) => {
    assert.match(shortId(id(n)), /^[0-9a-hjkmnp-tv-z]{8}$/)
  })

  it.prop("gives different ids for different beginnings, in the same order", { a: Forty, b: Forty }, ({ a, b }) => {
    assert.strictEqual(shortId(id(a)) < shortId(id(b)), a < b)
    assert.strictEqual(shortId(id(a)) === shortId(id(b)), a === b)
  })
})
