import { endText } from "./Time.ts"

/** Operators; `need` of them must sign a payment before it is made. */
export interface ApprovalGroup {
  readonly name: string
  /** At least 1, at most as many as there are operators. */
  readonly need: number
  /** From the decision of the payment to its signature. */
  readonly withinMillis: number
  /** Names of the operators, with their Ed25519 public keys (64 lower-case hex). */
  readonly of: ReadonlyMap<string, string>
}

/** Shorter, and nobody could read what is to be approved. */
export const approvalMillisMin = 60_000

/** Points of small order, without the sign bit: anybody could sign for such a key. */
const weak: ReadonlySet<string> = new Set([
  `00${"00".repeat(31)}`,
  `01${"00".repeat(31)}`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  `ec${"ff".repeat(30)}7f`,
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
])

/** True if signatures for the public key (64 lower-case hex) prove nothing, as for one of zeros. */
export const isWeakKey = (key: string): boolean => {
  const last = (Number.parseInt(key.slice(-2), 16) & 0x7f).toString(16).padStart(2, "0")
  return weak.has(key.slice(0, -2) + last)
}

/** Unix milliseconds from which on only a quarter of the time is left. */
export const lateFrom = ({ withinMillis }: ApprovalGroup, expires: number): number => expires - withinMillis / 4

/** Those whose approval is missing: "1 of ben, chloe"; "ben" where nobody else is left. */
export const missingText = (count: number, names: ReadonlyArray<string>): string =>
  count === names.length ? names.join(" and ") : `${count} of ${names.join(", ")}`

/** Progress of an approval as a sentence: the signers, how many are missing of which operators, and the deadline. */
export const waitText = (
  { need }: ApprovalGroup,
  by: ReadonlyArray<string>,
  others: ReadonlyArray<string>,
  expires: number,
): string => {
  const done = by.length === 0 ? "" : `${by.join(", ")} approved; `
  return `${done}waits for ${missingText(need - by.length, others)}, ${endText(expires)}`
}

/** End of a sentence that names those who must sign again: their signatures were for another text. */
export const signAgainText = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "" : `; ${names.join(", ")} must sign again: what they signed has changed`

/** Names of those who must sign again, from a sentence that ends so; undefined if nobody must. */
export const signAgainIn = (sentence: string): string | undefined => /; ([^;]+ must sign again): /.exec(sentence)?.[1]

/** "2 of ana, ben, chloe" */
export const groupText = ({ need, of }: ApprovalGroup): string => `${need} of ${[...of.keys()].join(", ")}`
