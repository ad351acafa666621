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
  /** Those that were seen ended by a block: a listing up to that block may still hold them. */
  ended: Schema.optionalKey(
    Schema.Array(Schema.Struct({ id: Schema.String, byHeight: Schema.BigIntFromString, at: Schema.Int })),
  ),
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

/** A listing that names no block may be so old, in milliseconds of our clock. */
const lagMillisMax = 600_000

/** What was listed up to a block; undefined where the gateway names none. A late listing brings no ended order back. */
export const noteOrders = Effect.fnUntraced(function* (
  party: string,
  seen: Pick<KnownOrders, "asOf" | "active"> & { readonly height: bigint | undefined },
) {
  const readAt = yield* Clock.currentTimeMillis
  const before = (yield* knownOrders(party))?.ended ?? []
  const ended = before.filter(({ byHeight, at }) =>
    seen.height === undefined ? readAt - at < lagMillisMax : seen.height <= byHeight,
  )
  const active = seen.active.filter(({ id }) => !ended.some((one) => one.id === id))
  yield* (yield* Settings).set(keyOf(party), encode({ asOf: seen.asOf, readAt, active, ended }))
})

/** One of them may have come to its end: they are read again at the next occasion. */
export const doubtOrders = Effect.fnUntraced(function* (party: string) {
  const known = yield* knownOrders(party)
  if (known !== undefined) yield* (yield* Settings).set(keyOf(party), encode({ ...known, readAt: 0 }))
})

/** One of them was seen ended, at the latest in the block of this height: nothing is left to cancel. */
export const endOrder = Effect.fnUntraced(function* (party: string, id: string, byHeight: bigint) {
  const known = yield* knownOrders(party)
  if (known === undefined) return
  const at = yield* Clock.currentTimeMillis
  const active = known.active.filter((order) => order.id !== id)
  const ended = [...(known.ended ?? []).filter((order) => order.id !== id), { id, byHeight, at }]
  yield* (yield* Settings).set(keyOf(party), encode({ ...known, readAt: 0, active, ended }))
})
