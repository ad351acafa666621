import type { Falsehood } from "../simulation/falsehoods.ts"
import type { Lie } from "../simulation/Wire.ts"

/** How long a lie lasts from its first answer on. */
export const durations = ["one answer", "four seconds", "for ever"] as const
export type Duration = (typeof durations)[number]

/** Whether the liar is the only gateway, or the first of three of which two must agree. */
export const settings = ["alone", "one of three"] as const
export type Setting = (typeof settings)[number]

/** From the first answer that the daemon gets, or while payments are made. */
export const beginnings = ["midway", "from the start"] as const
export type Beginning = (typeof beginnings)[number]

export interface LieCase {
  /** From 1. */
  readonly number: number
  readonly falsehood: Falsehood
  readonly duration: Duration
  readonly setting: Setting
  readonly beginning: Beginning
}

export const nameOf = ({ falsehood, duration, setting, beginning }: LieCase): string =>
  `${falsehood.name}, ${duration}, ${setting}${beginning === "midway" ? "" : `, ${beginning}`}`

const fourSeconds = 4_000

/** Tells the lie of one case, and knows when it did. */
export interface Liar {
  /** From now on it lies. */
  readonly arm: () => void
  readonly lie: Lie
  /** When it lied first, Unix milliseconds; undefined: never yet. */
  readonly beganAt: () => number | undefined
  /** When it told the truth again; undefined: it lies still, or never did. */
  readonly endedAt: () => number | undefined
}

export const makeLiar = ({ falsehood, duration }: LieCase, now: () => number): Liar => {
  let isArmed = false
  let began: number | undefined
  let once: number | undefined
  const isOver = (): boolean => {
    if (began === undefined || duration === "for ever") return false
    return duration === "one answer" ? once !== undefined : now() - began >= fourSeconds
  }
  return {
    arm: () => {
      isArmed = true
    },
    lie: ({ method, path }, told) => {
      if (!isArmed || isOver() || !falsehood.concerns({ method, path })) return told
      const lied = falsehood.tell(told)
      if (lied === told) return told
      began ??= now()
      once ??= now()
      return lied
    },
    beganAt: () => began,
    endedAt: () => {
      if (began === undefined || !isOver()) return undefined
      return duration === "one answer" ? began : began + fourSeconds
    },
  }
}
