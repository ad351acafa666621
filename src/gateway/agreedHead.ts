import { quorumTip } from "../domain/quorum.ts"
import type { ChainHead } from "./schema/ChainHead.ts"

/** What most of them name, where a quorum does or nobody contradicts. */
const agreedText = (texts: ReadonlyArray<string>, quorum: number): string | undefined => {
  const votes = new Map<string, number>()
  for (const text of texts) votes.set(text, (votes.get(text) ?? 0) + 1)
  const [most] = [...votes].toSorted(([, a], [, b]) => b - a)
  return most !== undefined && (most[1] >= quorum || votes.size === 1) ? most[0] : undefined
}

const workOf = ({ pow }: ChainHead): string => JSON.stringify(pow)

/** Where no quorum asks for the same work, none can be made: nothing is signed, and the block is known all the same. */
const noWork: ChainHead["pow"] = { hashFunction: "", difficulty: 0, pastBlocks: 0, txPerBlock: 0, increasing: false }

/**
 * The head to go by: of the newest block that a quorum has begun, with the work that a quorum asks for, since that
 * says how long a signature lives. One gateway alone may know that block already, but none may name another hash for it
 * unless a quorum stands against that one. Undefined where too few told, or told the same block.
 */
export const agreedHead = (heads: ReadonlyArray<ChainHead>, quorum: number): ChainHead | undefined => {
  const tip = quorumTip(
    heads.map(({ height }) => height),
    quorum,
  )
  const there = heads.filter(({ height }) => height === tip)
  const hash = agreedText(
    there.map((head) => head.hash),
    quorum,
  )
  const head = there.find((one) => one.hash === hash)
  const work = agreedText(heads.map(workOf), quorum)
  const pow = heads.find((one) => workOf(one) === work)?.pow ?? noWork
  return head === undefined ? undefined : { ...head, pow }
}

/** Whether a gateway shows another chain at a block whose hash a quorum names alike. */
export const isForked = (one: ChainHead, heads: ReadonlyArray<ChainHead>, quorum: number): boolean => {
  const others = heads.filter(({ height, hash }) => height === one.height && hash !== one.hash)
  return others.some(({ hash }) => others.filter((other) => other.hash === hash).length >= quorum)
}
