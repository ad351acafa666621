import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Attempt } from "../domain/Attempt.ts"
import type { IntentCommand } from "../domain/Intent.ts"
import { makeDuplicates, makeEnded, makeStrangers, makeWatches } from "./findingsSql.ts"
import { Journal } from "./Journal.ts"
import type { StoreError } from "./StoreError.ts"

/** A transfer as the ledger lists it, as far as it is kept. */
export interface ListedTransfer {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly asset: string
  readonly amount: bigint
  readonly reference: string
  readonly status: string
  /** Block time of its latest version, Unix nanoseconds. */
  readonly timestamp: bigint
}

/** A transfer of our key that no attempt explains. */
export interface Stranger extends ListedTransfer {
  /** Whether its reference carries this installation's tag: another copy of this store signed it. */
  readonly own: boolean
}

/** An attempt that came to an end. */
export interface EndedAttempt {
  readonly intentId: string
  readonly k: number
  readonly command: IntentCommand
  readonly transferId: string
  readonly state: string
  readonly to: string
  readonly asset: string
  readonly amount: bigint
}

/** How a stranger came to be known. */
export type Acknowledgement = "adopted" | "recovered"

/** What a listing brought to light. */
export interface Noted {
  /** Strangers that were not seen before. */
  readonly strangers: ReadonlyArray<Stranger>
  /** Attempts of ours that the listing shows as done. */
  readonly done: ReadonlyArray<Attempt>
}

/** What comparing the ledger with the journal brought to light, and how far the comparison has come. */
export class Findings extends Context.Service<
  Findings,
  {
    /** Where the next reading of the party's listing begins, "": at its beginning; undefined before the first. */
    readonly cursor: (party: string) => Effect.Effect<string | undefined, StoreError>
    /** All listings are read from their beginning again. */
    readonly readWhole: Effect.Effect<void, StoreError>
    /**
     * Stores what a listing showed, how each now stands, and with a cursor how far it was read, together. Transfers of
     * our attempts count as executions where they are done; all others are strangers.
     */
    readonly note: (seen: {
      readonly party: string
      readonly cursor: string | undefined
      readonly transfers: ReadonlyArray<ListedTransfer>
      readonly isOwn: (reference: string) => boolean
    }) => Effect.Effect<Noted, StoreError>
    /** Notes that the attempt was done in the block of this time (Unix nanoseconds); a second time changes nothing. */
    readonly noteExecution: (transferId: string, timestamp: bigint) => Effect.Effect<void, StoreError>
    /** Blocks in which the attempt was seen as done. */
    readonly executions: (transferId: string) => Effect.Effect<number, StoreError>
    /** Transfer id of the newest listed payment of ours of a kind, of which a movement was seen; undefined: none. */
    readonly newestListed: (party: string, command: IntentCommand) => Effect.Effect<string | undefined, StoreError>
    /** Strangers that are not known yet, oldest first. */
    readonly strangers: Effect.Effect<ReadonlyArray<Stranger>, StoreError>
    /** What is listed of the key with this tag and is no attempt of this store, whoever knows it; oldest first. */
    readonly bearing: (party: string, tag: string) => Effect.Effect<ReadonlyArray<Stranger>, StoreError>
    /** How many such payments are listed since the block time (Unix nanoseconds) that no attempt of this store is. */
    readonly alike: (of: {
      readonly party: string
      readonly asset: string
      readonly amount: bigint
      readonly since: bigint
    }) => Effect.Effect<number, StoreError>
    /** By key: the block time (Unix nanoseconds) of the oldest transfer that was listed. */
    readonly reach: Effect.Effect<ReadonlyMap<string, bigint>, StoreError>
    readonly acknowledge: (ids: ReadonlyArray<string>, as: Acknowledgement) => Effect.Effect<void, StoreError>
    /** Notes that an intent executed `count` times, at least twice; false where that is known. */
    readonly noteDuplicate: (intentId: string, count: number, detail: string) => Effect.Effect<boolean, StoreError>
    /** Executions beyond the first that no person has acknowledged; a resume of everything does. */
    readonly duplicates: Effect.Effect<ReadonlyArray<{ readonly intentId: string; readonly n: number }>, StoreError>
    /** Attempts of a key that came to an end, and what their payments are, oldest first. */
    readonly ended: (party: string) => Effect.Effect<ReadonlyArray<EndedAttempt>, StoreError>
    /** Attempts whose bytes have left and whose window is not yet compared with the ledger to its end, oldest first. */
    readonly watched: Effect.Effect<ReadonlyArray<Attempt>, StoreError>
    /** Watches an attempt again: there is a doubt about how often it executed. */
    readonly watch: (attempt: Attempt) => Effect.Effect<void, StoreError>
    /** As `watch`, by the ids of transfers; one that no attempt has changes nothing. */
    readonly watchTransfers: (ids: ReadonlyArray<string>) => Effect.Effect<void, StoreError>
    readonly endWatch: (attempt: Attempt) => Effect.Effect<void, StoreError>
  }
>()("cofferer/store/Findings") {
  static readonly layerNoDeps = Layer.effect(
    Findings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* Journal
      return Findings.of({
        ...makeStrangers(sql, journal),
        ...makeDuplicates(sql, journal),
        ...makeWatches(sql),
        ...makeEnded(sql),
      })
    }),
  )
}
