import type { ClockGap, WrongClock } from "../rules/checks/wrongClock.ts"
import type { ConditionView, View } from "./View.ts"

/** A condition that applies. */
export interface Found extends Omit<ConditionView, "condition"> {
  /** Another part alerts people to it, or to its cause. */
  readonly isAlerted?: boolean
  /** Receivers that cannot be alerted to it: all others are, whatever they get else. */
  readonly unreachable?: ReadonlyArray<string>
}

/** An account out of its band. */
export interface OutOfBand {
  /** "hot/USDT" */
  readonly account: string
  readonly balance: string
  /** For how long, and how long its rules take to bring it back. */
  readonly seconds: number
  readonly cycleSeconds: number
}

/** All that decides whether a treasury is healthy. */
export interface HealthFacts extends Omit<View, "sentence" | "conditions"> {
  readonly maxAgeSeconds: number
  /** Seconds between our clock and the newest known block; negative: the block is ahead. Null before the first. */
  readonly blockAgeSeconds: number | null
  /** Clock and newest known block are further apart than allowed, or no block is known. */
  readonly gap: ClockGap | undefined
  readonly wrongClock: WrongClock | undefined
  readonly disk: { readonly dir: string; readonly free: number | undefined; readonly low: number }
  /** Why the files were refused last, where none was put in force since. */
  readonly refusedReload: string | undefined
  /** Nothing is signed until this block, in about so many seconds; null before it is counted. */
  readonly quarantine: { readonly until: string | null; readonly seconds: number | null } | undefined
  /** Receivers with an alert that waits: how many, how many of them pages, and for how long the oldest does. */
  readonly undelivered: ReadonlyArray<{
    readonly receiver: string
    readonly n: number
    readonly pages: number
    readonly seconds: number
  }>
  readonly outOfBand: ReadonlyArray<OutOfBand>
  /** How processes ended that nobody stopped, in the last 15 minutes. */
  readonly crashes: ReadonlyArray<string>
}
