/** An exact decimal factor such as a fee of 0.001: no amount ever passes through a double. */
export interface Fraction {
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
