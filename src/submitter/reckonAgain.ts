import { Effect } from "effect"
import { general } from "../domain/AccountType.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { pageSize } from "../gateway/walkPages.ts"
import type { GeneralRow, KnownPayment } from "../store/Debits.ts"
import { type Accounted, type Book, mayBe, type Reckoning, reckon } from "./reckon.ts"

/** What rows read a second time come to. */
export interface SecondReckoning {
  readonly reckoning: Reckoning
  /** Whether the newest row of each doubtful account was shown again. */
  readonly complete: boolean
}

/**
 * Reckons once more with the rows that the gateway shows now in place of those stored, and without those that it takes
 * back: a gateway that has shown a row at a wrong time shows the same fall twice, and one answer is at least of one
 * mind. Errors as of the gateway.
 */
export const reckonAgain = Effect.fnUntraced(function* (party: string, known: Accounted, book: Book, first: Reckoning) {
  let rows = book.rows
  let complete = true
  const used = new Map(known.used)
  for (const asset of new Set(first.debits.map((debit) => debit.asset))) {
    const stored = rows.filter((row) => row.asset === asset && !row.isOpening)
    const last = stored.at(-1)!
    const shown = yield* rowsNow(party, stored[0]!, last)
    const isShown = shown.rows.some(
      ({ timestamp, balance }) => timestamp === last.timestamp && balance === last.balance,
    )
    complete &&= isShown
    const older = stored.filter(({ timestamp }) => timestamp < shown.since)
    rows = [...rows.filter((row) => row.asset !== asset || row.isOpening), ...older, ...shown.rows]
    for (const id of yield* takenBack(party, known, book.payments, stored[0]!)) used.delete(id)
  }
  const reckoning = reckon({ ...known, used }, { ...book, rows: rows.toSorted(byTime) })
  return { reckoning, complete } satisfies SecondReckoning
})

/** Payments looked at whose rows may have been taken back: more are not made side by side. */
const takenBackMax = 10

/** Payments that explained a row of before which the gateway does not show any more. */
const takenBack = Effect.fnUntraced(function* (
  party: string,
  { used, until }: Accounted,
  payments: ReadonlyArray<KnownPayment>,
  { asset, timestamp }: GeneralRow,
) {
  const back: Array<string> = []
  const near = payments.filter(
    (payment) => payment.asset === asset && payment.times === 1 && used.has(payment.id) && mayBe(payment, timestamp),
  )
  for (const { id, settledAt } of near.slice(-takenBackMax)) {
    if (settledAt === undefined || settledAt > until) continue
    const place = { asset, timestamp: settledAt - (settledAt % 1_000n), balance: 0n, isOpening: false }
    if ((yield* rowsNow(party, place, place)).rows.length === 0) back.push(id)
  }
  return back
})

const byTime = (a: GeneralRow, b: GeneralRow): number => {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  return Number(b.isOpening) - Number(a.isOpening)
}

/** The rows of one account between two, and since when they are all: of more than one page the newest. */
const rowsNow = Effect.fnUntraced(function* (party: string, { asset, timestamp: start }: GeneralRow, last: GeneralRow) {
  const { rows, pageInfo } = yield* (yield* GatewayReader).balanceChanges({
    partyIds: [party],
    assetId: asset,
    accountTypes: [general],
    startTimestamp: start,
    endTimestamp: last.timestamp + 1_000n,
    first: pageSize,
    newestFirst: true,
  })
  const shown = rows.flatMap(({ node }): ReadonlyArray<GeneralRow> => {
    const isOwn = node.party === party && node.asset === asset && node.type === general && node.market === ""
    const { balance, timestamp } = node
    return isOwn ? [{ asset, balance, timestamp, isOpening: false }] : []
  })
  const oldest = shown.reduce((time, { timestamp }) => (timestamp < time ? timestamp : time), last.timestamp)
  return { rows: shown, since: pageInfo.hasNextPage ? oldest : start }
})
