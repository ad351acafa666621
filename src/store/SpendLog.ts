import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { WindowUse } from "../rules/Policy.ts"
import { Digits, rowsOf } from "./columns.ts"
import { Database } from "./Database.ts"
import { Journal } from "./Journal.ts"
import { rounded } from "./memory.ts"
import { type StoreError, storeError } from "./StoreError.ts"

/** One signature that was given, and what it may spend. */
export interface Spend {
  readonly intentId: string
  readonly k: number
  /** Hex of the digest that was signed. */
  readonly digest: string
  readonly signature: string
  readonly from: string
  readonly to: string
  readonly assetId: string
  readonly amount: bigint
  /** Unix milliseconds in block time: limits run by the ledger's clock, not ours. */
  readonly blockTime: number
  /** Hash of the policy that permitted it, and the position of the line that did among those of its kind. */
  readonly policy: string
  readonly line: number
  /** The operators whose signatures were verified; undefined where the line asked for none. */
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
  blockTime: Schema.Int,
})

/**
 * The signer's own memory: what was signed once for (intent, attempt), and how much of each window is used. A re-signed
 * attempt of one intent counts once, since at most one of them executes.
 */
export class SpendLog extends Context.Service<
  SpendLog,
  {
    /** The signed attempts of an intent, oldest first. */
    readonly attempts: (intentId: string) => Effect.Effect<ReadonlyArray<Signed>, StoreError>
    readonly record: (spend: Spend) => Effect.Effect<void, StoreError>
    /**
     * Signed for the asset between these keys since the given block time, without these intents. Cancellations are of
     * the asset ""; whatever they end counts where `to` is left out.
     */
    readonly used: (window: {
      readonly from: ReadonlySet<string>
      readonly to?: ReadonlySet<string>
      readonly assetId: string
      readonly since: number
      readonly except: ReadonlySet<string>
    }) => Effect.Effect<WindowUse, StoreError>
  }
>()("cofferer/store/SpendLog") {
  static readonly layerNoDeps = Layer.effect(
    SpendLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* Journal
      const remembered = (yield* Database).memoryOf<ReadonlyArray<typeof UsedRow.Type>>("spends")
      return SpendLog.of({
        attempts: Effect.fn("SpendLog.attempts")((intentId: string) =>
          sql`SELECT k, digest, signature, from_key AS "from", to_key AS "to", asset_id AS "assetId", amount FROM spends
            WHERE intent_id = ${intentId} ORDER BY k`.pipe(rowsOf(SignedRow, "SpendLog.attempts")),
        ),
        record: Effect.fn("SpendLog.record")(
          function* (spend: Spend) {
            yield* sql`INSERT INTO spends ${sql.insert({
              intent_id: spend.intentId,
              k: spend.k,
              digest: spend.digest,
              signature: spend.signature,
              from_key: spend.from,
              to_key: spend.to,
              asset_id: spend.assetId,
              amount: spend.amount.toString(),
              block_time: spend.blockTime,
              signed_at: yield* Clock.currentTimeMillis,
            })}`
            yield* journal.append({
              kind: "signature",
              subject: spend.intentId,
              body: {
                k: spend.k,
                digest: spend.digest,
                signature: spend.signature,
                amount: spend.amount,
                policy: spend.policy,
                line: spend.line,
                approval: spend.approval,
              },
            })
          },
          (effect) => effect.pipe(sql.withTransaction, storeError("SpendLog.record")),
        ),
        used: Effect.fn("SpendLog.used")(({ from, to, assetId, since, except }) =>
          remembered(
            `${assetId} ${rounded(since)}`,
            sql`SELECT intent_id AS "intentId", amount, from_key AS "from", to_key AS "to", block_time AS "blockTime"
              FROM spends AS s WHERE asset_id = ${assetId} AND block_time > ${rounded(since)}
              AND k = (SELECT max(k) FROM spends WHERE intent_id = s.intent_id)`.pipe(rowsOf(UsedRow, "SpendLog.used")),
          ).pipe(
            Effect.map((spends) =>
              spends
                .filter(({ blockTime }) => blockTime > since)
                .filter((spend) => from.has(spend.from) && to?.has(spend.to) !== false && !except.has(spend.intentId))
                .reduce((sum, { amount }) => ({ amount: sum.amount + amount, count: sum.count + 1 }), {
                  amount: 0n,
                  count: 0,
                }),
            ),
          ),
        ),
      })
    }),
  )
}
