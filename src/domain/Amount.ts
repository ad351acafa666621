import { Schema, SchemaGetter } from "effect"

/**
 * Money: a whole number of an asset's base units, 0 to 2^256-1. One unit of an asset is 10^decimals base units.
 * No JavaScript number ever holds money; decimal strings exist only in configuration, CLI, page and messages.
 */
export const BaseUnits = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 256n - 1n })).pipe(
  Schema.brand("BaseUnits"),
)
export type BaseUnits = typeof BaseUnits.Type

const unitsMax = 2n ** 256n - 1n
/** Digits before bigint: BigInt("") is 0, BigInt("0x10") is 16, and two million digits block for 0.3 s. */
const digits = /^(0|[1-9][0-9]{0,77})$/
const decimal = /^([0-9][0-9_,]*)(?:\.([0-9]+))?$/

/** One point before exactly three digits: half of the world groups thousands so. */
const thousandsPoint = /^([1-9][0-9]{0,2})\.([0-9]{3})$/
const severalPoints = /^[0-9]{1,3}(\.[0-9]{3}){2,}$/

/** One comma that separates no group of three digits, or stands behind a zero alone. */
const decimalComma = /^(0,[0-9]+|[0-9][0-9_.]*,([0-9]{1,2}|[0-9]{4,}))$/

/** A bigint known to be in range, as base units. Throws a RangeError outside 0 … 2^256-1: a defect, not input. */
export const baseUnits = (n: bigint): BaseUnits => {
  if (n < 0n || n > unitsMax) throw new RangeError(`not an amount: ${n}`)
  return n as BaseUnits
}

/** Reads the wire's form, a plain decimal integer without sign, leading zeros or separators; undefined for all else. */
export const parseBaseUnits = (text: string): BaseUnits | undefined => {
  if (!digits.test(text)) return undefined
  const n = BigInt(text)
  return n > unitsMax ? undefined : (n as BaseUnits)
}

/** The wire's form of base units again, as Schema: a string of digits on one side, branded bigint on the other. */
export const BaseUnitsFromString = Schema.String.check(
  Schema.makeFilter((text: string) => parseBaseUnits(text) !== undefined, {
    expected: "a whole number of base units, 0 to 2^256-1, as digits",
  }),
).pipe(
  Schema.decodeTo(BaseUnits, {
    decode: SchemaGetter.transform((text: string) => BigInt(text)),
    encode: SchemaGetter.transform((n: bigint) => n.toString()),
  }),
)

/**
 * Reads what a person writes, such as "25_000" or "0.5", in units of an asset with the given decimals.
 * Underscores and commas may separate groups of three digits. The error text names the remedy.
 */
export const parseAmount = (
  text: string,
  decimals: number,
): { readonly units: BaseUnits } | { readonly error: string } => {
  const match = decimal.exec(text)
  const quoted = `"${text.length > 90 ? `${text.slice(0, 89)}…` : text}"`
  if (decimalComma.test(text)) {
    const pointed = text.replace(/[_.]/g, "").replace(",", ".")
    return { error: `${quoted} is not an amount, a comma is no decimal mark: write "${pointed.slice(0, 90)}"` }
  }
  if (severalPoints.test(text)) {
    return {
      error: `${quoted} is not an amount, points do not group: write "${text.replaceAll(".", "_").slice(0, 90)}"`,
    }
  }
  if (match === null) return { error: `${quoted} is not an amount: write digits such as "25_000" or "0.5"` }
  const whole = match[1]!
  const fraction = (match[2] ?? "").replace(/0+$/, "")
  if (!/^([0-9]+|[0-9]{1,3}(_[0-9]{3})+|[0-9]{1,3}(,[0-9]{3})+)$/.test(whole)) {
    return { error: `${quoted} groups its digits oddly: write "25_000" or "25000"` }
  }
  if (fraction.length > decimals) {
    return { error: `${quoted} is finer than the asset: it has ${decimals} decimals` }
  }
  const plain = whole.replace(/[_,]/g, "").replace(/^0+(?=[0-9])/, "") + fraction.padEnd(decimals, "0")
  const units = parseBaseUnits(plain.replace(/^0+(?=[0-9])/, ""))
  return units === undefined ? { error: `${quoted} is too large: at most 2^256-1 base units` } : { units }
}

/**
 * As `parseAmount`, for files that people write: "4.000" is refused, since it may mean four or four thousand. Amounts
 * that were computed are never doubtful.
 */
export const parseWritten = (text: string, decimals: number): ReturnType<typeof parseAmount> => {
  const [, whole = "", fraction] = thousandsPoint.exec(text) ?? []
  const parsed = parseAmount(text, decimals)
  if (fraction === undefined) return parsed
  if (!("units" in parsed)) return { error: `${parsed.error}, and points do not group: write "${whole}_${fraction}"` }
  const plain = /^0+$/.test(fraction) ? whole : `${whole}.${fraction}0`
  return {
    error: `"${text}" may mean ${whole}.${fraction} or ${whole},${fraction}: write "${plain}" or "${whole}_${fraction}"`,
  }
}

/** More decimals than any real asset has; whoever lists one with millions of them must not fill our memory. */
const decimalsWrittenMax = 255

const zero = 0x30

/** "12870" as "12,870". */
const grouped = (whole: string): string => {
  let text = whole.slice(-3)
  for (let end = whole.length - 3; end > 0; end -= 3) text = `${whole.slice(Math.max(0, end - 3), end)},${text}`
  return text
}

/** Writes base units for people: "12,870.00". At least two places, more only where they are not zero. */
export const formatAmount = (units: bigint, decimals: number): string => {
  if (decimals > decimalsWrittenMax) return `${units}e-${decimals}`
  const sign = units < 0n ? "-" : ""
  const text = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0")
  const whole = grouped(text.slice(0, text.length - decimals))
  if (decimals === 0) return sign + whole
  const least = text.length - decimals + Math.min(2, decimals)
  let end = text.length
  while (end > least && text.charCodeAt(end - 1) === zero) end--
  return `${sign}${whole}.${text.slice(text.length - decimals, end)}`
}

/** As formatAmount without separators: "16210.00", for machines. */
export const plainAmount = (units: bigint, decimals: number): string =>
  formatAmount(units, decimals).replaceAll(",", "")

/** As formatAmount without places that are zero: "25,000" for a level or a limit. */
export const formatLevel = (units: bigint, decimals: number): string => {
  const text = formatAmount(units, decimals)
  if (text.endsWith(".00")) return text.slice(0, -3)
  return text.endsWith(".0") ? text.slice(0, -2) : text
}

/** Base units as a double in units of the asset: for gauges only, never for a decision. */
export const toDouble = (units: bigint, decimals: number): number => Number(units) / 10 ** decimals

/** As formatLevel without separators: "25000", for machines. */
export const plainLevel = (units: bigint, decimals: number): string => formatLevel(units, decimals).replaceAll(",", "")
