import { Schema } from "effect"
import { dayMillis } from "../domain/Time.ts"

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

export const faultStatuses = [403, 429, 500, 502, 503, 504] as const
/** Codes of refusal that a lie can use. */
export const faultCodes = [51, 60, 70, 80, 89] as const

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const detailFields = {
  operation: Schema.Literals([...operations, "any"]),
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

const FaultDetails = Schema.Struct(detailFields)
type FaultDetails = typeof FaultDetails.Type

/**
 * Where a fault strikes. before: instead of the request's effect, or ahead of it. world: the request meets another
 * network than the real one. body: the true answer is changed. wire: the true answer goes out broken, or not at all.
 */
export type Stage = "before" | "world" | "body" | "wire"

type Hits = "all" | "reads" | "lists" | "submit" | "chain"

/** Operations that a kind can hit, by the word for them. */
export const hitsOfKinds: Readonly<Record<Hits, ReadonlyArray<Operation>>> = {
  all: operations,
  reads: operations.filter((operation) => operation !== "submit"),
  lists: ["balanceChanges", "assets", "accounts", "transfers", "withdrawals", "ledgerEntries", "parameters"],
  submit: ["submit"],
  /** They report the chain's name, or judge by it. */
  chain: ["submit", "height", "statistics", "spam"],
}

interface Kind {
  readonly stage: Stage
  /** Which operations it can hit; "any" means all of these. */
  readonly hits: Hits
  /** A key without which it means nothing. */
  readonly needs?: "status" | "delayMillis" | "skewMillis" | "chainId"
  /** Keys that this kind takes, beside those of all faults. */
  readonly may?: ReadonlyArray<"effect" | "blocks" | "code">
  /** Ends the sentence "The next answer ...". */
  readonly says: (details: FaultDetails) => string
}

/** Where a fault names no number of blocks. */
export const blocksOf = ({ blocks }: FaultDetails): number => blocks ?? 3
export const faultCodeOf = ({ code }: FaultDetails): number => code ?? 70

const plain = (stage: Stage, hits: Hits, text: string): Kind => ({ stage, hits, says: () => text })

/** All kinds of faults, each with its effect. */
const kindTable = {
  accept_drop_answer: {
    stage: "wire",
    hits: "all",
    says: ({ operation }) =>
      operation === "submit" ? "will be lost after the network took the payment" : "will be lost",
  },
  drop_before: plain("before", "all", "will not come, and the request has no effect"),
  delay: { stage: "before", hits: "all", needs: "delayMillis", says: (s) => `will come ${s.delayMillis} ms late` },
  duplicate_delivery: plain("world", "submit", "will be that to the second delivery of the same request"),
  http_status: {
    stage: "before",
    hits: "all",
    needs: "status",
    may: ["effect"],
    says: ({ status, effect }) => `will be HTTP ${status}${effect === true ? " after the request had its effect" : ""}`,
  },
  html_body: plain("wire", "all", "will be a page of HTML with status 200"),
  truncated_body: plain("wire", "all", "will end in the middle"),
  endless_body: plain("wire", "all", "will not end"),
  wrong_content_length: plain("wire", "all", "will announce fewer bytes than it has"),
  gzip_bomb: plain("wire", "all", "will be a gigabyte, packed small"),
  stale_read: plain("world", "reads", "will be as of now, under the headers of later blocks"),
  rolled_back_read: {
    stage: "world",
    hits: "reads",
    may: ["blocks"],
    says: (s) => `will show the chain as it was ${blocksOf(s)} blocks ago, and so it stays`,
  },
  lagging_replica: {
    stage: "world",
    hits: "reads",
    may: ["blocks"],
    says: (s) => `will come from a node that is ${blocksOf(s)} blocks behind`,
  },
  reorganised_pages: plain("body", "lists", "will have its rows in another order, one twice and one not at all"),
  cursor_cycle: plain("body", "lists", "will promise a next page that is never the last"),
  clock_skew: {
    stage: "world",
    hits: "reads",
    needs: "skewMillis",
    says: (s) => `will have its times shifted by ${s.skewMillis} ms`,
  },
  chain_id_change: {
    stage: "world",
    hits: "chain",
    needs: "chainId",
    says: (s) => `will be that of chain ${s.chainId}`,
  },
  lying_success: plain("world", "submit", "will say that the network took what it threw away"),
  lying_failure: {
    stage: "world",
    hits: "submit",
    may: ["code"],
    says: (s) => `will refuse with code ${faultCodeOf(s)} what the network took`,
  },
  wrong_hash: plain("world", "submit", "will name another transaction"),
  late_broadcast: {
    stage: "world",
    hits: "submit",
    may: ["code", "blocks"],
    says: (s) => `will refuse with code ${faultCodeOf(s)} what is broadcast ${blocksOf(s)} blocks later`,
  },
  lost_mempool: plain("world", "submit", "will be followed by the loss of all that waits for a block"),
  execution_failure: plain("world", "submit", "will accept what then fails in its block"),
} satisfies Readonly<Record<string, Kind>>

export type FaultKind = keyof typeof kindTable
export const faultKinds = Object.keys(kindTable) as ReadonlyArray<FaultKind>
export const kinds: Readonly<Record<FaultKind, Kind>> = kindTable

/** The keys of a fault in JSON. All but operation and kind may be left out where the kind does not need them. */
export const faultFields = { ...detailFields, kind: Schema.Literals(faultKinds) }

export const faultRate = Schema.Finite.check(Schema.isBetween({ minimum: 0.000_001, maximum: 1 }))

/** A fault to inject; `rate` is the probability that it hits a request. */
const FaultSpecSchema = Schema.Struct({ ...faultFields, rate: faultRate })
export type FaultSpec = typeof FaultSpecSchema.Type

/** True if a kind can hit an operation at all. */
export const fits = (kind: FaultKind, operation: Operation): boolean =>
  hitsOfKinds[kinds[kind].hits].includes(operation)

/** True if a fault targets requests of this operation. */
export const isMeantFor =
  (operation: Operation) =>
  (spec: FaultSpec): boolean =>
    (spec.operation === "any" || spec.operation === operation) && fits(spec.kind, operation)

/** Why a fault as written makes no sense, with a remedy; undefined where it does. */
export const problemOfFault = (
  spec: Omit<FaultSpec, "rate">,
): { readonly message: string; readonly remedy: string } | undefined => {
  const { needs, hits } = kinds[spec.kind]
  if (needs !== undefined && spec[needs] === undefined) {
    return missing[needs]
  }
  if (spec.operation === "any" || fits(spec.kind, spec.operation)) return undefined
  return { message: `${spec.kind} cannot hit ${spec.operation}`, remedy: `it hits ${hits}: write operation: any` }
}

const missing: Readonly<Record<NonNullable<Kind["needs"]>, { readonly message: string; readonly remedy: string }>> = {
  status: {
    message: "http_status needs a status that the sandbox can send",
    remedy: `write status: one of ${faultStatuses.join(", ")}`,
  },
  delayMillis: { message: "a delay needs its length", remedy: "write delay: 2s, or delayMillis in JSON" },
  skewMillis: { message: "clock_skew needs its size", remedy: "write skew: -90s, or skewMillis in JSON" },
  chainId: { message: "chain_id_change needs a name", remedy: "write chainId: other-chain" },
}

/** Text of a fault for the log. */
export const describeFault = (spec: FaultSpec): string => {
  const whose = spec.operation === "any" || spec.operation === "submit" ? "" : `${spec.operation}: `
  const which = spec.count === 1 ? "the next answer" : "every answer"
  const often = spec.rate < 1 ? ` with probability ${spec.rate}` : ""
  const times = spec.count === undefined || spec.count === 1 ? "" : `, ${spec.count} times`
  const end = spec.durationMillis === undefined ? "" : `, for ${spec.durationMillis / 1000} s`
  const open = spec.count === undefined && spec.durationMillis === undefined ? " until further notice" : ""
  return `${whose}${which} ${kinds[spec.kind].says(spec)}${often}${times}${end}${open}`
}
