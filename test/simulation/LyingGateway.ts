import type { Dice } from "../support/Dice.ts"
import type { Told } from "../support/wire.ts"
import type { PlannedLie } from "./lyingPlan.ts"
import type { Lie } from "./Wire.ts"

/** So long a lie waits for an answer in which it fits. */
const untoldMillis = 60_000

/** One gateway that is honest, save for what its plan has it say. */
export interface LyingGateway {
  readonly lie: Lie
  /** Lies that reached somebody. */
  readonly told: () => number
  /** Unix milliseconds after which all it says is true; Infinity where it never stops. */
  readonly honestFrom: () => number
}

/** From when on a lie waits for somebody to tell it to, and what came of that; Unix milliseconds. */
interface Armed {
  readonly lie: PlannedLie
  readonly from: number
  toldAt: number | undefined
}

export const makeLyingGateway = (
  lies: ReadonlyArray<PlannedLie>,
  { dice, now, startMillis }: { readonly dice: Dice; readonly now: () => number; readonly startMillis: number },
): LyingGateway => {
  const all = lies.map((lie): Armed => ({ lie, from: startMillis + lie.from, toldAt: undefined }))
  let count = 0
  const endOf = ({ lie, from, toldAt }: Armed): number => (toldAt ?? from + untoldMillis) + lie.lasts
  const isOn = (armed: Armed): boolean => {
    if (now() < armed.from) return false
    return armed.lie.lasts === 0 && armed.toldAt !== undefined ? false : now() <= endOf(armed)
  }
  const tellOne = ({ lie }: Armed, asked: Parameters<Lie>[0], told: Told): Told => {
    const fitting = lie.told.filter(({ concerns }) => concerns(asked))
    if (fitting.length === 0 || dice.next() >= lie.share) return told
    const chosen = lie.together ? fitting : fitting.slice(dice.below(fitting.length)).slice(0, 1)
    return chosen.reduce((answer, { tell }) => tell(answer), told)
  }
  return {
    lie: (asked, told) => {
      let answer = told
      for (const armed of all) {
        const after = isOn(armed) ? tellOne(armed, asked, answer) : answer
        if (after === answer) continue
        armed.toldAt ??= now()
        count += 1
        answer = after
      }
      return answer
    },
    told: () => count,
    honestFrom: () => Math.max(...all.map(endOf)),
  }
}
