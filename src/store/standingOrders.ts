import { Clock, Effect, Option, Schema } from "effect"
import { TransferId } from "../domain/Hex.ts"
import { Settings } from "./Settings.ts"

/** What the ledger listed of a key's transfers that recur and have not ended. */
export const KnownOrders = Schema.Struct({
  /** Complete up to this block time, Unix nanoseconds. */
  asOf: Schema.BigIntFromString,
  /** Unix milliseconds of our clock; 0 where they are to be read again. */
  readAt: Schema.Int,
  /** Oldest first. */
  active: Schema.Array(Schema.Struct({ id: TransferId, assetId: Schema.String })),
})
export type KnownOrders = typeof KnownOrders.Type

const Stored = Schema.fromJsonString(KnownOrders)
const decode = Schema.decodeUnknownOption(Stored)
const encode = Schema.encodeSync(Stored)

const keyOf = (party: string): string => `orders/${party}`

/** The key's standing orders as last read; undefined where they never were. */
export const knownOrders = Effect.fnUntraced(function* (party: string) {
  return Option.getOrUndefined(decode((yield* (yield* Settings).get(keyOf(party))) ?? ""))
})

export const noteOrders = Effect.fnUntraced(function* (party: string, seen: Pick<KnownOrders, "asOf" | "active">) {
  const readAt = yield* Clock.currentTimeMillis
  yield* (yield* Settings).set(keyOf(party), encode({ ...seen, readAt }))
})

/** One of them has come to its end: they are read again at the next occasion. */
export const doubtOrders = Effect.fnUntraced(function* (party: string) {
  const known = yield* knownOrders(party)
  if (known !== undefined) yield* (yield* Settings).set(keyOf(party), encode({ ...known, readAt: 0 }))
})
