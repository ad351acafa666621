/** Age of a block by our clock, for people; null: the clock is not to be relied on. */
export const ageText = (seconds: number | null): string => {
  if (seconds === null) return "of unknown age"
  // Clocks differ by a little, and a block is no older than it is.
  return seconds < -1 ? `${(-seconds).toFixed(1)} s ahead of this clock` : `${Math.max(0, seconds).toFixed(1)} s old`
}
