import { Clock, Context, Effect, Layer, Schema } from "effect"
import { dayMillis } from "../../domain/Time.ts"
import { countedIn, type PeriodUse, type Policy, type PolicyLine } from "../../rules/policy/Policy.ts"
import { policiesSince } from "../controls/terms.ts"
import { Digits, rowsOf } from "../database/columns.ts"
import { Database, rounded } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { StoreError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"

/** One signature that was given, and what it may spend. */
export interface Spend {
  readonly intentId: string
  readonly k: number
  /** Hex of the digest that was signed. */
  readonly digest: string
  readonly signature: string
  readonly from: string
  /** Empty where it is not known: it counts for every receiver. */
  readonly to: string
  readonly assetId: string
  readonly amount: bigint
  /** Unix milliseconds: the later of the newest block's time and of our clock. It is never clamped. */
  readonly spentAt: number
  /** Hash of the policy that permitted it, and the position of the line that did among those of its kind. */
  readonly policy: string
  readonly line: number
  /** The operators whose signatures were verified; undefined if the line needed none. */
  readonly approval?: { readonly group: string; readonly need: number; readonly by: ReadonlyArray<string> } | undefined
}

const SignedRow = Schema.Struct({
  k: Schema.Int,
  digest: Schema.String,
  signature: Schema.String,
  from: Schema.String,
  to: Schema.String,
  assetId: Schema.String,
  amount: Digits,
})
/** An attempt that was signed. */
export type Signed = typeof SignedRow.Type
const UsedRow = Schema.Struct({
  intentId: Schema.String,
  amount: Digits,
  from: Schema.String,
  to: Schema.String,
  spentAt: Schema.Int,
  endedAt: Schema.NullOr(Schema.Int),
})

const useOf = (spends: ReadonlyArray<typeof UsedRow.Type>): PeriodUse => ({
  amount: spends.reduce((sum, { amount }) => sum + amount, 0n),
  count: spends.length,
  leaving: spends
    .flatMap(({ amount, spentAt, endedAt }) =>
      endedAt === null ? [] : [{ amount, at: Math.max(spentAt, endedAt) + dayMillis }],
    )
    .toSorted((a, b) => a.at - b.at),
})

/** True if the payment counts in a period that begins then: it is open, was signed since, or executed since. */
const countsSince =
  (since: number) =>
  ({ spentAt, endedAt }: typeof UsedRow.Type): boolean =>
    endedAt === null || Math.max(spentAt, endedAt) > since

interface Period {
  /** Unix milliseconds. */
  readonly since: number
  /** Intents that are left out. */
  readonly except: ReadonlySet<string>
}

/** A payment whose receiver is not known may have gone to any. */
const isTo = (receiver: string, to: ReadonlySet<string>): boolean => receiver === "" || to.has(receiver)

/**
 * The signer's own memory: what was signed once for (intent, attempt), and how much of each limit is used. A re-signed
 * attempt of one intent counts once, since at most one of them executes. A payment counts while it is open, and until
 * 24 hours after it was signed and after it executed.
 */
export class SpendLog extends Context.Service<SpendLog>()("cofferer/store/SpendLog", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const journal = yield* Journal
    const database = yield* Database
    const signed = database.memoryOf<ReadonlyArray<Signed>>("spends")
    const remembered = database.memoryOf<ReadonlyArray<typeof UsedRow.Type>>("spends")
    const policies = policiesSince(sql, database)
    /**
     * Sum that counts for the asset between these keys in a period that begins then (Unix milliseconds), without these
     * intents.
     */
    const used = ({ from, to, assetId, since, except }: Pick<PolicyLine, "from" | "to" | "assetId"> & Period) =>
      remembered(
        `${assetId} ${rounded(since)}`,
        sql`SELECT intent_id AS "intentId", amount, from_key AS "from", to_key AS "to", spent_at AS "spentAt",
          ended_at AS "endedAt" FROM spends AS s WHERE asset_id = ${assetId}
          AND (ended_at IS NULL OR ended_at > ${rounded(since)} OR spent_at > ${rounded(since)})
          AND k = (SELECT max(k) FROM spends WHERE intent_id = s.intent_id)`.pipe(rowsOf(UsedRow, "SpendLog.used")),
      ).pipe(
        Effect.map((spends) =>
          useOf(
            spends
              .filter(countsSince(since))
              .filter((spend) => from.has(spend.from) && isTo(spend.to, to) && !except.has(spend.intentId)),
          ),
        ),
      )
    return {
      /** The signed attempts of an intent, oldest first. */
      attempts: Effect.fn("SpendLog.attempts")((intentId: string) =>
        signed(
          intentId,
          sql`SELECT k, digest, signature, from_key AS "from", to_key AS "to", asset_id AS "assetId", amount
            FROM spends WHERE intent_id = ${intentId} ORDER BY k`.pipe(rowsOf(SignedRow, "SpendLog.attempts")),
        ),
      ),
      record: Effect.fnUntraced(function* (spend: Spend) {
        yield* sql.write`INSERT INTO spends ${sql.insert({
          intent_id: spend.intentId,
          k: spend.k,
          digest: spend.digest,
          signature: spend.signature,
          from_key: spend.from,
          to_key: spend.to,
          asset_id: spend.assetId,
          amount: spend.amount.toString(),
          spent_at: spend.spentAt,
          signed_at: yield* Clock.currentTimeMillis,
        })}`
        const { k, digest, signature, amount, policy, line, approval } = spend
        const body = { k, digest, signature, amount, policy, line, approval }
        yield* journal.append({ kind: "signature", subject: spend.intentId, body })
      }, sql.change("SpendLog.record")),
      /**
       * Notes that a payment came to its end: executed at that time (Unix milliseconds), or never. What was signed
       * counts for 24 hours in either case. Changes nothing where nothing was signed.
       */
      close: (intentId: string, executedAt: number | undefined) =>
        sql.write`UPDATE spends SET ended_at = coalesce(${executedAt ?? null}, spent_at)
          WHERE intent_id = ${intentId} AND ended_at IS NULL`.pipe(Effect.asVoid, sql.change("SpendLog.close")),
      /**
       * Judges and records in one transaction: of two at once the second sees what the first recorded. A savepoint of
       * its own: a refusal takes back what it wrote, and its transaction goes on.
       */
      atomic: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        sql
          .withTransaction(effect)
          .pipe(Effect.catchTag("SqlError", (cause) => new StoreError({ operation: "SpendLog.atomic", cause }))),
      used,
      /** The same for what counts in a line of the policy, by the policies of the period as well. */
      usedIn: Effect.fnUntraced(function* (policy: Policy, line: PolicyLine, period: Period) {
        const before = (yield* policies(period.since)).filter(({ digest }) => digest !== policy.digest)
        return yield* used({ ...countedIn(policy, line, before), ...period })
      }),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(SpendLog, SpendLog.make)
}
