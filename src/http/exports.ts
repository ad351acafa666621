import { Effect } from "effect"
import { plainAmount } from "../domain/Amount.ts"
import type { Attempt } from "../domain/Attempt.ts"
import { type Intent, isFinalIntent, noteOf } from "../domain/Intent.ts"
import { millisOf } from "../domain/Time.ts"
import { balancesBefore, changesAfter, gapsIn, termsNow } from "../store/balances/pastBalances.ts"
import { attemptsOf, entriesAfter, intentsAfter, type Span } from "../store/journal/archive.ts"

export const exportKinds = ["payments", "journal", "balances"] as const

export interface ExportAsked extends Span {
  readonly what: (typeof exportKinds)[number]
  /** Where the page before ended; empty for the first. */
  readonly after: string
}

/** One row: a value for each column, null where there is none. */
export type ExportRow = Readonly<Record<string, string | number | null>>

export interface ExportPage {
  readonly rows: ReadonlyArray<ExportRow>
  /** Where the next page begins; null behind the last. */
  readonly next: string | null
}

const pageMax = 500
const changesMax = 2_000

/** Reads a page in the order of decisions, of the journal, or of block times. */
export const exportPage = Effect.fn("Export.page")(function* (asked: ExportAsked) {
  if (asked.what === "balances") return yield* balancesPage(asked)
  const [at, id] = asked.after.split(".")
  if (asked.what === "journal") {
    const rows = yield* entriesAfter(Number(at), pageMax, asked)
    const page = rows.map((row): ExportRow => ({ ...row, at: new Date(row.at).toISOString() }))
    return { rows: page, next: rows.length < pageMax ? null : String(rows.at(-1)?.seq) } satisfies ExportPage
  }
  const last = id === undefined ? undefined : { createdAt: Number(at), id: id as Intent["id"] }
  const intents = yield* intentsAfter(last, pageMax, asked)
  const attempts = yield* attemptsOf(intents)
  const end = intents.length < pageMax ? undefined : intents.at(-1)
  return {
    rows: intents.map((intent) => paymentRow(intent, attempts(intent.id))),
    next: end === undefined ? null : `${end.createdAt}.${end.id}`,
  } satisfies ExportPage
})

const balanceRow = (row: Readonly<Record<string, string | number>>): ExportRow => ({
  ...Object.fromEntries(exportColumns.balances.map((column) => [column, null])),
  ...row,
})

/**
 * Changes of balances in base units. Before them come the network's fees, the balances at the start of the span, and
 * the times without data.
 */
const balancesPage = Effect.fnUntraced(function* (asked: ExportAsked) {
  const [at, account] = asked.after.split(".")
  const last = account === undefined ? undefined : { timestamp: BigInt(at ?? "0"), account: Number(account) }
  const changes = yield* changesAfter(last, changesMax, asked)
  const rows = changes.map(({ timestamp, account: _, isOpening, balance, ...key }) =>
    balanceRow({
      kind: isOpening === 1 ? "opening" : "change",
      at: nanosText(timestamp),
      ...key,
      balance: `${balance}`,
    }),
  )
  const end = changes.length < changesMax ? undefined : changes.at(-1)
  const next = end === undefined ? null : `${end.timestamp}.${end.account}`
  if (last !== undefined) return { rows, next } satisfies ExportPage
  const terms = yield* termsNow()
  const before = yield* balancesBefore(asked.from)
  const gaps = yield* gapsIn(asked)
  const first = [
    ...terms.map(({ kind, key, value }) =>
      balanceRow({ kind, ...(kind === "quantum" ? { asset: key } : { type: key }), balance: value }),
    ),
    ...before.map(({ timestamp, balance, ...key }) =>
      balanceRow({ kind: "before", at: nanosText(timestamp), ...key, balance: `${balance}` }),
    ),
    ...gaps.map(({ since, until }) => balanceRow({ kind: "gap", at: nanosText(since), until: nanosText(until) })),
  ]
  return { rows: [...first, ...rows], next } satisfies ExportPage
})

/** Block times have nanoseconds, and keep them. */
const nanosText = (nanos: bigint): string =>
  `${new Date(millisOf(nanos)).toISOString().slice(0, -1)}${String(nanos % 1_000_000n).padStart(6, "0")}Z`

interface ExportedPayment {
  readonly intent: Intent
  readonly attempts: ReadonlyArray<Attempt>
  /**
   * The attempt that paid it, or the last one where none did. Undefined where another copy of the database paid it:
   * `detail` names that transfer.
   */
  readonly attempt: Attempt | undefined
}

const isoText = (millis: number): string => new Date(millis).toISOString()

/** Columns of payments in their order, and how each is read. */
const paymentColumns: Readonly<Record<string, (row: ExportedPayment) => string | number | null | undefined>> = {
  id: ({ intent }) => intent.id,
  state: ({ intent }) => intent.state,
  decidedAt: ({ intent }) => isoText(intent.createdAt),
  endedAt: ({ intent }) => (isFinalIntent(intent.state) ? isoText(intent.updatedAt) : null),
  executedAt: ({ intent: { state, settledAt } }) =>
    state === "confirmed" && settledAt !== undefined ? nanosText(settledAt) : null,
  from: ({ intent }) => intent.payment.from,
  to: ({ intent }) => intent.payment.to,
  amount: ({ intent }) => plainAmount(intent.payment.amount, intent.decimals),
  asset: ({ intent }) => intent.payment.asset,
  fee: ({ intent: { fee, decimals } }) => (fee === undefined ? null : plainAmount(fee, decimals)),
  amountUnits: ({ intent }) => String(intent.payment.amount),
  feeUnits: ({ intent }) => intent.fee?.toString(),
  decimals: ({ intent }) => intent.decimals,
  rule: ({ intent }) => intent.rule,
  subject: ({ intent }) => intent.subject,
  episode: ({ intent }) => intent.episode,
  fromKey: ({ intent }) => intent.payment.fromKey,
  toKey: ({ intent }) => intent.payment.toKey,
  assetId: ({ intent }) => intent.payment.assetId,
  attempts: ({ attempts }) => attempts.length,
  chainId: ({ attempt }) => attempt?.chainId,
  transferId: ({ attempt }) => attempt?.transferId,
  txHash: ({ attempt }) => (attempt?.framing === "prefixed" ? attempt.hashPrefixed : attempt?.hashBare)?.toUpperCase(),
  detail: ({ intent }) => intent.detail,
  note: ({ intent }) => noteOf(intent),
}

export const paymentRow = (intent: Intent, attempts: ReadonlyArray<Attempt>): ExportRow => {
  const paying = attempts.find((a) => a.state === "confirmed")
  const attempt = intent.state === "confirmed" ? paying : (paying ?? attempts.at(-1))
  const cells = Object.entries(paymentColumns).map(([name, read]) => [
    name,
    read({ intent, attempts, attempt }) ?? null,
  ])
  return Object.fromEntries(cells)
}

/** The columns of each export, in their order. */
export const exportColumns = {
  payments: Object.keys(paymentColumns),
  journal: ["seq", "at", "treasury", "kind", "subject", "body", "prev", "hash"],
  balances: ["kind", "at", "until", "party", "asset", "market", "type", "balance"],
} as const
