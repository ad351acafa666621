/** An exact decimal factor such as a fee of 0.001: no amount ever passes through a double. */
interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Reads "0.001" or "2". Throws a RangeError on anything else: the texts come out of a checked schema. */
export const parseFraction = (text: string): Fraction => {
  const match = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text)
  if (match === null) throw new RangeError(`not a decimal: ${text}`)
  const places = match[2] ?? ""
  return { numerator: BigInt(match[1]! + places), denominator: 10n ** BigInt(places.length) }
}

/** The product, truncated as the network does. */
export const timesFloor = (factor: Fraction, amount: bigint): bigint => (amount * factor.numerator) / factor.denominator

/** How far a factor may reach: beyond it the network's own arithmetic would not end. */
const exponentMax = 1_000

/**
 * Reads a factor as a command may write it: sign, point, exponent, as in "1.05" or "+5e-1". Undefined for texts
 * that are no number above zero, or one with more than a thousand digits.
 */
export const parseFactor = (text: string): Fraction | undefined => {
  const match = /^\+?([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,6}))?$/.exec(text)
  if (match === null) return undefined
  const places = match[2] ?? ""
  const digits = (match[1] ?? "") + places
  const exponent = Number(match[3] ?? "0") - places.length
  if (digits === "" || digits.length > exponentMax || Math.abs(exponent) > exponentMax) return undefined
  const numerator = BigInt(digits) * (exponent > 0 ? 10n ** BigInt(exponent) : 1n)
  return numerator === 0n ? undefined : { numerator, denominator: exponent < 0 ? 10n ** BigInt(-exponent) : 1n }
}

/** A factor as the network prints it: "1.0" is "1", "5e-1" is "0.5". */
export const formatFraction = ({ numerator, denominator }: Fraction): string => {
  const places = denominator.toString().length - 1
  const digits = numerator.toString().padStart(places + 1, "0")
  const fraction = digits.slice(digits.length - places).replace(/0+$/, "")
  const whole = digits.slice(0, digits.length - places)
  return places === 0 || fraction === "" ? whole : `${whole}.${fraction}`
}

/** The factor as often applied to itself as there are epochs. */
export const power = ({ numerator, denominator }: Fraction, times: number): Fraction => ({
  numerator: numerator ** BigInt(times),
  denominator: denominator ** BigInt(times),
})
