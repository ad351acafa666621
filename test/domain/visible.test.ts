import { assert, describe, it } from "@effect/vitest"
import { visible, visibleJson, visibleLines } from "../../src/domain/text.ts"

const hidden = [
  0x00, 0x07, 0x1b, 0x7f, 0x85, 0xad, 0x34f, 0x61c, 0x115f, 0x17b4, 0x180e, 0x200b, 0x200d, 0x200e, 0x200f, 0x2028,
  0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x2800, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xd800, 0xe0001, 0xe0061,
  0xe0100,
]

describe("what is not seen of a text", () => {
  it.each(hidden.map((code) => [code.toString(16), String.fromCodePoint(code)]))("U+%s is written out", (hex, char) => {
    assert.strictEqual(visible(`a${char}b`), `a\\u{${hex}}b`)
    assert.strictEqual(visibleLines(`a${char}\nb`), `a\\u{${hex}}\nb`)
  })
  it("is the same for programs that read JSON", () => {
    const value = hidden.map((code) => `a${String.fromCodePoint(code)}\nb`)
    const json = visibleJson(JSON.stringify(value, null, 2))
    assert.deepStrictEqual(JSON.parse(json), value)
    assert.strictEqual(visibleLines(json), json)
  })
  it("leaves letters of all scripts and plain signs as they are", () => {
    const text = "Zahlung über 1'000 € an Ärzte; 支払い; דירה; 👍"
    assert.strictEqual(visible(text), text)
    assert.strictEqual(visible("a\nb"), "a\\u{a}b")
  })
})
