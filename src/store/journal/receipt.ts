import { formatAmount } from "../../domain/Amount.ts"
import { withdrawnHere } from "../../domain/Intent.ts"
import type { Link, StoredEntry } from "./archive.ts"
import type { Proven } from "./proven.ts"
import type {
  EntryBody,
  Plain,
  ReceiptApproval,
  ReceiptAttempt,
  ReceiptSend,
  ReliedApproval,
  Statement,
} from "./Statement.ts"

/**
 * A payment with its proof: what is proven, what is claimed beside it, its own entries, and the chain of hashes from
 * the first of them to the last.
 */
export interface Receipt {
  readonly receipt: 2
  readonly proven: Proven
  /** Claims of the payer's journal that no signature proves: names, units, rule, times, reasons given, the end. */
  readonly claimed: Statement
  readonly journal: EntryChain
}

/** Entries about one payment, and their places in the chain. */
export interface EntryChain {
  readonly entries: ReadonlyArray<StoredEntry>
  readonly links: ReadonlyArray<Link>
}

const plain = (value: unknown): Plain => (typeof value === "string" || typeof value === "number" ? value : null)

const pick = <K extends string>(body: EntryBody, ...names: ReadonlyArray<K>): Readonly<Record<K, Plain>> =>
  Object.fromEntries(names.map((name) => [name, plain(body[name])])) as Record<K, Plain>

/** The text of this name in the entry; older entries lack it, and their receipts stay unchanged. */
const words = <K extends string>(body: EntryBody, name: K): { readonly [P in K]?: string } => {
  const value = body[name]
  return typeof value === "string" ? ({ [name]: value } as { readonly [P in K]?: string }) : {}
}

const relied = ({ approval }: EntryBody): { readonly approval?: ReliedApproval } => {
  if (typeof approval !== "object" || approval === null) return {}
  const { group, need, by } = approval as Readonly<Record<string, unknown>>
  return { approval: { group: String(group), need: Number(need), by: Array.isArray(by) ? by.map(String) : [] } }
}

const approvalOf = ({ at, body }: ParsedEntry): ReceiptApproval => ({
  at,
  ...pick(body, "operator", "key", "text", "signature"),
})

interface ParsedEntry {
  readonly at: string
  readonly kind: string
  readonly body: EntryBody
}

const parseEntry = (entry: StoredEntry): ParsedEntry => {
  const body: unknown = JSON.parse(entry.body)
  if (typeof body !== "object" || body === null) throw new SyntaxError("no object")
  return { at: new Date(entry.at).toISOString(), kind: entry.kind, body: body as EntryBody }
}

/** Builds the statement from the entries, in order. Throws a SyntaxError if one is not JSON. */
export const statementOf = (entries: ReadonlyArray<StoredEntry>): Statement => {
  const parsed = entries.map(parseEntry)
  const intents = parsed.filter((t) => t.kind === "intent")
  const decision = parsed.find((t) => t.kind === "decision")
  const approvals = parsed.filter((t) => t.kind === "approval")
  const remarks = parsed.filter((t) => !known.has(t.kind))
  return {
    treasury: entries[0]?.treasury ?? "",
    payment: paymentOf(entries[0]?.subject ?? "", intents[0]?.body ?? {}),
    decision:
      decision === undefined
        ? null
        : {
            at: decision.at,
            ...pick(decision.body, "sentence", "policy", "line", "perTransfer", "per24h", "transfersPer24h"),
            ...words(decision.body, "approval"),
          },
    states: intents.map(({ at, body }) => ({
      at,
      ...pick(body, "state", "detail", "fee", "settledAt", "verb", "author", "reason"),
    })),
    attempts: parsed.filter(isSigned).map((signed) => attemptOf(signed, parsed)),
    ...(approvals.length === 0 ? {} : { approvals: approvals.map(approvalOf) }),
    remarks: remarks.map(({ at, kind, body }) => ({ at, kind, body })),
  }
}

const known: ReadonlySet<string> = new Set([
  "intent",
  "decision",
  "attempt",
  "signature",
  "work",
  "send",
  "evidence",
  "approval",
  "permit",
  "config",
])
const isSigned = ({ kind, body }: ParsedEntry): boolean => kind === "attempt" && body["state"] === "signed"

const paymentOf = (id: string, body: EntryBody): Statement["payment"] => {
  const units = plain(body["amount"])
  const decimals = plain(body["decimals"])
  const isAmount = typeof units === "string" && /^[0-9]{1,78}$/.test(units) && typeof decimals === "number"
  return {
    id,
    ...(body["command"] === undefined ? {} : { command: plain(body["command"]) }),
    ...(body["command"] === "withdraw" ? { note: withdrawnHere } : {}),
    ...pick(body, "rule", "episode", "decimals", "feeMax"),
    ...words(body, "submittedBy"),
    subject: plain(body["about"]),
    from: plain(body["fromName"]),
    fromKey: plain(body["from"]),
    to: plain(body["toName"]),
    toKey: plain(body["to"]),
    asset: plain(body["symbol"]),
    assetId: plain(body["asset"]),
    amount: isAmount ? formatAmount(BigInt(units), decimals) : null,
    units,
  }
}

const attemptOf = (signed: ParsedEntry, all: ReadonlyArray<ParsedEntry>): ReceiptAttempt => {
  const { body } = signed
  const own = all.filter((t) => t.body["k"] === body["k"])
  const of = (kind: string) => own.filter((t) => t.kind === kind)
  const permit = of("signature")[0]?.body
  return {
    ...pick(body, "k", "chainId", "party", "nonce", "anchorHeight", "anchorHash", "windowBlocks", "difficulty"),
    ...pick(body, "inputData", "signature", "transferId"),
    state: plain(of("attempt").at(-1)?.body["state"]),
    signedAt: signed.at,
    permit: permit === undefined ? null : { ...pick(permit, "digest", "policy", "line"), ...relied(permit) },
    works: of("work").map((t) => pick(t.body, "tid", "nonce", "hashBare", "hashPrefixed")),
    sends: sendsOf(own),
    evidence: of("evidence").map(({ at, body }) => ({ at, ...pick(body, "kind", "gateway", "height", "detail") })),
  }
}

/** Sends as they began, each with its answer: the first of the same number that follows. */
const sendsOf = (own: ReadonlyArray<ParsedEntry>): ReadonlyArray<ReceiptSend> => {
  const answers = own.filter((t) => t.kind === "send")
  return own.flatMap(({ at, kind, body }) => {
    if (kind !== "attempt" || body["state"] !== "sending") return []
    const place = answers.findIndex((t) => t.body["n"] === body["n"] && t.body["gateway"] === body["gateway"])
    const answer = place < 0 ? undefined : answers.splice(place, 1)[0]
    const said = answer && { at: answer.at, ...pick(answer.body, "outcome", "code", "data") }
    return [{ at, ...pick(body, "n", "gateway", "framing", "txHash"), answer: said ?? null }]
  })
}
