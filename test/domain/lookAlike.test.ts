import { assert, describe, it } from "@effect/vitest"
import { isLookAlike } from "../../src/engine/notifyAssets.ts"

/** Code points are written out: what looks alike here could not be told apart. */
const alike: ReadonlyArray<readonly [string, string, string]> = [
  ["USD\u0422", "USDT", "a Cyrillic letter"],
  ["\u0405\u0415", "SE", "two Cyrillic letters"],
  ["USD\u03a4", "USDT", "a Greek letter"],
  ["usd\u0442", "USDT", "a small Cyrillic letter, which is no case of a Latin one"],
  ["\uff35\uff33\uff24\uff34", "USDT", "wide letters"],
  ["\u{1d5e8}\u{1d5e6}\u{1d5d7}\u{1d5e7}", "USDT", "mathematical letters"],
  ["USD\u20ae", "USDT", "a currency sign"],
  ["USDT\u0301", "USDT", "a mark"],
  ["US\u200bDT", "USDT", "a space without width"],
  ["\u202eTDSU", "TDSU", "a change of direction"],
  ["US\u00adDT", "USDT", "a hyphen that is not drawn"],
  ["USDT\u3164", "USDT", "a filler"],
  ["USDT\u2800", "USDT", "an empty Braille pattern"],
  ["USDT\ufe0f", "USDT", "a variation selector"],
  ["USDT ", "USDT", "a space behind it"],
  ["usdt", "USDT", "another case"],
  ["maker-l", "maker-1", "a letter for a digit"],
  ["maker-I", "maker-l", "another letter"],
  ["LOlO", "L0l0", "letters for digits"],
  ["rnaker", "maker", "two letters for one"],
]

const different: ReadonlyArray<readonly [string, string]> = [
  ["USDT", "USDC"],
  ["maker-1", "maker-2"],
  ["DAI", "sDAI"],
  ["", "\u200b"],
  ["\u3164", "\u2800"],
  ["WETH", "ETH"],
]

describe("texts that look alike", () => {
  it.each(alike)("%j and %j: %s", (a, b) => {
    assert.isTrue(isLookAlike(a, b))
    assert.isTrue(isLookAlike(b, a))
  })
  it.each(different)("%j and %j do not", (a, b) => assert.isFalse(isLookAlike(a, b)))
})
