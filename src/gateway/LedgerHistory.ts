import { Context, Effect } from "effect"
import type { BlockMark } from "../domain/Balance.ts"
import type { GatewayError } from "./GatewayError.ts"
import { fundsSend, LedgerEntriesAnswer } from "./schema/LedgerEntries.ts"
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
  /** Whether all of the range was read. */
  readonly complete: boolean
  /** The lowest block that any answer names. */
  readonly mark: BlockMark | undefined
}

/** The movements of the ledger itself. The error is Unsupported where the gateway has no such operation. */
export class LedgerHistory extends Context.Service<
  LedgerHistory,
  {
    /**
     * Counts how often money left the key's accounts for each transfer, from `since` to `until` (Unix nanoseconds) and
     * a minute beyond, since the ledger's clock is not ours. Cursors of this listing are broken on real networks, so
     * it is read by ranges of time, halved while one overflows.
     */
    readonly sends: (publicKey: string, since: bigint, until: bigint) => Effect.Effect<SendCounts, GatewayError>
  }
>()("cofferer/gateway/LedgerHistory") {
  static readonly make = (transport: Transport["Service"]): LedgerHistory["Service"] =>
    LedgerHistory.of({
      sends: Effect.fn("LedgerHistory.sends")((publicKey, since, until) => count(transport, publicKey, since, until)),
    })
}

const count = Effect.fnUntraced(function* (
  transport: Transport["Service"],
  publicKey: string,
  since: bigint,
  until: bigint,
) {
  const counts = new Map<string, number>()
  let mark: BlockMark | undefined
  let complete = true
  let start = since - (since % second)
  let size = rangeNanosMax
  for (let ranges = 0; ranges < rangesMax; ranges++) {
    const last = start + size > until + aheadNanos
    const page = yield* read(transport, publicKey, start, start + size)
    mark = ranges === 0 ? page.mark : lowerMark(mark, page.mark)
    if (page.hasNextPage) {
      size = size / 2n - ((size / 2n) % second)
      if (size < second) return { counts, complete: false, mark }
      continue
    }
    const seen = new Set<string>()
    for (const { timestamp, from, type, transferId } of page.rows) {
      if (from !== publicKey || type !== fundsSend) continue
      const entry = `${timestamp} ${transferId}`
      // Each entry has a time of its own. One that comes twice stands where another is missing.
      if (seen.has(entry)) complete = false
      else counts.set(transferId, (counts.get(transferId) ?? 0) + 1)
      seen.add(entry)
    }
    if (last) return { counts, complete, mark }
    start += size
  }
  return { counts, complete: false, mark }
})

const read = (transport: Transport["Service"], publicKey: string, start: bigint, end: bigint) =>
  transport
    .request({
      operation: "transfer",
      title: "ledger entries",
      path: "/api/v2/ledgerentry/history",
      query: [
        ["filter.fromAccountFilter.partyIds", publicKey],
        ["filter.transferTypes", fundsSend],
        ["dateRange.startTimestamp", String(start)],
        ["dateRange.endTimestamp", String(end)],
        ["pagination.first", String(pageSize)],
        ["pagination.newestFirst", "false"],
      ],
      schema: LedgerEntriesAnswer,
    })
    .pipe(
      Effect.map(({ value: { ledgerEntries }, mark }) => ({
        rows: ledgerEntries.edges.map(({ node }) => node),
        hasNextPage: ledgerEntries.pageInfo.hasNextPage,
        mark,
      })),
    )
