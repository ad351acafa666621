import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { escapeText } from "../../src/gateway/GatewayError.ts"
import { threadCpuMicros } from "../support/threadCpu.ts"

describe("escapeText", () => {
  it.each([
    ["plain words, {{}} and ünïcödé", "plain words, {{}} and ünïcödé"],
    ["a\r\nb\tc\0d", "a\\u{d}\\u{a}b\\u{9}c\\u{0}d"],
    ["\u001b[31mred", "\\u{1b}[31mred"],
    ["\u202eevil", "\\u{202e}evil"],
    ["a\u2028b\u2029c", "a\\u{2028}b\\u{2029}c"],
    ["zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"],
    ["\ud800lone", "\\u{d800}lone"],
    ["\u{1f600}", "\u{1f600}"],
    ["\u{e0041}tag", "\\u{e0041}tag"],
    ["\u0085next", "\\u{85}next"],
    ["", ""],
  ])("writes %j as %j", (text, escaped) => {
    assert.strictEqual(escapeText(text), escaped)
  })

  it("cuts long text to 256 characters, and never through a character", () => {
    assert.strictEqual(escapeText("x".repeat(256)), "x".repeat(256))
    assert.strictEqual(escapeText("x".repeat(257)), `${"x".repeat(255)}…`)
    assert.strictEqual(escapeText("\u0000".repeat(200)).length, 256)
    const smileys = escapeText("\u{1f600}".repeat(200))
    assert.isAtMost(smileys.length, 256)
    assert.isTrue(smileys.isWellFormed())
  })

  it("takes no longer for what it cuts off", () => {
    const long = "\r\n".repeat(5_000_000)
    escapeText(long)
    const before = threadCpuMicros()
    escapeText(long)
    // Time of this process alone: whatever else the machine does.
    assert.isBelow(threadCpuMicros() - before, 50_000)
  })

  it.prop("leaves nothing that a terminal or a log could stumble over", { text: Schema.String }, ({ text }) => {
    const escaped = escapeText(text)
    assert.isAtMost(escaped.length, 256)
    assert.isTrue(escaped.isWellFormed())
    assert.notMatch(escaped, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })
})
