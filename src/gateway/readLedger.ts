import { Effect } from "effect"
import { type BlockMark, withdrawn } from "../domain/Balance.ts"
import type { GatewayError } from "./GatewayError.ts"
import { fundsSend, LedgerEntriesAnswer, type LedgerEntry } from "./schema/Transfers.ts"
import type { Transport } from "./Transport.ts"
import { lowerMark, pageSize } from "./walkPages.ts"

const second = 1_000_000_000n
/** A longer range is cut to this without a word. */
const rangeNanosMax = 5n * 86_400n * second
/** How far the ledger's clock may be ahead of ours. */
const aheadNanos = 60n * second
/** Ranges read for one question: more than a year of an idle chain, or many halvings of a busy hour. */
const rangesMax = 200

/** How often transfers of one key were sent, by their ids. */
export interface SendCounts {
  readonly counts: ReadonlyMap<string, number>
  /** Transfers with a movement in the answer of any gateway. */
  readonly shown: ReadonlySet<string>
  /** True if the whole range was read. */
  readonly complete: boolean
  /** The lowest block that any answer names. */
  readonly mark: BlockMark | undefined
}

/** Movements by which money of one key went to others, transfers and withdrawals, oldest first. */
export interface LedgerDebits extends Omit<SendCounts, "counts" | "shown"> {
  readonly debits: ReadonlyArray<LedgerEntry>
}

/** The movements of the ledger itself. The error is Unsupported where the gateway has no such operation. */
export interface LedgerReader {
  /**
   * Counts how often money left the key's accounts for each transfer, from `since` to `until` (Unix nanoseconds) and
   * a minute beyond, since the ledger's clock is not ours. Cursors of this listing are broken on real networks, so
   * it is read by ranges of time, halved while one overflows.
   */
  readonly sends: (publicKey: string, since: bigint, until: bigint) => Effect.Effect<SendCounts, GatewayError>
  /** Debits of the key's accounts to others in the same range; costs of trading are not included. */
  readonly debits: (publicKey: string, since: bigint, until: bigint) => Effect.Effect<LedgerDebits, GatewayError>
}

export const makeLedgerReader = (transport: Transport): LedgerReader => ({
  sends: Effect.fn("GatewayReader.sends")((publicKey, since, until) =>
    Effect.map(walk(transport, { publicKey, types: [fundsSend], since, until }), ({ rows, ...rest }) => {
      const counts = count(rows)
      return { counts, shown: new Set(counts.keys()), ...rest }
    }),
  ),
  debits: Effect.fn("GatewayReader.debits")((publicKey, since, until) =>
    Effect.map(walk(transport, { publicKey, types: [fundsSend, withdrawn], since, until }), ({ rows, ...rest }) => ({
      debits: rows,
      ...rest,
    })),
  ),
})

interface Range {
  readonly publicKey: string
  readonly types: ReadonlyArray<string>
  readonly since: bigint
  readonly until: bigint
}

/** The key's entries of these types, each once. */
const walk = Effect.fnUntraced(function* (transport: Transport, range: Range) {
  const { publicKey, types, since, until } = range
  const rows: Array<LedgerEntry> = []
  /** Start of the range that an entry came in last. */
  const known = new Map<string, bigint>()
  let mark: BlockMark | undefined
  let complete = true
  let start = since - (since % second)
  let size = rangeNanosMax
  for (let ranges = 0; ranges < rangesMax; ranges++) {
    const last = start + size > until + aheadNanos
    const page = yield* read(transport, { publicKey, types, since: start, until: start + size })
    mark = ranges === 0 ? page.mark : lowerMark(mark, page.mark)
    if (page.hasNextPage) {
      size = size / 2n - ((size / 2n) % second)
      if (size < second) return { rows, complete: false, mark }
      continue
    }
    for (const row of page.rows) {
      if (row.from !== publicKey || !types.includes(row.type)) continue
      const entry = `${row.timestamp} ${row.transferId}`
      // Each entry has a time of its own. One that comes twice in a range stands where another is missing; one at the
      // end of a range may come in the next one again.
      if (known.get(entry) === start) complete = false
      else if (!known.has(entry)) rows.push(row)
      known.set(entry, start)
    }
    if (last) return { rows, complete, mark }
    start += size
  }
  return { rows, complete: false, mark }
})

const count = (rows: ReadonlyArray<LedgerEntry>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { transferId } of rows) counts.set(transferId, (counts.get(transferId) ?? 0) + 1)
  return counts
}

const read = (transport: Transport, { publicKey, types, since, until }: Range) =>
  transport
    .request({
      operation: "transfer",
      title: "ledger entries",
      path: "/api/v2/ledgerentry/history",
      query: [
        ["filter.fromAccountFilter.partyIds", publicKey],
        ...types.map((type) => ["filter.transferTypes", type] as const),
        ["dateRange.startTimestamp", String(since)],
        ["dateRange.endTimestamp", String(until)],
        ["pagination.first", String(pageSize)],
        ["pagination.newestFirst", "false"],
      ],
      schema: LedgerEntriesAnswer,
      // It shows how often a payment executed, and unexplained debits: a slow gateway answers it before polls.
      priority: "urgent",
    })
    .pipe(
      Effect.map(({ value: { ledgerEntries }, mark }) => ({
        rows: ledgerEntries.edges.map(({ node }) => node),
        hasNextPage: ledgerEntries.pageInfo.hasNextPage,
        mark,
      })),
    )
