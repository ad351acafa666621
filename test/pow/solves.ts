import type { Kernel } from "../../src/pow/kernel.ts"
import { makeSearch } from "../../src/pow/search.ts"
import { leadingZeroBits, powHash, powPreimage, type Work } from "../../src/tx/ProofOfWork.ts"
import { type Dice, makeDice } from "../support/Dice.ts"

const hex = (dice: Dice): string => Array.from({ length: 64 }, () => dice.below(16).toString(16)).join("")
export const workOf = (dice: Dice): Work => ({ blockHash: hex(dice).toUpperCase(), tid: hex(dice) })

interface Solved {
  readonly work: Work
  readonly difficulty: number
  readonly nonce: number
}

/** Random works of difficulty 0 to 10 with the first nonce that @noble/hashes finds solving. */
export const solvedWorks = (count: number, seed: string): ReadonlyArray<Solved> => {
  const dice = makeDice(`solves ${seed}`)
  return Array.from({ length: count }, () => {
    const [work, difficulty] = [workOf(dice), dice.below(11)]
    let nonce = 0
    while (leadingZeroBits(powHash(work, BigInt(nonce))) < difficulty) nonce++
    return { work, difficulty, nonce }
  })
}

/** Those for which the kernel finds another nonce. */
export const differing = (kernel: Kernel, works: ReadonlyArray<Solved>): ReadonlyArray<object> =>
  works.flatMap(({ work, difficulty, nonce }) => {
    const found = makeSearch(powPreimage(work, 0n), difficulty, kernel)(0, 2 ** 22)
    return found === nonce ? [] : [{ work, difficulty, nonce, found }]
  })
