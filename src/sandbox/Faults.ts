import { Schema } from "effect"

/** The operations that a fault can hit: one per path that the sandbox serves. */
export const operations = [
  "submit",
  "balanceChanges",
  "assets",
  "height",
  "statistics",
  "accounts",
  "transfers",
  "transfer",
  "withdrawals",
  "withdrawal",
  "ledgerEntries",
  "spam",
  "parameters",
  "epoch",
] as const
export type Operation = (typeof operations)[number]

/** Kinds of faults. `faults/kinds.ts` defines the effect, target and parameters of each. */
export const faultKinds = [
  "accept_drop_answer",
  "drop_before",
  "delay",
  "duplicate_delivery",
  "http_status",
  "html_body",
  "truncated_body",
  "endless_body",
  "wrong_content_length",
  "gzip_bomb",
  "stale_read",
  "rolled_back_read",
  "lagging_replica",
  "reorganised_pages",
  "cursor_cycle",
  "clock_skew",
  "chain_id_change",
  "lying_success",
  "lying_failure",
  "wrong_hash",
  "late_broadcast",
  "lost_mempool",
  "execution_failure",
] as const
export type FaultKind = (typeof faultKinds)[number]

export const faultStatuses = [403, 429, 500, 502, 503, 504] as const
/** Codes of refusal that a lie can use. */
export const faultCodes = [51, 60, 70, 80, 89] as const

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
/** Milliseconds in faults: at most a day. */
const dayMillis = 86_400_000

/** The keys of a fault in JSON. All but operation and kind may be left out where the kind does not need them. */
export const faultFields = {
  operation: Schema.Literals([...operations, "any"]),
  kind: Schema.Literals(faultKinds),
  /** How many requests it hits before it ends. Without count and duration it goes on until it is taken away. */
  count: Schema.optionalKey(between(1, 1_000_000)),
  durationMillis: Schema.optionalKey(between(1, dayMillis)),
  /** For `http_status`. */
  status: Schema.optionalKey(Schema.Literals(faultStatuses)),
  /** For `http_status`: true if the request still has its effect. Default false. */
  effect: Schema.optionalKey(Schema.Boolean),
  /** For `delay`. */
  delayMillis: Schema.optionalKey(between(1, dayMillis)),
  /** How far behind reads are, or how much later a transaction is broadcast. Default 3. */
  blocks: Schema.optionalKey(between(1, 500)),
  /** For `clock_skew`; negative: the network's clock is slow. */
  skewMillis: Schema.optionalKey(between(-dayMillis, dayMillis)),
  /** For `lying_failure` and `late_broadcast`: the refusal in the answer. Default 70. */
  code: Schema.optionalKey(Schema.Literals(faultCodes)),
  /** For `chain_id_change`. */
  chainId: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(50))),
}

export const faultRate = Schema.Finite.check(Schema.isBetween({ minimum: 0.000_001, maximum: 1 }))

/** A fault to inject; `rate` is the probability that it hits a request. */
const FaultSpecSchema = Schema.Struct({ ...faultFields, rate: faultRate })
export type FaultSpec = typeof FaultSpecSchema.Type
