import { Clock, Effect } from "effect"
import { CycleConfig } from "../../config/ConfigInForce.ts"
import { millisOf } from "../../domain/Time.ts"
import { clockGap } from "../../rules/checks/wrongClock.ts"
import { windowBlocksMax } from "../../rules/workParameters.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { Database } from "../../store/database/Database.ts"
import { Settings } from "../../store/database/Settings.ts"
import { ChainState } from "../../store/network/ChainState.ts"
import { Clearance } from "../../store/payments/Clearance.ts"
import { LedgerAudit } from "../../store/payments/LedgerAudit.ts"
import { AuditMemory } from "../AuditMemory.ts"
import { ChainHeadCache, haltOnWrongChain } from "../ChainHeadCache.ts"

/** Blocks beyond the network's window for which nothing is signed. */
const quarantineBlocks = 10n
/** Time over which a quarantine's last block must be seen as passed: no single answer of a gateway ends one. */
export const passedMillis = 30_000
const passedName = "quarantine passed"

/**
 * Setting of a database whose keys another copy of it may have used: "pending", or "BLOCK WINDOW", the last block of
 * its quarantine, in which nothing is signed, and the window by which it was counted. Absent: there is none.
 */
export const quarantineKey = "quarantine"

const why = "another copy of this database may have sent payments that still execute"

/** Follows "nothing": `until` is the last block, null before it is counted, `soon` the time that is left. */
export const signedAfter = (until: bigint | string | null, soon = ""): string => {
  const blocks = until === null ? `one window of the network and ${quarantineBlocks} blocks have` : `block ${until} has`
  return `is signed until ${blocks} been passed for ${passedMillis / 1_000} s${soon}: ${why}`
}

/**
 * Stops signing until all that another copy of the database sent has executed or expired, and is listed. Call it in the
 * transaction that acknowledges its payments: nothing is signed in between.
 */
export const beginQuarantine = Effect.fn("Reconcile.beginQuarantine")(function* () {
  yield* (yield* Settings).set(quarantineKey, "pending")
  yield* (yield* Clearance).revoke
})

/** Notes if the quarantine's last block has passed. Returns true once that is so for `passedMillis`. */
const notePassed = Effect.fnUntraced(function* (isNow: boolean) {
  const memory = yield* AuditMemory
  const now = yield* Clock.currentTimeMillis
  if (isNow) return now - (yield* memory.firstSeen(passedName, now)) >= passedMillis
  yield* memory.forget("", passedName)
  return false
})

/** The last block of the quarantine, null before it is counted; undefined where there is none. */
export const quarantinedUntil = Effect.gen(function* () {
  const stored = (yield* (yield* Settings).get(quarantineKey)) ?? ""
  return stored === "" ? undefined : lastBlockOf(stored)
})

/** Null before it is counted. */
const lastBlockOf = (stored: string): bigint | null =>
  stored === "pending" ? null : BigInt(stored.split(" ")[0] ?? "")

/**
 * Writes if the setting is still as it was read: a quarantine that began during a request is neither ended nor counted
 * from before it. If the write fails no key is cleared.
 */
const writeIfStill = Effect.fnUntraced(function* <A, E, R>(stored: string, write: Effect.Effect<A, E, R>) {
  const { revoke } = yield* Clearance
  const checked = Effect.gen(function* () {
    if (((yield* (yield* Settings).get(quarantineKey)) ?? "") === stored) yield* write
  })
  yield* (yield* Database).write(checked, revoke)
})

/** How the newest block of the balances and our clock differ, if by more than is allowed, or none is known. */
export const clockGapNow = Effect.gen(function* () {
  const { maxAgeMillis } = (yield* CycleConfig).treasury.network
  const rows = yield* (yield* Observations).watermark
  return clockGap(yield* Clock.currentTimeMillis, rows && millisOf(rows.timestamp), maxAgeMillis)
})

/** Blocks that the chain makes in this time. */
const blocksIn = (millis: number) =>
  Effect.flatMap(Observations, ({ blockMillis }) =>
    Effect.map(blockMillis, (one) => BigInt(Math.ceil(Math.max(0, millis) / one))),
  )

/** Blocks by which the newest one may be behind the chain, beyond those that pass before a quarantine ends. */
const behindNow = Effect.gen(function* () {
  const rows = yield* (yield* Observations).watermark
  const now = yield* Clock.currentTimeMillis
  return yield* blocksIn(now - millisOf(rows?.timestamp ?? 0n) - passedMillis)
})

/** Signs nothing for one window: payments in flight from a lost database execute or expire in it. */
export const keepQuarantine = Effect.fnUntraced(function* () {
  const settings = yield* Settings
  const clearance = yield* Clearance
  if (yield* clearance.isOpen) return undefined
  const stored = (yield* settings.get(quarantineKey)) ?? ""
  if (stored === "") return yield* writeIfStill(stored, clearance.quarantine(undefined))
  const counted = lastBlockOf(stored)
  yield* clearance.quarantine(`nothing ${signedAfter(counted)}`)
  const head = yield* (yield* ChainHeadCache).head
  if (yield* haltOnWrongChain(head)) return undefined
  const { maxAgeMillis } = (yield* CycleConfig).treasury.network
  const latest = head.height + BigInt(windowBlocksMax) + quarantineBlocks + (yield* blocksIn(maxAgeMillis))
  // A count that no window from here reaches was made on the chain before a reset.
  const isCounted = counted !== null && counted <= latest
  // A gateway that is behind names a head from which the window ends too early.
  if (!isCounted && (yield* clockGapNow) !== undefined) return undefined
  const window = yield* (yield* ChainState).windowAt(head.height)
  const countedBy = isCounted ? Number(stored.split(" ")[1] ?? 0) : window
  // By a larger window nodes judge bytes that were signed before it as well.
  const grown = BigInt(Math.max(0, window - countedBy))
  const until = isCounted ? counted + grown : head.height + BigInt(window) + quarantineBlocks + (yield* behindNow)
  const kept = `${until} ${Math.max(window, countedBy)}`
  if (kept !== stored) yield* writeIfStill(stored, settings.set(quarantineKey, kept))
  if (yield* notePassed(head.height > until)) {
    // A listing that clears a key now must reach up to here, including transfers that no earlier reading showed.
    yield* (yield* AuditMemory).restart
    const { rereadAll } = yield* LedgerAudit
    const end = Effect.all([rereadAll, settings.forget(quarantineKey), clearance.quarantine(undefined)])
    return yield* writeIfStill(kept, end)
  }
  return yield* clearance.quarantine(`nothing ${signedAfter(until)}`)
})
