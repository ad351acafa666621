import type { Chain, Epoch } from "../Chain.ts"

/** The end of a block: what the ledger's own history does not tell of it. */
export interface Moment extends Pick<Chain, "height" | "time" | "hash"> {
  readonly epoch: Readonly<Omit<Epoch, "transfers">>
  readonly ruleSets: Readonly<Chain["ruleSets"]>
  /** The newest height of which the replay guard knew nothing any more. */
  readonly prunedTo: number
}

/** The newest block, to be read again later. */
export const momentOf = ({ height, time, hash, epoch, ruleSets, guard }: Chain): Moment => ({
  ...{ height, time, hash },
  epoch: { seq: epoch.seq, startTime: epoch.startTime, firstBlock: epoch.firstBlock },
  ruleSets: [...ruleSets],
  prunedTo: guard.prunedTo,
})
