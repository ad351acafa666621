import { Schema } from "effect"
import type { Chain } from "../Chain.ts"
import { restoreRuleSets, StoredRuleSets, storeRuleSets } from "../WorkRules.ts"

const Big = Schema.BigIntFromString

/** The end of a block as JSON keeps it: what the ledger's own history does not tell of it. */
export const Moment = Schema.Struct({
  height: Schema.Int,
  /** Unix nanoseconds. */
  time: Big,
  hash: Schema.String,
  epoch: Schema.Struct({ seq: Schema.Int, startTime: Big, firstBlock: Schema.Int }),
  ruleSets: StoredRuleSets,
  /** The newest height of which the replay guard knew nothing any more. */
  prunedTo: Schema.Int,
})
export type Moment = typeof Moment.Type
export const MomentText = Schema.fromJsonString(Moment)

/** The newest block, to be read again later. */
export const momentOf = ({ height, time, hash, epoch, ruleSets, guard }: Chain): Moment => ({
  height,
  time,
  hash,
  epoch: { seq: epoch.seq, startTime: epoch.startTime, firstBlock: epoch.firstBlock },
  ruleSets: storeRuleSets(ruleSets),
  prunedTo: guard.prunedTo,
})

/** The rules of work that were known then. */
export const rulesOf = (moment: Moment): Chain["ruleSets"] => restoreRuleSets(moment.ruleSets)
