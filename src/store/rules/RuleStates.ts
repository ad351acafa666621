import { Clock, Context, Effect, Layer, Schema } from "effect"
import { holdReasons } from "../../domain/Decision.ts"
import { isRemoved, type Memories, memoryKey, type RuleMemory } from "../../rules/RuleMemory.ts"
import { Big, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Settings } from "../database/Settings.ts"
import { Sql } from "../database/Sql.ts"
import { storeError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"
import { makeRequests } from "./requests.ts"
import { makeTrials } from "./trials.ts"

const MemoryRow = Schema.Struct({
  rule: Schema.String,
  subject: Schema.String,
  episode: Schema.Int,
  firingSince: Schema.NullOr(Schema.Int),
  observations: Schema.Int,
  lastObservation: Big,
  state: Schema.Literals(["inactive", "pending", "acting", "holding"]),
  reason: Schema.NullOr(Schema.Literals(holdReasons)),
  detail: Schema.String,
  reasonSince: Schema.Int,
  decidedAt: Schema.Int,
  clearingSince: Schema.NullOr(Schema.Int),
  alertedAt: Schema.NullOr(Schema.Int),
})

const OldestRow = Schema.Struct({ seq: Schema.Int, at: Schema.Int })
/** Decisions deleted in one transaction: more would block all other work for too long. */
const prunedAtOnce = 5_000

/**
 * State of the rules between two rounds: timers, episode counters and the present decision of each rule and subject,
 * with their funding requests and their simulated payments.
 */
export class RuleStates extends Context.Service<RuleStates>()("cofferer/store/RuleStates", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    let cached: Map<string, RuleMemory> | undefined
    let generation = 0
    /** Grows with each change of `cached`: rows that were read before one are not those of now. */
    let changes = 0
    /** Stores the memory; a decision that changed its kind or reason is also kept as history. */
    const save = Effect.fnUntraced(function* (memory: RuleMemory, before: RuleMemory | undefined) {
      const row = {
        rule: memory.rule,
        subject: memory.subject,
        episode: memory.episode,
        firing_since: memory.firingSince ?? null,
        observations: memory.observations,
        last_observation: memory.lastObservation,
        state: memory.state,
        reason: memory.reason ?? null,
        detail: memory.detail,
        reason_since: memory.reasonSince,
        decided_at: memory.decidedAt,
        clearing_since: memory.clearingSince ?? null,
        told_at: memory.alertedAt ?? null,
      }
      cached?.set(memoryKey(memory.rule, memory.subject), memory)
      changes++
      yield* sql.write`INSERT INTO rule_states ${sql.insert(row)} ON CONFLICT (rule, subject) DO UPDATE SET
          episode = excluded.episode, firing_since = excluded.firing_since, observations = excluded.observations,
          last_observation = excluded.last_observation, state = excluded.state, reason = excluded.reason,
          detail = excluded.detail, reason_since = excluded.reason_since, decided_at = excluded.decided_at,
          clearing_since = excluded.clearing_since, told_at = excluded.told_at`
      if (before?.state === memory.state && before.reason === memory.reason) return
      const at = yield* Clock.currentTimeMillis
      const reason = isRemoved(memory) ? "in_band" : memory.reason
      yield* sql.write`INSERT INTO decisions ${sql.insert({
        at,
        rule: memory.rule,
        subject: memory.subject,
        decision: reason === undefined ? "act" : "hold",
        reason: reason ?? null,
        detail: memory.detail,
      })}`
    }, sql.change("RuleStates.save"))
    const stored = sql`SELECT rule, subject, episode, firing_since AS "firingSince", observations,
      last_observation AS "lastObservation", state, reason, detail, reason_since AS "reasonSince",
      decided_at AS "decidedAt", clearing_since AS "clearingSince", told_at AS "alertedAt" FROM rule_states`.pipe(
      rowsOf(MemoryRow, "RuleStates.all"),
      Effect.map((rows) =>
        rows.map(({ clearingSince, alertedAt, ...row }) => ({
          ...row,
          firingSince: row.firingSince ?? undefined,
          reason: row.reason ?? undefined,
          ...(clearingSince === null ? {} : { clearingSince }),
          ...(alertedAt === null ? {} : { alertedAt }),
        })),
      ),
    )
    /** By `memoryKey`, from a cache; `generation` counts how often the cache was filled. */
    const byKey = Effect.gen(function* () {
      while (cached === undefined) {
        const before = changes
        const rows = yield* stored
        if (changes !== before) continue
        cached = new Map(rows.map((row) => [memoryKey(row.rule, row.subject), row]))
        changes++
        generation++
      }
      return { memories: cached as Memories, generation }
    })
    /** Deletes the history before a time (Unix milliseconds). The decisions in force now stay in the memories. */
    const prune = Effect.fn("RuleStates.prune")(function* (before: number) {
      for (;;) {
        const oldest = yield* sql`SELECT seq, at FROM decisions ORDER BY seq LIMIT ${prunedAtOnce}`.pipe(
          rowsOf(OldestRow, "RuleStates.prune"),
        )
        const last = oldest.findLast(({ at }) => at < before)
        if (last === undefined) return
        yield* sql.withTransaction(sql.write`DELETE FROM decisions WHERE seq <= ${last.seq}`)
        if (last !== oldest.at(-1)) return
        yield* Effect.yieldNow
      }
    }, storeError("RuleStates.prune"))
    return {
      ...makeRequests(sql, yield* Journal, yield* Database),
      ...makeTrials(yield* Settings),
      prune,
      save,
      byKey,
      all: Effect.map(byKey, ({ memories }) => [...memories.values()]),
      /** Empties the cache: for when a transaction with changes in it was not committed. */
      forget: Effect.sync(() => {
        cached = undefined
      }),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(RuleStates, RuleStates.make)
}

/** A decision of a subject as it began: later changes of its detail are not kept. */
const DecisionRow = Schema.Struct({
  /** Unix milliseconds since which it was in force. */
  at: Schema.Int,
  /** null where it acted. */
  reason: Schema.NullOr(Schema.Literals(holdReasons)),
  detail: Schema.String,
})
export type StoredDecision = typeof DecisionRow.Type

const SubjectRow = Schema.Struct({ subject: Schema.String })

/** The decision of the subject in force at a time (Unix milliseconds), the one before and the one after; null: none. */
export const decisionsAround = Effect.fn("Decisions.around")(function* (
  { rule, subject }: { readonly rule: string; readonly subject: string },
  at: number,
) {
  const sql = yield* Sql
  const past = yield* sql`SELECT at, reason, detail FROM decisions
    WHERE rule = ${rule} AND subject = ${subject} AND at <= ${at} ORDER BY at DESC, seq DESC LIMIT 2`.pipe(
    rowsOf(DecisionRow, "Decisions.around"),
  )
  const later = yield* sql`SELECT at, reason, detail FROM decisions
    WHERE rule = ${rule} AND subject = ${subject} AND at > ${at} ORDER BY at, seq LIMIT 1`.pipe(
    rowsOf(DecisionRow, "Decisions.around"),
  )
  return { inForce: past[0] ?? null, before: past[1] ?? null, after: later[0] ?? null }
})

/** Subjects of the rule that ever had a decision, also those that the file no longer has. */
export const subjectsDecided = Effect.fn("Decisions.subjects")(function* (rule: string) {
  const sql = yield* Sql
  const rows = yield* sql`SELECT DISTINCT subject FROM decisions WHERE rule = ${rule} ORDER BY subject`.pipe(
    rowsOf(SubjectRow, "Decisions.subjects"),
  )
  return rows.map(({ subject }) => subject)
})
