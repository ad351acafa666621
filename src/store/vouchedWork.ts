import type { WorkTerms } from "../rules/workTerms.ts"

/** Names of the network's parameters by the terms that they set. */
const names = {
  hashFunction: "spam.pow.hashFunction",
  difficulty: "spam.pow.difficulty",
  pastBlocks: "spam.pow.numberOfPastBlocks",
  txPerBlock: "spam.pow.numberOfTxPerBlock",
  increasing: "spam.pow.increaseDifficulty",
} as const

type Fixed = Pick<WorkTerms, "difficulty" | "pastBlocks" | "txPerBlock">

/** Whether the file, or the network's parameters, ask for the same work as a head does. */
export const vouchedWork = (
  work: WorkTerms,
  fixed: Fixed | undefined,
  parameters: ReadonlyMap<string, string>,
): boolean => {
  if (fixed !== undefined) {
    const { difficulty, pastBlocks, txPerBlock } = fixed
    return work.difficulty === difficulty && work.pastBlocks === pastBlocks && work.txPerBlock === txPerBlock
  }
  return (
    parameters.get(names.hashFunction) === work.hashFunction &&
    parameters.get(names.difficulty) === String(work.difficulty) &&
    parameters.get(names.pastBlocks) === String(work.pastBlocks) &&
    parameters.get(names.txPerBlock) === String(work.txPerBlock) &&
    parameters.get(names.increasing) === (work.increasing ? "1" : "0")
  )
}
