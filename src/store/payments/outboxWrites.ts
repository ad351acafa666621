import { Clock, Effect } from "effect"
import type { Statement } from "effect/sql"
import {
  type Attempt,
  type AttemptState,
  attemptMoves,
  type EvidenceKind,
  isFinalAttempt,
  type LiveAttemptState,
  liveAttemptStates,
} from "../../domain/Attempt.ts"
import { type Intent, type IntentState, intentMoves, isFinalIntent, type OpenIntentState } from "../../domain/Intent.ts"
import { millisOf } from "../../domain/Time.ts"
import { latestTime } from "../database/columns.ts"
import type { Settings } from "../database/Settings.ts"
import type { Sql } from "../database/Sql.ts"
import { StoreError } from "../database/StoreError.ts"
import type { Journal, JournalEntry } from "../journal/Journal.ts"
import {
  attemptInsert,
  intentInsert,
  type SeenEvidence,
  type SendEnd,
  type SendStart,
  type Settlement,
  type SolvedWork,
} from "./outboxRows.ts"
import type { SpendLog } from "./SpendLog.ts"

export const makeIntents = (sql: Sql, journal: Journal["Service"], spends: SpendLog["Service"]) => ({
  /**
   * Stores a decided intent, with more of its journal entries. The same id a second time keeps the first and returns
   * false.
   */
  record: Effect.fnUntraced(function* (intent: Intent, ...why: ReadonlyArray<JournalEntry>) {
    const done =
      yield* sql.write`INSERT INTO intents ${sql.insert(intentInsert(intent))} ON CONFLICT DO NOTHING RETURNING id`
    if (done.length === 0) return false
    const { payment } = intent
    const entry: JournalEntry = {
      kind: "intent",
      subject: intent.id,
      body: {
        state: intent.state,
        ...commandBody(intent),
        rule: intent.rule,
        about: intent.subject,
        episode: intent.episode,
        submittedBy: intent.submittedBy,
        from: payment.fromKey,
        to: payment.toKey,
        asset: payment.assetId,
        amount: payment.amount,
        fromName: payment.from,
        toName: payment.to,
        symbol: payment.asset,
        decimals: intent.decimals,
        feeMax: intent.feeMax,
        detail: intent.detail,
      },
    }
    yield* journal.append(entry, ...why)
    return true
  }, sql.change("Outbox.record")),
  /** Moves an intent along its diagram; the same state again only changes the sentence. */
  move: (intent: Intent, to: IntentState, settlement: Settlement) =>
    moveIntent({ sql, journal, spends }, intent, to, settlement).pipe(sql.change("Outbox.move")),
})

/** Omits the command for transfers. */
const commandBody = ({ command }: Intent) => (command === "transfer" ? {} : { command })

/** Services that write a change of a payment. */
interface Writers {
  readonly sql: Sql
  readonly journal: Journal["Service"]
  readonly spends: SpendLog["Service"]
}

const moveIntent = Effect.fnUntraced(function* (
  { sql, journal, spends }: Writers,
  intent: Intent,
  to: IntentState,
  { detail, fee, settledAt, by, askedAt }: Settlement,
  /** Entries of the same step that come before its own. */
  before: ReadonlyArray<JournalEntry> = [],
) {
  const now = yield* Clock.currentTimeMillis
  const executed = isFinalIntent(to) ? yield* executedAt(sql, to, settledAt) : undefined
  // A clock that is behind makes no payment end before its block.
  const at = executed === undefined ? now : Math.max(now, executed)
  const from = (Object.keys(intentMoves) as Array<OpenIntentState>).filter(
    (s) => s === to || intentMoves[s].includes(to),
  )
  const done = yield* sql.write`UPDATE intents SET state = ${to}, detail = ${detail}, fee = ${fee?.toString() ?? null},
    settled_at = ${settledAt ?? null}, updated_at = ${at},
    asked_at = coalesce(${askedAt ?? null}, asked_at)
    WHERE id = ${intent.id} AND state IN ${sql.in(from)} RETURNING id`
  if (done.length === 0) {
    return yield* new StoreError({
      operation: "move",
      cause: new Error(`${intent.id}: no way to ${to} from its state`),
    })
  }
  const body = { state: to, detail, fee, settledAt, ...by }
  const [first, ...others] =
    intent.state === to ? before : [...before, { kind: "intent", subject: intent.id, body } as const]
  if (first !== undefined) yield* journal.append(first, ...others)
  if (isFinalIntent(to)) yield* spends.close(intent.id, executed)
  return { ...intent, state: to, detail, fee, settledAt, updatedAt: at, ...(askedAt === undefined ? {} : { askedAt }) }
})

/**
 * When it executed, for the signer's windows (Unix milliseconds); undefined: it never did. No later than anything that
 * can have been seen: a time in the future that a gateway invents would use up a limit for ever.
 */
const executedAt = Effect.fnUntraced(function* (sql: Sql, state: IntentState, settledAt: bigint | undefined) {
  if (state !== "confirmed" && state !== "failed") return undefined
  const latest = yield* latestTime(sql)
  return settledAt === undefined ? latest : Math.min(latest, millisOf(settledAt) + 1)
})

export const makeAttempts = (writers: Writers & Pick<Settings["Service"], "forgetFraming">) => {
  const { sql, journal, forgetFraming } = writers
  // Spelled as in the index of live attempts; otherwise the database does not use the index.
  const liveStates = sql.literal(liveAttemptStates.map((state) => `'${state}'`).join(", "))
  return {
    /** Makes signed bytes durable and puts the intent in flight: after this, and never before, they may be sent. */
    persist: (intent: Intent, attempt: Attempt) => persist(writers, intent, attempt).pipe(sql.change("Outbox.persist")),
    /** Stores a solution. An attempt that is over keeps what it has. */
    saveWork: (attempt: Attempt, work: SolvedWork) =>
      saveWork(sql, journal, attempt, work).pipe(sql.change("Outbox.saveWork")),
    /** Drops a solution that was refused; the signature stays, and an attempt that is over keeps what it has. */
    dropWork: (attempt: Attempt, nextAt: number) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (at) => sql.write`UPDATE attempts SET work_index = work_index + 1, pow_tid = NULL, pow_nonce = NULL,
          hash_bare = NULL, hash_prefixed = NULL, next_at = ${nextAt}, updated_at = ${at}
          WHERE intent_id = ${attempt.intentId} AND k = ${attempt.k} AND state IN ${sql.in(liveAttemptStates)}`,
      ).pipe(Effect.asVoid, sql.change("Outbox.dropWork")),
    /** Notes that a POST is about to begin. Returns its number. */
    beginSend: (start: SendStart) => beginSend(sql, journal, start).pipe(sql.change("Outbox.beginSend")),
    endSend: (end: SendEnd) => endSend(sql, journal, end).pipe(sql.change("Outbox.endSend")),
    addEvidence: (attempt: Attempt, kind: EvidenceKind, seen: SeenEvidence) =>
      insertEvidence(sql, attempt, kind, seen).pipe(
        Effect.flatMap((entry) => journal.append(entry)),
        Effect.asVoid,
        sql.change("Outbox.addEvidence"),
      ),
    /** A window that the network was seen to have, in blocks: it bounds every attempt that may still execute. */
    noteWindow: (blocks: number) =>
      sql.write`UPDATE attempts SET
        window_min = CASE WHEN coalesce(window_min, window_blocks) > ${blocks} THEN ${blocks} ELSE window_min END,
        window_max = CASE WHEN coalesce(window_max, window_blocks) < ${blocks} THEN ${blocks} ELSE window_max END
        WHERE state IN (${liveStates}) AND (coalesce(window_min, window_blocks) > ${blocks}
        OR coalesce(window_max, window_blocks) < ${blocks})`.pipe(Effect.asVoid, sql.change("Outbox.noteWindow")),
    schedule: (attempt: Attempt, nextAt: number, nextHeight: bigint) =>
      sql.write`UPDATE attempts SET next_at = ${nextAt}, next_height = ${nextHeight}
        WHERE intent_id = ${attempt.intentId} AND k = ${attempt.k}`.pipe(Effect.asVoid, sql.change("Outbox.schedule")),
    /**
     * Ends an attempt and moves its intent in one transaction. One that never executed forgets the wire form of its
     * chain: it may have been refused for a form that is remembered wrongly.
     */
    settle: (
      intent: Intent,
      attempt: Attempt,
      to: "confirmed" | "failed" | "expired",
      intentTo: IntentState,
      settlement: Settlement,
    ) =>
      moveAttempt(sql, attempt, to, { detail: settlement.detail }).pipe(
        Effect.flatMap((moved) => moveIntent(writers, intent, intentTo, settlement, moved)),
        Effect.andThen(to === "expired" ? forgetFraming(attempt.chainId) : Effect.void),
        Effect.asVoid,
        sql.change("Outbox.settle"),
      ),
  }
}

/** Returns the journal's entry of the move; none where nothing moved. */
const moveAttempt = Effect.fnUntraced(function* (
  sql: Sql,
  attempt: Attempt,
  to: AttemptState,
  body: Readonly<Record<string, unknown>>,
  columns: Statement.Fragment = sql.literal(""),
) {
  const at = yield* Clock.currentTimeMillis
  const from = (Object.keys(attemptMoves) as Array<LiveAttemptState>).filter(
    (s) => s === to || attemptMoves[s].includes(to),
  )
  const done = yield* sql.write`UPDATE attempts SET state = ${to}, updated_at = ${at}${columns}
    WHERE intent_id = ${attempt.intentId} AND k = ${attempt.k} AND state IN ${sql.in(from)} RETURNING k`
  if (done.length === 0) {
    const cause = new Error(`${attempt.intentId}/${attempt.k}: no way to ${to} from its state`)
    return yield* new StoreError({ operation: "moveAttempt", cause })
  }
  const entry: JournalEntry = { kind: "attempt", subject: attempt.intentId, body: { k: attempt.k, state: to, ...body } }
  // A send that begins after one that was cut off is another send.
  return attempt.state !== to || isFinalAttempt(to) || to === "sending" ? [entry] : []
})

const persist = Effect.fnUntraced(function* (writers: Writers, intent: Intent, attempt: Attempt) {
  const { sql } = writers
  if (isFinalIntent(intent.state)) {
    return yield* new StoreError({ operation: "persist", cause: new Error(`${intent.id} is ${intent.state}`) })
  }
  yield* sql.write`INSERT INTO attempts ${sql.insert(attemptInsert(attempt))}`
  const signed: JournalEntry = {
    kind: "attempt",
    subject: attempt.intentId,
    body: {
      k: attempt.k,
      state: attempt.state,
      chainId: attempt.chainId,
      party: attempt.party,
      anchorHeight: attempt.anchorHeight,
      anchorHash: attempt.anchorHash,
      difficulty: attempt.difficulty,
      windowBlocks: attempt.windowBlocks,
      nonce: attempt.nonce,
      transferId: attempt.transferId,
      inputData: Buffer.from(attempt.inputData).toString("hex"),
      signature: attempt.signature,
    },
  }
  yield* moveIntent(writers, intent, "in_flight", { detail: `signed on block ${attempt.anchorHeight}` }, [signed])
})

const saveWork = Effect.fnUntraced(function* (
  sql: Sql,
  journal: Journal["Service"],
  attempt: Attempt,
  work: SolvedWork,
) {
  const at = yield* Clock.currentTimeMillis
  // Settled while the work was solved: an attempt that is over needs none. What may have been sent stays as it is.
  const done = yield* sql.write`UPDATE attempts SET pow_tid = ${work.tid}, pow_nonce = ${work.nonce.toString()},
    hash_bare = ${work.hashBare}, hash_prefixed = ${work.hashPrefixed}, updated_at = ${at}
    WHERE intent_id = ${attempt.intentId} AND k = ${attempt.k} AND state IN ${sql.in(liveAttemptStates)}
    AND work_index = ${attempt.workIndex} AND pow_tid IS NULL RETURNING k`
  if (done.length === 0) return
  yield* journal.append({ kind: "work", subject: attempt.intentId, body: { k: attempt.k, ...work } })
})

const beginSend = Effect.fnUntraced(function* (sql: Sql, journal: Journal["Service"], start: SendStart) {
  const { attempt, gateway, framing, first, txHash } = start
  const at = yield* Clock.currentTimeMillis
  const begun = { n: attempt.sends + 1, gateway, framing, txHash }
  const [moved] = yield* moveAttempt(sql, attempt, "sending", begun, sql`, sends = sends + 1, framing = ${framing}`)
  if (moved !== undefined) yield* journal.append(moved)
  yield* sql.write`INSERT INTO watches ${sql.insert({ intent_id: attempt.intentId, k: attempt.k })} ON CONFLICT DO NOTHING`
  const rows = yield* sql.write`INSERT INTO sends ${sql.insert({
    intent_id: attempt.intentId,
    k: attempt.k,
    n: attempt.sends + 1,
    gateway,
    framing,
    first: first ? 1 : 0,
    tx_hash: txHash,
    started_at: at,
  })} RETURNING seq`
  return Number(rows[0]!["seq"])
})

const endSend = Effect.fnUntraced(function* (sql: Sql, journal: Journal["Service"], end: SendEnd) {
  const { attempt, outcome, code, data, log } = end
  const at = yield* Clock.currentTimeMillis
  yield* sql.write`UPDATE sends SET ended_at = ${at}, outcome = ${outcome}, code = ${code ?? null}, data = ${data}, log = ${log}
    WHERE seq = ${end.seq}`
  // Settled while the answer was awaited: the answer is kept, and changes nothing any more.
  const moved = yield* sql.write`UPDATE attempts SET state = ${end.state}, next_at = ${end.nextAt},
    next_height = ${end.nextHeight}, updated_at = ${at}
    WHERE intent_id = ${attempt.intentId} AND k = ${attempt.k} AND state = 'sending' RETURNING k`
  const { intentId: subject, k } = attempt
  const sent = { k, n: attempt.sends, gateway: end.gateway, outcome, code, data }
  const seen = { gateway: end.gateway, height: undefined, detail: data }
  yield* journal.append(
    { kind: "send", subject, body: sent },
    yield* insertEvidence(sql, attempt, end.evidence, seen),
    ...moved.map(() => ({ kind: "attempt", subject, body: { k, state: end.state, outcome } }) as const),
  )
})

/** Returns its journal entry. */
const insertEvidence = Effect.fnUntraced(function* (
  sql: Sql,
  attempt: Attempt,
  kind: EvidenceKind,
  seen: SeenEvidence,
) {
  const at = yield* Clock.currentTimeMillis
  yield* sql.write`INSERT INTO evidence ${sql.insert({
    intent_id: attempt.intentId,
    k: attempt.k,
    kind,
    at,
    height: seen.height ?? null,
    gateway: seen.gateway,
    detail: seen.detail,
  })}`
  const entry: JournalEntry = { kind: "evidence", subject: attempt.intentId, body: { k: attempt.k, kind, ...seen } }
  return entry
})
