import { quorumTip } from "../domain/quorum.ts"
import type { ChainHead } from "./schema/ChainHead.ts"

const workOf = ({ pow }: ChainHead): string => JSON.stringify(pow)

/** Where no quorum names one block and one work, nothing is signed on it, and its height is known all the same. */
const noWork: ChainHead["pow"] = { hashFunction: "", difficulty: 0, pastBlocks: 0, txPerBlock: 0, increasing: false }

/** The first value that a quorum names. */
const agreed = (values: ReadonlyArray<string>, quorum: number): string | undefined =>
  values.find((value) => values.filter((other) => other === value).length >= quorum)

/**
 * The head to go by: the highest block whose hash a quorum named among the last heads of each gateway, newest first,
 * with the work that a quorum asks for now. Without such a block it is the quorum's lower height, and has no work.
 * At least a quorum of non-empty lists.
 */
export const commonHead = (recent: ReadonlyArray<ReadonlyArray<ChainHead>>, quorum: number): ChainHead => {
  const newest = recent.flatMap(([head]) => head ?? [])
  const work = agreed(newest.map(workOf), quorum)
  const pow = newest.find((head) => workOf(head) === work)?.pow ?? noWork
  const heights = [...new Set(recent.flat().map(({ height }) => height))].sort((a, b) => Number(b - a))
  for (const height of heights) {
    const there = recent.flatMap((heads) => heads.find((head) => head.height === height) ?? [])
    const hash = agreed(
      there.map((head) => head.hash),
      quorum,
    )
    const head = there.find((one) => one.hash === hash)
    if (head !== undefined) return { ...head, pow }
  }
  const tip = quorumTip(
    newest.map(({ height }) => height),
    quorum,
  )
  const head = newest.find(({ height }) => height === tip)!
  return { ...head, pow: noWork }
}

/** Whether a gateway shows another chain at a block whose hash a quorum names alike. */
export const isForked = (one: ChainHead, heads: ReadonlyArray<ChainHead>, quorum: number): boolean => {
  const others = heads.filter(({ height, hash }) => height === one.height && hash !== one.hash)
  return others.some(({ hash }) => others.filter((other) => other.hash === hash).length >= quorum)
}
