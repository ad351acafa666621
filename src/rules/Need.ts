import type { Alert } from "../domain/alerts/Alert.ts"
import type { Party, Receiver } from "./Account.ts"
import type { MissedTimes } from "./Schedule.ts"
import type { FundingRequest, Snapshot } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"

/** One movement of money that a rule wants. */
export interface NeededTransfer {
  readonly from: Party
  readonly to: Receiver
  /** Base units that would be moved if nothing limited them; the network's fee comes on top. */
  readonly amount: bigint
}

/** Result of one rule kind for one subject: nothing to do, or the transfers that bring it back into its band. */
export type Need =
  | {
      readonly _tag: "InBand"
      readonly detail: string
      /** Unix milliseconds at which time alone may change it; undefined: never. */
      readonly next?: number
    }
  /** The rule's own code was not called on the present data, or has not answered yet. */
  | { readonly _tag: "Unanswered"; readonly detail: string; readonly next?: undefined }
  /** The rule's own code gave no answer that can be relied on. */
  | { readonly _tag: "Broken"; readonly detail: string; readonly next?: number }
  | {
      readonly _tag: "NotDue"
      readonly detail: string
      /** Unix milliseconds of the next planned time. */
      readonly next: number
      /** Planned time (Unix seconds) up to which all times are paid or dropped; it becomes the episode. */
      readonly episode: number
      readonly missedTimes?: MissedTimes
      /** Planned times that an earlier payment stands for, because it was signed after them. */
      readonly coveredTimes?: MissedTimes
    }
  | {
      readonly _tag: "Wanted"
      /** "8,790.00 is below 10,000". */
      readonly detail: string
      /** At least one. */
      readonly transfers: ReadonlyArray<NeededTransfer>
      /** The planned time (Unix seconds) where a schedule wants it; undefined: episodes are counted. */
      readonly episode?: number
      readonly missedTimes?: MissedTimes
      /** Unix milliseconds at which time alone may change it; undefined: never. */
      readonly next?: number
    }

export type WantedNeed = Extract<Need, { _tag: "Wanted" }>

/** Input of a rule kind for one subject. */
export interface KindInput<K extends Subject["kind"]> {
  readonly subject: Extract<Subject, { kind: K }>
  readonly snapshot: Snapshot
  /** Base units of each of the subject's accounts, in their order. */
  readonly balances: ReadonlyArray<bigint>
  /** Last concluded episode; undefined if the subject was never evaluated. */
  readonly episode: number | undefined
}

/** Alert, request or end of one that a round produces. */
export interface Notice {
  readonly topic: "locked" | "request" | "received" | "firing" | "cleared" | "payout"
  readonly rule: string
  /** The subject, or the rule again. */
  readonly subject: string
  /** Short text of the event, without the alert's additions. */
  readonly brief: string
  /** The open or ended funding request. */
  readonly request?: Pick<FundingRequest, "episode" | "from" | "to" | "asset" | "amount" | "decimals">
  /** Planned times that are dropped: another copy of the database may have paid them. */
  readonly missedTimes?: MissedTimes
  /** An all-clear, which is sent only if an alert that it resolves was. */
  readonly isOver?: boolean
  readonly alert: Alert
}
