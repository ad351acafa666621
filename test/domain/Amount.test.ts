import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  BaseUnitsFromString,
  baseUnits,
  formatAmount,
  formatLevel,
  parseAmount,
  parseBaseUnits,
  parseWritten,
  toDouble,
} from "../../src/domain/Amount.ts"
import { threadCpuMicros } from "../support/threadCpu.ts"

const max = 2n ** 256n - 1n
const Units = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: max }))
const Decimals = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
const twoMillionDigits = "9".repeat(2_000_000)

const errorOf = (text: string, decimals: number): string => {
  const result = parseAmount(text, decimals)
  return "error" in result ? result.error : assert.fail(`${text} was read as ${result.units}`)
}

describe("base units as digits", () => {
  it.each([
    ["0", 0n],
    ["7", 7n],
    ["18446744073709551616", 2n ** 64n],
    [max.toString(), max],
  ])("reads %s", (text, units) => {
    assert.strictEqual(parseBaseUnits(text), units)
    assert.strictEqual(Schema.decodeSync(BaseUnitsFromString)(text), units)
  })

  it.each([
    ["nothing", ""],
    ["zeros in front", "007"],
    ["two zeros", "00"],
    ["a negative zero", "-0"],
    ["a minus", "-1"],
    ["a plus", "+1"],
    ["hexadecimal", "0x10"],
    ["octal", "0o10"],
    ["an exponent", "1e3"],
    ["a fraction", "1.0"],
    ["spaces", " 12 "],
    ["a line end", "12\n"],
    ["separators", "1_000"],
    ["a bigint literal", "12n"],
    ["digits of another script", "١٢"],
    ["full-width digits", "１２"],
    ["one more than the largest", (max + 1n).toString()],
    ["79 digits", "1".repeat(79)],
    ["two million digits", twoMillionDigits],
  ])("refuses %s", (_name, text) => {
    const before = threadCpuMicros()
    assert.isUndefined(parseBaseUnits(text))
    assert.isTrue(Schema.decodeExit(BaseUnitsFromString)(text)._tag === "Failure")
    assert.isBelow(threadCpuMicros() - before, 100_000)
  })

  it.prop("reads every amount that it writes", { units: Units }, ({ units }) => {
    assert.strictEqual(parseBaseUnits(units.toString()), units)
    const schema = Schema.decodeSync(BaseUnitsFromString)(units.toString())
    assert.strictEqual(schema, units)
    assert.strictEqual(Schema.encodeSync(BaseUnitsFromString)(schema), units.toString())
  })

  it("takes only what is in range", () => {
    assert.strictEqual(baseUnits(max), max)
    assert.throws(() => baseUnits(-1n), RangeError)
    assert.throws(() => baseUnits(max + 1n), RangeError)
  })
})

describe("amounts as people write them", () => {
  it.each([
    ["0", 6, 0n],
    ["0.5", 6, 500_000n],
    ["25000", 6, 25_000_000_000n],
    ["25_000", 6, 25_000_000_000n],
    ["1,234,567.89", 2, 123_456_789n],
    ["1.230000000", 2, 123n],
    ["00012", 0, 12n],
    ["1.000", 0, 1n],
    ["0.000000000000000001", 18, 1n],
    [max.toString(), 0, max],
  ])("reads %s with %i decimals", (text, decimals, units) => {
    assert.deepStrictEqual(parseAmount(text, decimals), { units: baseUnits(units) })
  })

  it.each([
    ["", 6, "is not an amount"],
    [" 1", 6, "is not an amount"],
    [".5", 6, "is not an amount"],
    ["5.", 6, "is not an amount"],
    ["-1", 6, "is not an amount"],
    ["-0", 6, "is not an amount"],
    ["0x10", 6, "is not an amount"],
    ["1e3", 6, "is not an amount"],
    ["1.2.3", 6, "is not an amount"],
    ["_1", 6, "is not an amount"],
    ["1.5_0", 6, "is not an amount"],
    ["NaN", 6, "is not an amount"],
    ["1_00", 6, "groups its digits oddly"],
    ["1__000", 6, "groups its digits oddly"],
    ["1000_000", 6, "groups its digits oddly"],
    ["1,000_000", 6, "groups its digits oddly"],
    ["1,", 6, "groups its digits oddly"],
    ["4,50", 6, 'a comma is no decimal mark: write "4.50"'],
    ["0,500", 6, 'a comma is no decimal mark: write "0.500"'],
    ["1.234,5", 6, 'a comma is no decimal mark: write "1234.5"'],
    ["1.234.567", 6, 'points do not group: write "1_234_567"'],
    ["0.1234567", 6, "has 6 decimals"],
    ["0.5", 0, "has 0 decimals"],
    [(max + 1n).toString(), 0, "is too large"],
    [max.toString(), 1, "is too large"],
  ])("refuses %s with %i decimals, and says that it %s", (text, decimals, words) => {
    assert.include(errorOf(text, decimals), words)
  })

  it.each([
    ["4.000", 6, '"4.000" may mean 4.000 or 4,000: write "4" or "4_000"'],
    ["100.000", 0, '"100.000" may mean 100.000 or 100,000: write "100" or "100_000"'],
    ["1.125", 6, '"1.125" may mean 1.125 or 1,125: write "1.1250" or "1_125"'],
    ["1.125", 2, 'it has 2 decimals, and points do not group: write "1_125"'],
  ])("refuses %s in a file, with %i decimals: %s", (text, decimals, words) => {
    const read = parseWritten(text, decimals)
    assert.include("error" in read ? read.error : "", words)
  })

  it.each(["4", "4.0", "4.00", "4.0000", "4,000", "4_000.125", "1,125.500", "0.125", "1.1250", "1000.125"])(
    "reads %s in a file as anywhere",
    (text) => assert.deepStrictEqual(parseWritten(text, 6), parseAmount(text, 6)),
  )

  it("refuses two million digits at once, in a message that fits a line", () => {
    const before = threadCpuMicros()
    assert.include(errorOf(twoMillionDigits, 6), "is too large")
    assert.isBelow(errorOf(twoMillionDigits, 6).length, 200)
    assert.isBelow(errorOf(`0.${twoMillionDigits}`, 6).length, 200)
    assert.isBelow(errorOf(`${"1,".repeat(1_000_000)}`, 6).length, 200)
    assert.isBelow(errorOf("x".repeat(2_000_000), 6).length, 200)
    assert.isBelow(threadCpuMicros() - before, 1_000_000)
  })

  it.each([
    [12_870_000_000n, 6, "12,870.00", "12,870"],
    [0n, 6, "0.00", "0"],
    [0n, 0, "0", "0"],
    [5n, 1, "0.5", "0.5"],
    [1n, 18, "0.000000000000000001", "0.000000000000000001"],
    [1_234_567n, 0, "1,234,567", "1,234,567"],
    [999n, 2, "9.99", "9.99"],
    [-1_500_000n, 6, "-1.50", "-1.50"],
    [2_550n, 2, "25.50", "25.50"],
    [100_000n, 3, "100.00", "100"],
  ])("writes %s with %i decimals as %s, as a level %s", (units, decimals, amount, level) => {
    assert.strictEqual(formatAmount(units, decimals), amount)
    assert.strictEqual(formatLevel(units, decimals), level)
  })

  it.prop(
    "reads every amount that it writes, in both styles",
    { units: Units, decimals: Decimals },
    ({ units, decimals }) => {
      assert.deepStrictEqual(parseAmount(formatAmount(units, decimals), decimals), { units: baseUnits(units) })
      assert.deepStrictEqual(parseAmount(formatLevel(units, decimals), decimals), { units: baseUnits(units) })
    },
  )

  it.prop("keeps the order of amounts in what it writes", { a: Units, b: Units, decimals: Decimals }, (p) => {
    const digits = (units: bigint) => {
      const [whole, fraction = ""] = formatAmount(units, p.decimals).replaceAll(",", "").split(".")
      return BigInt(whole! + fraction.padEnd(p.decimals, "0"))
    }
    assert.strictEqual(digits(p.a) < digits(p.b), p.a < p.b)
  })

  it("writes an amount of an asset with absurdly many decimals in little space", () => {
    assert.strictEqual(formatAmount(5n, 9_007_199_254_740_991), "5e-9007199254740991")
    assert.strictEqual(formatLevel(5n, 9_007_199_254_740_991), "5e-9007199254740991")
  })

  it("gives gauges a double", () => {
    assert.strictEqual(toDouble(12_870_500_000n, 6), 12_870.5)
    assert.strictEqual(toDouble(max, 400), 0)
  })
})
