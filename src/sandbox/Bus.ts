import { Deferred, Effect, Queue, Schema } from "effect"
import type { BlockDelta } from "./Blocks.ts"
import type { Chain, ChainEvent, Included } from "./Chain.ts"
import type { BalanceRow, MovedEvent, Movement } from "./Ledger.ts"

/** Blocks that a reader may be behind; one more, and it is dropped. */
export const behindMax = 128

/** What readers of the event bus hear: the chain's own events, movements drawn together, and the block's frame. */
export type ToldEvent =
  | Exclude<ChainEvent, MovedEvent>
  | { readonly _tag: "movements"; readonly movements: ReadonlyArray<Movement> }
  | { readonly _tag: "begin" | "time" | "end" }

export interface Told {
  /** Place among all events of the block, from 1. */
  readonly seq: number
  /** Upper case: the transaction that caused it, else the block. */
  readonly txHash: string
  readonly event: ToldEvent
}

/** A block as its listeners learn of it, once it is on disk. */
export interface News {
  readonly height: number
  /** Upper case. */
  readonly hash: string
  /** Unix nanoseconds. */
  readonly time: bigint
  readonly chainId: string
  readonly events: ReadonlyArray<Told>
  readonly rows: ReadonlyArray<BalanceRow>
  readonly movements: ReadonlyArray<Movement>
  readonly included: ReadonlyArray<Included>
  /** Block times (Unix nanoseconds) in which transfers of these events were asked for, by id. */
  readonly asked: ReadonlyMap<string, bigint>
}

/** The reader did not take its news in time. What it had not heard by then is lost. */
export class FellBehind extends Schema.TaggedError<FellBehind>()("FellBehind", {}) {}

/** One who listens. `dropped` never succeeds. */
export interface Reader {
  readonly news: Queue.Queue<News>
  readonly dropped: Deferred.Deferred<never, FellBehind>
}

export const makeReader: Effect.Effect<Reader> = Effect.all({
  news: Queue.dropping<News>(behindMax),
  dropped: Deferred.make<never, FellBehind>(),
})

/** Who listens to blocks. Without listeners a block costs nothing here. */
export interface Bus {
  readonly readers: Set<Reader>
  /** Done when the network stops. */
  readonly stopped: Deferred.Deferred<void>
}

export const makeBus = (): Bus => ({ readers: new Set(), stopped: Deferred.makeUnsafe() })

/** Tells of a block that is on disk. */
export const publish = (bus: Bus, chain: Chain, delta: BlockDelta): void => {
  if (bus.readers.size === 0) return
  const news = newsOf(chain, delta)
  for (const reader of bus.readers) {
    if (Queue.offerUnsafe(reader.news, news)) continue
    bus.readers.delete(reader)
    Deferred.doneUnsafe(reader.dropped, Effect.fail(new FellBehind()))
  }
}

const newsOf = (chain: Chain, delta: BlockDelta): News => {
  const hash = chain.hash.toUpperCase()
  const { rows, movements, included, events } = delta
  const asked = new Map<string, bigint>()
  for (const { event } of events) {
    if (event._tag === "transfer") asked.set(event.transfer.id, askedAt(chain, event.transfer))
  }
  const told = [...tell(delta, hash)].map((entry, n): Told => ({ ...entry, seq: n + 1 }))
  const { height, time, scenario } = chain
  return { height, hash, time, chainId: scenario.chainId, events: told, rows, movements, included, asked }
}

/** A version of a transfer knows only its own time. */
const askedAt = (chain: Chain, transfer: { readonly id: string; readonly time: bigint }): bigint =>
  chain.included.findLast(({ transferId }) => transferId === transfer.id)?.time ?? transfer.time

/** The events in the network's order: the movements of one action stand behind all accounts that it changed. */
function* tell(delta: BlockDelta, blockHash: string): Generator<Omit<Told, "seq">> {
  yield { txHash: blockHash, event: { _tag: "begin" } }
  yield { txHash: blockHash, event: { _tag: "time" } }
  let moved: Array<Movement> = []
  let cause = blockHash
  for (const { event, txHash } of delta.events) {
    const next = txHash === "" ? blockHash : txHash
    if (moved.length > 0 && (next !== cause || (event._tag !== "account" && event._tag !== "moved"))) {
      yield { txHash: cause, event: { _tag: "movements", movements: moved } }
      moved = []
    }
    cause = next
    if (event._tag === "moved") moved.push(...delta.movements.slice(event.index, event.index + 1))
    else yield { txHash: cause, event }
  }
  if (moved.length > 0) yield { txHash: cause, event: { _tag: "movements", movements: moved } }
  yield { txHash: blockHash, event: { _tag: "end" } }
}
