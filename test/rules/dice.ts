export type Random = (bound: number) => number

/** Repeatable whole numbers below a bound (mulberry32). */
export const randomOf = (seed: number): Random => {
  let state = (seed * 2_654_435_761) >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
}

export const pick = <A>(random: Random, all: ReadonlyArray<A>): A => all[random(all.length)]!

/** Some of them in their order, at least `least` of them. */
export const some = <A>(random: Random, all: ReadonlyArray<A>, least: number): ReadonlyArray<A> => {
  const kept = all.filter(() => random(2) === 0)
  return kept.length >= least ? kept : all.slice(0, least)
}

/** Seeds of a test: the first, and more where COFFERER_TEST_SEEDS asks for them. */
export const seedsOf = (few: number): ReadonlyArray<number> =>
  Array.from({ length: Number(process.env["COFFERER_TEST_SEEDS"] ?? few) }, (_, i) => i + 1)
