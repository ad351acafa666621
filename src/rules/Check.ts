import type { HoldReason } from "../domain/Decision.ts"
import type { Look } from "./Look.ts"

/** One reason for silence: when it applies, and what to say of it. */
export interface Check {
  readonly reason: HoldReason
  /** The sentence with the number that decided; undefined where the reason does not apply. */
  readonly held: (look: Look) => string | undefined
  /** What was compared where it does not apply: for people who ask. */
  readonly passed: (look: Look) => string
  /** Unix milliseconds at which it ends by itself; undefined where time alone does not end it. */
  readonly ends?: (look: Look) => number | undefined
}

/** "30 s", "4 min", "2.5 h", "3 d": a length of time for people. */
export const timeText = (millis: number): string => {
  const seconds = Math.max(0, Math.ceil(millis / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`
  if (seconds < 172_800) return `${Number((seconds / 3_600).toFixed(1))} h`
  return `${Number((seconds / 86_400).toFixed(1))} d`
}

/** "2026-12-24 12:00Z" */
export const instantText = (millis: number): string =>
  `${new Date(millis).toISOString().slice(0, 16).replace("T", " ")}Z`
