import { timeText } from "./Check.ts"

/** Which of clock and newest trusted block is wrong cannot be told from them alone. */
export interface ClockGap {
  readonly kind: "unknown" | "behind" | "ahead"
  /** The same words for as long as it lasts. */
  readonly detail: string
}

/**
 * Why nothing may be signed, concluded or forgotten now: no trusted block is known, or it and our clock (Unix
 * milliseconds both) differ by more than is allowed, in either direction. Undefined where they agree.
 */
export const clockGap = (now: number, block: number | undefined, maxAgeMillis: number): ClockGap | undefined => {
  if (block === undefined) return { kind: "unknown", detail: "no final block was read yet" }
  if (Math.abs(now - block) <= maxAgeMillis) return undefined
  const kind = block < now ? "behind" : "ahead"
  const where = kind === "behind" ? "behind" : "ahead of"
  return { kind, detail: `the newest final block is more than ${timeText(maxAgeMillis)} ${where} our clock` }
}
