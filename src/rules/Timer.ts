/** How long, and in how many observations, a condition has been true. It survives restarts. */
export interface Timer {
  /** Unix milliseconds; undefined while the condition is false. */
  readonly firingSince: number | undefined
  readonly observations: number
  /** Block time of the last observation counted: the same block seen twice counts once. */
  readonly lastObservation: bigint
}

export const idle: Timer = { firingSince: undefined, observations: 0, lastObservation: 0n }

/** A money rule never acts on a single reading. */
export const observationsMin = 2

/** The timer after one more look. */
export const advance = (
  timer: Timer,
  seen: { readonly firing: boolean; readonly now: number; readonly observation: bigint },
): Timer => {
  if (!seen.firing) return { firingSince: undefined, observations: 0, lastObservation: seen.observation }
  if (timer.firingSince === undefined) {
    return { firingSince: seen.now, observations: 1, lastObservation: seen.observation }
  }
  // A beginning later than now is of a clock that was wrong: it begins now.
  const firingSince = Math.min(timer.firingSince, seen.now)
  const { observations } = timer
  if (seen.observation <= timer.lastObservation)
    return firingSince === timer.firingSince ? timer : { ...timer, firingSince }
  return { firingSince, observations: observations + 1, lastObservation: seen.observation }
}
