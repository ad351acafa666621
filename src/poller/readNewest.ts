import { Effect } from "effect"
import type { BalanceChange } from "../domain/Balance.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { pageSize, walkPages } from "../gateway/walkPages.ts"
import { accountName } from "../store/Drifts.ts"
import { aligned, isAhead, isWatched, settledAt } from "./askWindow.ts"
import { reachNanos } from "./historyBegins.ts"
import type { Base } from "./readBase.ts"

/**
 * The newest row of a year of each of the party's accounts: where a gateway tells no balances, these are all that can
 * be known of them. Undefined where the rows come to no end.
 */
export const readNewest = Effect.fnUntraced(function* (party: string, now: bigint) {
  const reader = yield* GatewayReader
  const query = { partyIds: [party], first: pageSize, startTimestamp: aligned(now - reachNanos) }
  const { rows, complete, mark } = yield* walkPages((after) =>
    reader.balanceChanges({ ...query, ...(after === undefined ? {} : { after }) }),
  )
  if (!complete || isAhead(mark, now)) return undefined
  const until = mark?.timestamp ?? settledAt(now)
  const newest = new Map<string, BalanceChange>()
  for (const row of rows.filter(isWatched([party]))) {
    const name = accountName(row)
    const known = newest.get(name)
    if (row.timestamp < until && (known === undefined || known.timestamp < row.timestamp)) newest.set(name, row)
  }
  return { openings: [...newest.values()], until, height: 0n } satisfies Base
})
