import { Context, Effect, Layer, type Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Attempt, AttemptState, EvidenceKind } from "../../domain/Attempt.ts"
import type { Intent, IntentState } from "../../domain/Intent.ts"
import type { Framing } from "../../tx/Transaction.ts"
import { Database } from "../database/Database.ts"
import type { StoreError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"
import { makeReads } from "./outboxReads.ts"
import type { EvidenceRow, SendRow } from "./outboxRows.ts"
import { makeAttempts, makeIntents } from "./outboxWrites.ts"
import { SpendLog } from "./SpendLog.ts"

export type Send = typeof SendRow.Type
export type Evidence = typeof EvidenceRow.Type

/** A person's word: journalled with the change that it brings about. */
interface PersonsWord {
  readonly verb: string
  readonly author: string
  readonly reason: string
}

/** Final result of an intent. */
export interface Settlement {
  readonly detail: string
  /** The person who requested it, if one did. */
  readonly by?: PersonsWord
  readonly fee?: bigint | undefined
  /** Block time, Unix nanoseconds. */
  readonly settledAt?: bigint | undefined
  /** Set when its approvers are asked again: the start of their time, Unix milliseconds. */
  readonly askedAt?: number | undefined
}

/** A solution, and the transaction hashes that it gives both wire forms. */
export interface SolvedWork {
  readonly tid: string
  readonly nonce: bigint
  readonly hashBare: string
  readonly hashPrefixed: string
}

export interface SendStart {
  readonly attempt: Attempt
  readonly gateway: string
  readonly framing: Framing
  /** True if this is the first send of the attempt, probes of the wire form aside. */
  readonly first: boolean
  readonly txHash: string
}

export interface SendEnd {
  readonly seq: number
  readonly attempt: Attempt
  readonly gateway: string
  readonly outcome: string
  readonly code: number | undefined
  readonly data: string
  readonly log: string
  readonly evidence: EvidenceKind
  readonly state: AttemptState
  readonly nextAt: number
  readonly nextHeight: bigint
}

/**
 * Intents and their attempts: what was decided, signed, sent and seen. Each change and its journal entry are one
 * transaction; moves that the diagrams do not have fail, whoever asks for them.
 */
export class Outbox extends Context.Service<
  Outbox,
  {
    /** Stores a decided intent. The same id a second time keeps the first and returns false. */
    readonly record: (intent: Intent) => Effect.Effect<boolean, StoreError>
    readonly open: Effect.Effect<ReadonlyArray<Intent>, StoreError>
    readonly byId: (id: string) => Effect.Effect<Option.Option<Intent>, StoreError>
    /** The other payments of the same rule and episode. */
    readonly siblings: (intent: Intent) => Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** When the last executed payment of a subject was first signed (Unix milliseconds); undefined before the first. */
    readonly lastSigned: (of: {
      readonly treasury: string
      readonly rule: string
      readonly subject: string
    }) => Effect.Effect<number | undefined, StoreError>
    /** When the newest unbroken run of decided and dropped payments of a subject began (Unix milliseconds). */
    readonly droppedSince: (intent: Intent) => Effect.Effect<number | undefined, StoreError>
    /** Newest first. */
    readonly recent: (count: number) => Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** Confirmed intents whose bytes may still execute, with no movement seen: both ends of each stay reserved. */
    readonly unmoved: Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** Intents settled after the given Unix milliseconds, oldest first: for cooldowns and for what is not yet seen. */
    readonly settledSince: (millis: number) => Effect.Effect<ReadonlyArray<Intent>, StoreError>
    /** Moves an intent along its diagram; the same state again only changes the sentence. */
    readonly move: (intent: Intent, to: IntentState, settlement: Settlement) => Effect.Effect<Intent, StoreError>
    /** Makes signed bytes durable and puts the intent in flight: after this, and never before, they may be sent. */
    readonly persist: (intent: Intent, attempt: Attempt) => Effect.Effect<void, StoreError>
    readonly attempts: (intentId: string) => Effect.Effect<ReadonlyArray<Attempt>, StoreError>
    /** Attempts that may still execute, of all intents. */
    readonly live: Effect.Effect<ReadonlyArray<Attempt>, StoreError>
    /** Stores a solution. An attempt that is over keeps what it has. */
    readonly saveWork: (attempt: Attempt, work: SolvedWork) => Effect.Effect<void, StoreError>
    /** Drops a solution that was refused; the signature stays, and an attempt that is over keeps what it has. */
    readonly dropWork: (attempt: Attempt, nextAt: number) => Effect.Effect<void, StoreError>
    /** Notes that a POST is about to begin. Returns its number. */
    readonly beginSend: (start: SendStart) => Effect.Effect<number, StoreError>
    readonly endSend: (end: SendEnd) => Effect.Effect<void, StoreError>
    readonly addEvidence: (
      attempt: Attempt,
      kind: EvidenceKind,
      seen: { readonly gateway: string; readonly height: bigint | undefined; readonly detail: string },
    ) => Effect.Effect<void, StoreError>
    /** A window that the network was seen to have, in blocks: it bounds every attempt that may still execute. */
    readonly noteWindow: (blocks: number) => Effect.Effect<void, StoreError>
    readonly schedule: (attempt: Attempt, nextAt: number, nextHeight: bigint) => Effect.Effect<void, StoreError>
    /** Ends an attempt and moves its intent in one transaction. */
    readonly settle: (
      intent: Intent,
      attempt: Attempt,
      to: "confirmed" | "failed" | "expired",
      intentTo: IntentState,
      settlement: Settlement,
    ) => Effect.Effect<void, StoreError>
    readonly sends: (intentId: string) => Effect.Effect<ReadonlyArray<Send>, StoreError>
    readonly evidence: (intentId: string) => Effect.Effect<ReadonlyArray<Evidence>, StoreError>
    /** How many commands of the party were signed on the block at this height. */
    readonly signedAt: (party: string, height: bigint) => Effect.Effect<number, StoreError>
    /** Definite answers to first sends since the given Unix milliseconds. */
    readonly acceptance: (
      since: number,
    ) => Effect.Effect<{ readonly accepted: number; readonly refused: number; readonly lost: number }, StoreError>
    /** Number of intents by state, over all time. */
    readonly counts: Effect.Effect<ReadonlyMap<string, number>, StoreError>
  }
>()("cofferer/store/Outbox") {
  static readonly layerNoDeps = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* Journal
      const spends = yield* SpendLog
      const database = yield* Database
      return Outbox.of({
        ...makeReads(sql, database),
        ...makeIntents(sql, journal, spends),
        ...makeAttempts(sql, journal, spends),
      })
    }),
  ).pipe(Layer.provide(SpendLog.layerNoDeps))
}
