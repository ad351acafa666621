import { Effect } from "effect"
import type { BalanceChange } from "../domain/Balance.ts"
import { pageSize, walkPages } from "../gateway/walkPages.ts"
import { blockNanos, isAhead, isWatched, type Reader, settledAt } from "./askWindow.ts"

/** Balances as they are, and from where on history tells the rest. */
export interface Base {
  /** Each with a time just below the block begun. */
  readonly openings: ReadonlyArray<BalanceChange>
  readonly until: bigint
  /** 0 where it is not known. */
  readonly height: bigint
}

/**
 * Reads balances now, since history alone has no opening balances. "unsupported" where the gateway has no such
 * operation; "unusable" where its answer is none to begin with.
 */
export const readBase = Effect.fnUntraced(function* (reader: Reader, parties: ReadonlyArray<string>, now: bigint) {
  const walk = yield* walkPages((after) =>
    reader.accounts({ partyIds: parties, first: pageSize, ...(after === undefined ? {} : { after }) }),
  ).pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  if (walk === undefined) return "unsupported" as const
  const { mark } = walk
  if (!walk.complete) {
    yield* Effect.logWarning("the listing of accounts does not end", { rows: walk.rows.length })
    return "unusable" as const
  }
  if (mark !== undefined && isAhead(mark, now)) {
    yield* logAhead(mark, now)
    return "unusable" as const
  }
  const until = mark?.timestamp ?? settledAt(now)
  const openings = walk.rows.map((row) => ({ ...row, timestamp: until - blockNanos })).filter(isWatched(parties))
  return { openings, until, height: mark === undefined ? 0n : mark.height - 1n } satisfies Base
})

export const logAhead = (mark: { readonly height: bigint; readonly timestamp: bigint }, now: bigint) => {
  const seconds = String((mark.timestamp - now) / 1_000_000_000n)
  return Effect.logWarning("the gateway is ahead of our clock", { height: String(mark.height), seconds })
}
