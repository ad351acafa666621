import { createHash } from "node:crypto"
import { Array as Arr, Clock, Context, Effect, Layer, Schema } from "effect"
import { jsonText } from "../../domain/text.ts"
import { rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Settings } from "../database/Settings.ts"
import { isPostgres, Sql } from "../database/Sql.ts"
import { storeError } from "../database/StoreError.ts"
import { makeWatermarkFile } from "./watermarkFile.ts"

/** Kinds of journal entries. */
type JournalKind =
  | "installed"
  | "started"
  | "decision"
  | "intent"
  | "permit"
  | "attempt"
  | "work"
  | "send"
  | "evidence"
  | "signature"
  | "refusal"
  | "pause"
  | "resume"
  | "halt"
  | "asset"
  | "stranger"
  | "duplicate"
  | "adopted"
  | "recovered"
  | "backfill"
  | "rebase"
  | "gap"
  | "mismatch"
  | "config"
  | "asked"
  | "received"
  | "approval"
  | "alert"

export interface JournalEntry {
  readonly kind: JournalKind
  /** Subject of the entry: an intent id, a rule and subject, a scope. */
  readonly subject: string
  /** Plain JSON; bigints as digit strings. */
  readonly body: Readonly<Record<string, unknown>>
}

/** The newest entry: its number and its hash. Sequence 0 and 64 zeros before the first. */
export interface JournalHead {
  readonly seq: number
  readonly hash: string
}

const HeadRow = Schema.Struct({ seq: Schema.Int, hash: Schema.String })
const FirstRow = Schema.Struct({ seq: Schema.Int })
const KindRow = Schema.Struct({ kind: Schema.String })
export const TrailRow = Schema.Struct({ ...HeadRow.fields, kind: Schema.String, body: Schema.String })
export const EntryRow = Schema.Struct({
  seq: Schema.Int,
  at: Schema.Int,
  treasury: Schema.String,
  kind: Schema.String,
  subject: Schema.String,
  body: Schema.String,
  prev: Schema.String,
  hash: Schema.String,
})

/** SHA-256 over the entry's columns and the hash before it: no entry can be changed, dropped or slipped in unseen. */
export const entryHash = (entry: Omit<typeof EntryRow.Type, "hash">): string => {
  const hash = createHash("sha256")
  hash.update(JSON.stringify([entry.prev, entry.seq, entry.at, entry.treasury, entry.kind, entry.subject, entry.body]))
  return hash.digest("hex")
}

/**
 * SHA-256 over hashes of entries, in order. The chain's hashes alone do not show which entries are between two of them:
 * an entry that a later one must prove is named by it this way.
 */
export const hashOfHashes = (hashes: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(hashes)).digest("hex")

/** The head of an empty journal. */
export const genesis: JournalHead = { seq: 0, hash: "0".repeat(64) }

/** A body as the journal holds it. */
export const bodyText = (body: JournalEntry["body"]): string => jsonText(body)

/**
 * The hash-chained record of every decision, signature, send and observation. Entries are appended in the transaction
 * of the change that they describe, so neither exists without the other.
 */
export class Journal extends Context.Service<Journal>()("cofferer/store/Journal", {
  make: Effect.fnUntraced(function* (treasury: string, watermarkFile?: string) {
    const sql = yield* Sql
    const entries = rowsOf(EntryRow, "Journal.read")
    const head = sql`SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1`.pipe(
      rowsOf(HeadRow, "Journal.head"),
      Effect.map((rows) => rows[0] ?? genesis),
    )
    const { memoryOf, versionWithin } = yield* Database
    const rememberedFirst = memoryOf<number>("journal")
    const rememberedKinds = memoryOf<ReadonlySet<string>>("journal")
    let newest: { readonly head: JournalHead; readonly version: number } | undefined
    /** Appends at the head, in the transaction of the change. Returns the last entry. */
    const append = Effect.fn("Journal.append")(function* (...entries: Arr.NonEmptyReadonlyArray<JournalEntry>) {
      const at = yield* Clock.currentTimeMillis
      let last = newest?.version === versionWithin("journal") ? newest.head : yield* head
      const rows = Arr.map(entries, ({ kind, subject, body }) => {
        const row = { seq: last.seq + 1, at, treasury, kind, subject, body: bodyText(body), prev: last.hash }
        last = { seq: row.seq, hash: entryHash(row) }
        return { ...row, hash: last.hash }
      })
      yield* sql.write`INSERT INTO journal ${sql.insert(rows)}`.pipe(storeError("Journal.append"))
      newest = { head: last, version: versionWithin("journal") }
      return last
    })
    /** The hash of an entry; undefined where there is none. */
    const hashAt = (seq: number) =>
      sql`SELECT seq, hash FROM journal WHERE seq = ${seq}`.pipe(
        rowsOf(HeadRow, "Journal.hashAt"),
        Effect.map((rows) => rows[0]?.hash),
      )
    return {
      ...makeWatermarkFile(watermarkFile, yield* Settings, { head, hashAt, isShared: isPostgres(sql) }),
      append,
      head,
      hashAt,
      /** All entries about a subject, oldest first. */
      trail: (subject: string) =>
        sql`SELECT seq, kind, body, hash FROM journal WHERE subject = ${subject} ORDER BY seq`.pipe(
          rowsOf(TrailRow, "Journal.trail"),
        ),
      /** The number of the first entry about a subject; 0 where there is none. */
      first: (subject: string) =>
        rememberedFirst(
          subject,
          sql`SELECT COALESCE(MIN(seq), 0) AS seq FROM journal WHERE subject = ${subject}`.pipe(
            rowsOf(FirstRow, "Journal.first"),
            Effect.map(([row]) => row?.seq ?? 0),
          ),
        ),
      /** Kinds of entries about these subjects after a number. */
      kindsSince: (seq: number, subjects: ReadonlyArray<string>) =>
        rememberedKinds(
          JSON.stringify([seq, subjects]),
          sql`SELECT DISTINCT kind FROM journal WHERE subject IN ${sql.in(subjects)} AND seq > ${seq}`.pipe(
            rowsOf(KindRow, "Journal.kindsSince"),
            Effect.map((rows) => new Set(rows.map(({ kind }) => kind))),
          ),
        ),
      /** Entries about a subject, oldest first, at most 1,000. */
      about: (subject: string) =>
        sql`SELECT * FROM journal WHERE subject = ${subject} ORDER BY seq LIMIT 1000`.pipe(entries),
    }
  }),
}) {
  /** `watermarkFile`: path of the watermark file; undefined: none is kept. */
  static readonly layer = (treasury: string, watermarkFile?: string) =>
    Layer.effect(Journal, Journal.make(treasury, watermarkFile))
}
