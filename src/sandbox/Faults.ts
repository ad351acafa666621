import { sha3_256 } from "@noble/hashes/sha3.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Schema } from "effect"
import type { Moment } from "./faults/asOf.ts"

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

export interface Fault extends FaultSpec {
  readonly id: number
  /** Unix milliseconds after which it is over. */
  readonly untilMillis?: number
  /** The newest block when it began. */
  readonly armedHeight: number
  hits: number
  draws: number
  /** The block at whose end it shows the network, where that does not change. */
  seen?: Moment
}

export interface FaultRegistry {
  nextId: number
  armed: Array<Fault>
  /** Bytes that the network kept back and will broadcast by itself. */
  late: Array<{ readonly height: number; readonly hex: string }>
  /** Hashes of accepted transactions that will fail in their block. */
  readonly doomed: Set<string>
  /** The next block finds an empty mempool. */
  mempoolLost: boolean
  /** The ends of the last blocks, newest last. */
  readonly past: Array<Moment>
}

export const emptyFaults = (): FaultRegistry => ({
  nextId: 1,
  armed: [],
  late: [],
  doomed: new Set(),
  mempoolLost: false,
  past: [],
})

export const arm = (
  registry: FaultRegistry,
  spec: FaultSpec,
  now: { readonly millis: number; readonly height: number },
): Fault => {
  const until = spec.durationMillis === undefined ? {} : { untilMillis: now.millis + spec.durationMillis }
  const fault: Fault = { ...spec, ...until, id: registry.nextId++, armedHeight: now.height, hits: 0, draws: 0 }
  registry.armed.push(fault)
  return fault
}

/** Takes one fault away, or all of them. Returns how many went. */
export const disarm = (registry: FaultRegistry, id: number | undefined): number => {
  const before = registry.armed.length
  registry.armed = id === undefined ? [] : registry.armed.filter((fault) => fault.id !== id)
  return before - registry.armed.length
}

/** Takes away what is over by now. */
export const expire = (registry: FaultRegistry, nowMillis: number): void => {
  registry.armed = registry.armed.filter(({ untilMillis }) => untilMillis === undefined || untilMillis > nowMillis)
}

/** The armed faults that hit a request, oldest first; the draws are seeded, so a run repeats. */
export const hitsOf = (
  registry: FaultRegistry,
  at: { readonly isMeant: (fault: FaultSpec) => boolean; readonly seed: string; readonly nowMillis: number },
): ReadonlyArray<Fault> => {
  expire(registry, at.nowMillis)
  return registry.armed.filter((fault) => at.isMeant(fault) && draw(at.seed, fault) < fault.rate)
}

/** Counts a hit and retires the fault after its last one. */
export const spend = (registry: FaultRegistry, fault: Fault): void => {
  fault.hits++
  if (fault.count !== undefined && fault.hits >= fault.count) disarm(registry, fault.id)
}

const draw = (seed: string, fault: Fault): number => {
  if (fault.rate >= 1) return 0
  const hash = sha3_256(utf8ToBytes(`fault\0${seed}\0${fault.id}\0${fault.draws++}`))
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0) / 2 ** 32
}
