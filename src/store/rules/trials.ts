import { Clock, Effect, Schema } from "effect"
import type { Payment } from "../../domain/Decision.ts"
import { accountKey, type TrialMovement } from "../../rules/Snapshot.ts"
import { jsonSetting, type Settings } from "../database/Settings.ts"

const { decode, encode } = jsonSetting(
  Schema.Record(
    Schema.String,
    Schema.Struct({
      since: Schema.Int,
      payments: Schema.Int,
      moved: Schema.Record(Schema.String, Schema.BigIntFromString),
    }),
  ),
)
const key = "rehearsals"

const newTrial = (rule: string, now: number): TrialMovement => ({
  rule,
  since: now,
  payments: 0,
  moved: new Map(),
})

/** Sums of the payments that rules only simulate, in one row for all rules: months of them cost no more. */
export const makeTrials = (settings: Settings["Service"]) => {
  const read = Effect.map(settings.get(key), (text): ReadonlyMap<string, TrialMovement> => {
    const kept = Object.entries(decode(text) ?? {})
    return new Map(
      kept.map(([rule, { moved, ...rest }]) => [rule, { rule, ...rest, moved: new Map(Object.entries(moved)) }]),
    )
  })
  const write = (all: Iterable<TrialMovement>) => {
    const kept = [...all].map(({ rule, moved, ...rest }) => [rule, { ...rest, moved: Object.fromEntries(moved) }])
    return settings.set(key, encode(Object.fromEntries(kept)))
  }
  let hadRules = true
  return {
    /** The sums of these rules. Those of a new rule begin now; those of all other rules are removed. */
    trials: Effect.fnUntraced(function* (rules: ReadonlyArray<string>) {
      // The engine calls this each second: where no rule simulates it reads nothing.
      if (rules.length === 0 && !hadRules) return []
      hadRules = rules.length > 0
      const kept = yield* read
      const now = yield* Clock.currentTimeMillis
      const all = rules.map((rule) => kept.get(rule) ?? newTrial(rule, now))
      if (kept.size !== rules.length || rules.some((rule) => !kept.has(rule))) yield* write(all)
      return all
    }),
    /** The same sums as `trials` returns, without storing anything. */
    peekTrials: Effect.fn("RuleStates.peekTrials")(function* (rules: ReadonlyArray<string>) {
      if (rules.length === 0) return []
      const kept = yield* read
      const now = yield* Clock.currentTimeMillis
      return rules.map((rule) => kept.get(rule) ?? newTrial(rule, now))
    }),
    /** Adds a payment that would have been made. Call it inside the transaction of the decision. */
    addTrial: Effect.fn("RuleStates.addTrial")(function* (
      rule: string,
      { fromKey, toKey, assetId, amount }: Pick<Payment, "fromKey" | "toKey" | "assetId"> & { readonly amount: bigint },
      fee: bigint,
    ) {
      const kept = new Map(yield* read)
      const now = yield* Clock.currentTimeMillis
      const before = kept.get(rule) ?? newTrial(rule, now)
      const moved = new Map(before.moved)
      const [payer, payee] = [accountKey(fromKey, assetId), accountKey(toKey, assetId)]
      moved.set(payer, (moved.get(payer) ?? 0n) - amount - fee)
      moved.set(payee, (moved.get(payee) ?? 0n) + amount)
      yield* write(kept.set(rule, { ...before, payments: before.payments + 1, moved }).values())
    }),
  }
}
