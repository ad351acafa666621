import { Schema } from "effect"
import { powHashFunction } from "../domain/chain.ts"

/** Proof of work that the network requires of each transaction. */
export const WorkParameters = Schema.Struct({
  /** The network's name of it. */
  hashFunction: Schema.String,
  /** Leading zero bits of a solution. */
  difficulty: Schema.Finite,
  /** The window: blocks for which an anchor counts. */
  pastBlocks: Schema.Finite,
  /** Transactions of one key on one anchor at that difficulty. */
  txPerBlock: Schema.Finite,
  /** True if more transactions are possible at a higher difficulty. */
  increasing: Schema.Boolean,
})
export type WorkParameters = typeof WorkParameters.Type

/** Bounds of a legal window, in blocks. No reference node keeps an anchor for longer. */
const windowBlocksMin = 5
export const windowBlocksMax = 500
/** Bits of a hash. Work that this machine cannot solve in a window is refused by `alertIfTooSlow`. */
const difficultyMax = 256

/** Known parameters of a chain. */
export interface WorkKnown {
  readonly chainId: string
  /** Parameters from the last head, legal or not. */
  readonly work: WorkParameters
  /** The last legal window; absent before one was reported. */
  readonly window?: number
  /** A window larger than that, by which nodes may judge up to a block. */
  readonly larger?: { readonly window: number; readonly until: bigint }
}

/** The parts of a head that contain parameters. */
interface WorkSeen {
  readonly chainId: string
  readonly height: bigint
  readonly work: WorkParameters
}

export const isSameWork = (a: WorkParameters, b: WorkParameters): boolean =>
  a.hashFunction === b.hashFunction &&
  a.difficulty === b.difficulty &&
  a.pastBlocks === b.pastBlocks &&
  a.txPerBlock === b.txPerBlock &&
  a.increasing === b.increasing

/** True if a network of this kind can have such a window. */
export const isLegalWindow = (blocks: number): boolean => blocks >= windowBlocksMin && blocks <= windowBlocksMax

/** Why nothing may be signed or solved by these parameters; undefined where they are legal. */
export const oddWork = ({ hashFunction, difficulty, pastBlocks, txPerBlock }: WorkParameters): string | undefined => {
  if (hashFunction !== powHashFunction) return "the network asks for an unknown proof of work"
  if (txPerBlock === 0) return "the network reports no number of transactions per block"
  if (!isLegalWindow(pastBlocks)) {
    return `the network names a window of ${pastBlocks} blocks, and legal are ${windowBlocksMin} to ${windowBlocksMax}`
  }
  return difficulty > difficultyMax
    ? `the network asks for work of difficulty ${difficulty}, and a hash has ${difficultyMax} bits`
    : undefined
}

/** The largest window by which a node may judge a transaction that is signed at this height. */
export const windowAt = ({ window = windowBlocksMax, larger }: WorkKnown, height: bigint): number =>
  larger !== undefined && height < larger.until ? Math.max(window, larger.window) : window

/** State after a head. If the window shrinks, the larger one stays in force for its own length. */
export const noteWork = (before: WorkKnown | undefined, { chainId, height, work }: WorkSeen): WorkKnown => {
  const window = work.pastBlocks
  const known = before?.chainId === chainId ? before : undefined
  if (!isLegalWindow(window)) return { ...known, chainId, work }
  if (known?.window === undefined) return { chainId, work, window }
  const open = windowAt(known, height)
  return open <= window || window === known.window
    ? { ...known, work, window }
    : { chainId, work, window, larger: { window: open, until: height + BigInt(open) } }
}
