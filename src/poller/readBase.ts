import { Effect } from "effect"
import type { BalanceChange } from "../domain/Balance.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { Gateways } from "../gateway/Gateways.ts"
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

type Read = Base | "unsupported" | "unusable"

const textOf = (base: Read): string =>
  typeof base === "string"
    ? base
    : base.openings
        .map((row) => `${row.party} ${row.asset} ${row.market} ${row.type} ${row.balance}`)
        .sort()
        .join("\n")

/**
 * Balances to begin with, as a quorum of the gateways shows them alike, from the earliest block of those that do; where
 * one is enough, as the best one does. "apart" where no quorum shows the same: a payment may be between them.
 */
export const readBaseTogether = Effect.fnUntraced(function* (parties: ReadonlyArray<string>, now: bigint) {
  const gateways = yield* Gateways
  if (gateways.quorum === 1) return yield* readBase(yield* GatewayReader, parties, now)
  const told = yield* gateways.several(({ reader }) => readBase(reader, parties, now))
  const bases: ReadonlyArray<Read> = told.map(({ value }) => value)
  const agreed = bases.find((one) => bases.filter((other) => textOf(other) === textOf(one)).length >= gateways.quorum)
  if (agreed === undefined) return "apart" as const
  if (typeof agreed === "string") return agreed
  const same = bases.filter((one): one is Base => typeof one !== "string" && textOf(one) === textOf(agreed))
  return same.reduce((earliest, one) => (one.until < earliest.until ? one : earliest))
})

/**
 * Reads balances now, since history alone has no opening balances. "unsupported" where the gateway has no such
 * operation; "unusable" where its answer is none to begin with.
 */
const readBase = Effect.fnUntraced(function* (reader: Reader, parties: ReadonlyArray<string>, now: bigint) {
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
