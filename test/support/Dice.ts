import { hash } from "node:crypto"

/** Seeded chance. */
export interface Dice {
  /** From 0 up to 1. */
  readonly next: () => number
  /** A whole number from 0 up to, not including, `count`. */
  readonly below: (count: number) => number
  readonly pick: <A>(list: ReadonlyArray<A>) => A | undefined
}

/** mulberry32 behind a hash of the seed: the same sequence everywhere. */
export const makeDice = (seed: string): Dice => {
  let state = hash("sha3-256", Buffer.from(seed), "buffer").readInt32BE()
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return { next, below, pick: (list) => list[below(list.length)] }
}

/** In an order that the seed decides. */
export const shuffled = <A>(list: ReadonlyArray<A>, dice: Dice): ReadonlyArray<A> =>
  list
    .map((one) => ({ one, rank: dice.next() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ one }) => one)
