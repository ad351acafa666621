/** What is measured over more than this (milliseconds) forgets its older half: a machine does not stay as fast. */
const memoryMillis = 5_000
/** Less than this (milliseconds) is no measurement: a thread that has just begun is slow, and clocks are coarse. */
const measuredMillis = 20

/** Hashes that one thread makes in a millisecond, measured on searches that were wanted anyway. */
interface HashRate {
  readonly note: (hashes: number, millis: number) => void
  /** Undefined until enough was measured. */
  readonly perMilli: () => number | undefined
  /** Whether nothing was noted for so long that the machine may have become another. */
  readonly isOld: () => boolean
  readonly forget: () => void
}

/** A machine that was busy when it was measured is not so for ever: nothing is refused by an older measurement. */
const oldMillis = 30_000

/** The rate of this process. It is not stored: the next process may have another machine, or less of it. */
export const makeHashRate = (): HashRate => {
  let hashes = 0
  let millis = 0
  let notedAt = 0
  return {
    note: (more, took) => {
      if (!(more > 0 && took > 0)) return
      hashes += more
      millis += took
      notedAt = performance.now()
      if (millis <= memoryMillis) return
      hashes /= 2
      millis /= 2
    },
    perMilli: () => (millis < measuredMillis ? undefined : hashes / millis),
    isOld: () => performance.now() - notedAt > oldMillis,
    forget: () => {
      hashes = 0
      millis = 0
    },
  }
}
