import { quorumTip } from "../domain/quorum.ts"
import type { ChainHead } from "./schema/ChainHead.ts"

/** What most of them name; of as many, what was named first. */
const mostNamed = (texts: ReadonlyArray<string>): string | undefined => {
  const votes = new Map<string, number>()
  for (const text of texts) votes.set(text, (votes.get(text) ?? 0) + 1)
  let most: string | undefined
  for (const [text, n] of votes) if (most === undefined || n > (votes.get(most) ?? 0)) most = text
  return most
}

const workOf = ({ pow }: ChainHead): string => JSON.stringify(pow)

/**
 * The head to go by: of the newest block that a quorum has begun, by the hash and the work that most gateways name for
 * it. One that runs ahead or lags counts for nothing. Undefined where fewer than a quorum told.
 */
export const agreedHead = (heads: ReadonlyArray<ChainHead>, quorum: number): ChainHead | undefined => {
  const tips = heads.map(({ height }) => height)
  const tip = quorumTip(tips, quorum)
  const there = heads.filter(({ height }) => height === tip)
  const hash = mostNamed(there.map((head) => head.hash))
  const head = there.find((one) => one.hash === hash)
  const work = mostNamed(heads.map(workOf))
  const pow = heads.find((one) => workOf(one) === work)?.pow
  return head === undefined || pow === undefined ? undefined : { ...head, pow }
}
