import type { Kernel } from "../../src/pow/kernel.ts"
import { makeSearch } from "../../src/pow/search.ts"
import { leadingZeroBits, powHash, powPreimage, type Work } from "../../src/tx/ProofOfWork.ts"
import { type Dice, makeDice } from "../support/Dice.ts"

const hex = (dice: Dice): string => Array.from({ length: 64 }, () => dice.below(16).toString(16)).join("")
export const workOf = (dice: Dice): Work => ({ blockHash: hex(dice).toUpperCase(), tid: hex(dice) })

/** Random works of difficulty 0 to 10 whose nonce is not the first that @noble/hashes finds solving. */
export const differing = (kernel: Kernel, count: number, seed: string): ReadonlyArray<object> => {
  const dice = makeDice(`solves ${seed}`)
  return Array.from({ length: count }).flatMap(() => {
    const [work, difficulty] = [workOf(dice), dice.below(11)]
    let expected = 0
    while (leadingZeroBits(powHash(work, BigInt(expected))) < difficulty) expected++
    const nonce = makeSearch(powPreimage(work, 0n), difficulty, kernel)(0, 2 ** 16)
    return nonce === expected ? [] : [{ work, difficulty, expected, nonce }]
  })
}
