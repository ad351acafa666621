import type { Party, Receiver } from "./Rule.ts"
import type { Snapshot } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"

/** One movement of money that a rule wants. */
export interface Transfer {
  readonly from: Party
  readonly to: Receiver
  /** Base units that would be moved if nothing limited them; the network's fee comes on top. */
  readonly amount: bigint
}

/** What one rule kind says about one subject: nothing to do, or the transfers that would bring it where it belongs. */
export type Need =
  | {
      readonly _tag: "InBand"
      readonly detail: string
      /** Unix milliseconds at which time alone may change it; undefined: never. */
      readonly next?: number
    }
  /** The rule's own code was not asked what is known now, or thinks about it still. */
  | { readonly _tag: "Unanswered"; readonly detail: string; readonly next?: undefined }
  /** The rule's own code gave no answer that can be relied on. */
  | { readonly _tag: "Broken"; readonly detail: string; readonly next?: number }
  | {
      readonly _tag: "NotDue"
      readonly detail: string
      /** Unix milliseconds of the next planned time. */
      readonly next: number
      /** Planned time (Unix seconds) up to which all is done or let go; it becomes the episode. */
      readonly episode: number
      readonly letGo?: LetGo
    }
  | {
      readonly _tag: "Wanted"
      /** "8,790.00 is below 10,000". */
      readonly detail: string
      /** At least one. */
      readonly transfers: ReadonlyArray<Transfer>
      /** The planned time (Unix seconds) where a schedule wants it; undefined: episodes are counted. */
      readonly episode?: number
      readonly letGo?: LetGo
      /** Unix milliseconds at which time alone may change it; undefined: never. */
      readonly next?: number
    }

/** Planned times that nobody paid and that are too old now: the first and the last of them, Unix milliseconds. */
export interface LetGo {
  readonly first: number
  readonly last: number
}

export type Wanted = Extract<Need, { _tag: "Wanted" }>

/** What a rule kind is told of its subject. */
export interface Seen<K extends Subject["kind"]> {
  readonly subject: Extract<Subject, { kind: K }>
  readonly snapshot: Snapshot
  /** Base units of each of the subject's accounts, in their order. */
  readonly balances: ReadonlyArray<bigint>
  /** Last concluded episode; undefined where the subject was never looked at. */
  readonly episode: number | undefined
}
