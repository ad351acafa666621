/** Rules are looked at once a second at most, counted from the beginning. */
export const tickMillis = 1_000

/** The first look at or after a moment. */
export const tickAt = (start: number, moment: number): number =>
  start + Math.ceil((moment - start) / tickMillis) * tickMillis
