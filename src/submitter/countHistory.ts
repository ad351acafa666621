import { Clock, Effect } from "effect"
import { general } from "../domain/AccountType.ts"
import type { BalanceChange } from "../domain/Balance.ts"
import type { TransferListing } from "../gateway/Confirmation.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { pageSize } from "../gateway/walkPages.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import type { ListedTransfer } from "../store/Findings.ts"
import { Settings } from "../store/Settings.ts"
import { countSpends } from "./countSpends.ts"

const dayNanos = 86_400_000_000_000n
/** So far back a row is looked for that says what an account held before. */
const reachNanos = 364n * dayNanos
/** Pages of balance rows read at most; what lies behind them is not counted. */
const pagesMax = 20

const keyOf = (party: string): string => `counted/${party}`

/** Whether the key was cleared here before. */
export const isCounted = (party: string) =>
  Effect.flatMap(Settings, (settings) => Effect.map(settings.get(keyOf(party)), (at) => at !== undefined))

/**
 * Before a key is cleared for the first time: what left it in the last 24 hours without this store counts in the
 * policy's windows. Transfers are counted as they are listed; here withdrawals, and where the gateway does not list
 * both of them, every fall of the key's general accounts, whoever received it.
 */
export const countHistory = Effect.fn("Reconcile.countHistory")(function* (
  party: string,
  listsTransfers: boolean,
  withdrawals: TransferListing | undefined,
) {
  const settings = yield* Settings
  if (yield* isCounted(party)) return
  // Of a listing without an end the newest may be missing: balances tell of them.
  const isListed = listsTransfers && withdrawals?.complete === true
  const falls = isListed ? [] : yield* fallsOf(party)
  const database = yield* Database
  yield* database.atomically(
    Effect.gen(function* () {
      yield* countSpends(withdrawals?.transfers ?? [])
      const count = yield* countSpends(falls)
      yield* settings.set(keyOf(party), String(yield* Clock.currentTimeMillis))
      if (count > 0) yield* notifyCounted(party, count)
    }),
  )
})

const notifyCounted = Effect.fnUntraced(function* (party: string, count: number) {
  const who = party.slice(0, 8)
  const what = count === 1 ? "1 debit" : `${count} debits`
  yield* (yield* AlertQueue).raise({
    dedup: `counted/${party}`,
    severity: "ticket",
    kind: "policy",
    subject: who,
    detail: `${what} of the key ${who} in the 24 hours before this store began count in the policy's limits, whoever received them: the gateway does not list its payments. They fall out of the limits after 24 hours`,
    fields: { party, count },
  })
})

/** Falls of the key's general accounts in the last 24 hours, as if each were a payment to nobody. */
const fallsOf = Effect.fnUntraced(function* (party: string) {
  const reader = yield* GatewayReader
  const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
  const rows: Array<BalanceChange> = []
  let since = now - dayNanos
  let after: string | undefined
  for (let page = 1; page <= pagesMax; page++) {
    const shown = yield* reader.balanceChanges({
      partyIds: [party],
      accountTypes: [general],
      startTimestamp: now - reachNanos,
      first: pageSize,
      newestFirst: true,
      ...(after === undefined ? {} : { after }),
    })
    const { mark } = shown
    if (mark !== undefined && mark.timestamp - dayNanos < since) since = mark.timestamp - dayNanos
    for (const { node } of shown.rows) {
      if (node.party === party && node.type === general && node.market === "") rows.push(node)
    }
    const last = shown.rows.at(-1)?.node
    if (!shown.pageInfo.hasNextPage || last === undefined || last.timestamp <= since) break
    after = shown.pageInfo.endCursor
  }
  return fallsAmong(party, rows, since)
})

/** Each step down of an account after a time (Unix nanoseconds); of the first row known nothing is told. */
export const fallsAmong = (
  party: string,
  rows: ReadonlyArray<BalanceChange>,
  since: bigint,
): ReadonlyArray<ListedTransfer> => {
  const held = new Map<string, bigint>()
  return rows
    .toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))
    .flatMap(({ asset, balance, timestamp }) => {
      const fell = (held.get(asset) ?? balance) - balance
      held.set(asset, balance)
      if (fell <= 0n || timestamp <= since) return []
      const id = `debit ${timestamp} ${asset} ${party.slice(0, 8)}`
      return [{ id, from: party, to: "", asset, amount: fell, reference: "", status: "done", timestamp }]
    })
}
