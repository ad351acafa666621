import type { Level, Party, RuleBase } from "./Rule.ts"
import type { Snapshot } from "./Snapshot.ts"

/** What one rule kind says about one balance: in band, or a payment that would bring it to its target. */
export type Need =
  | { readonly inBand: true; readonly detail: string }
  | {
      readonly inBand: false
      /** "8,790.00 is below 10,000". */
      readonly detail: string
      readonly from: Party
      readonly to: Party
      /** Base units that would be moved if nothing limited them. */
      readonly amount: bigint
    }

/** A rule and the level of it that is looked at. */
export interface Subject<R extends RuleBase> {
  readonly rule: R
  readonly level: Level
  /** The level's observed balance in base units. */
  readonly balance: bigint
  readonly snapshot: Snapshot
}
