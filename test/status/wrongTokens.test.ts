import { assert, describe, it } from "@effect/vitest"
import { makeWrongTokens } from "../../src/status/wrongTokens.ts"

describe("wrong tokens", () => {
  it("of one address are refused ever later, up to half a minute", () => {
    const wrong = makeWrongTokens()
    const waits = Array.from({ length: 60 }, (_, i) => wrong.note("10.0.0.1", i))
    assert.deepStrictEqual(waits.slice(0, 8), [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000])
    assert.isTrue(waits.slice(8).every((millis) => millis === 30_000))
    assert.strictEqual(wrong.note("10.0.0.2", 60), 250, "another address has no part in it")
    assert.strictEqual(wrong.note("::ffff:10.0.0.1", 61), 30_000, "the same address in the longer form")
    assert.strictEqual(wrong.note("10.0.0.1", 61 + 600_000), 250, "ten minutes later it begins anew")
    assert.strictEqual(wrong.note("10.0.0.1", 0), 250, "and where the clock was put back")
  })

  it.each([
    ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", 500],
    ["2001:db8::1", "2001:db8:0:0:8::1", 500],
    ["2001:db8:0:1::1", "2001:db8:0:2::1", 250],
    ["::1", "::2", 500],
    ["", "", 500],
  ])("of %s and %s count by network", (first, second, millis) => {
    const wrong = makeWrongTokens()
    assert.strictEqual(wrong.note(first, 0), 250)
    assert.strictEqual(wrong.note(second, 0), millis)
  })

  it("of the thousand addresses that were wrong last are remembered", () => {
    const wrong = makeWrongTokens()
    const address = (i: number) => `10.0.${i >> 8}.${i & 255}`
    for (let i = 0; i < 1_001; i++) assert.strictEqual(wrong.note(address(i), 0), 250)
    assert.strictEqual(wrong.note(address(1_000), 0), 500)
    assert.strictEqual(wrong.note(address(0), 0), 250, "the oldest is forgotten")
  })
})
