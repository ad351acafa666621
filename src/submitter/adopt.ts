import { Effect } from "effect"
import { Confirmation, type TransferListing } from "../gateway/Confirmation.ts"
import { GatewayError } from "../gateway/GatewayError.ts"
import { Brake } from "../store/Brake.ts"
import { Database } from "../store/Database.ts"
import { Findings, type Stranger } from "../store/Findings.ts"
import { Journal } from "../store/Journal.ts"
import { Settings } from "../store/Settings.ts"
import { countSpends } from "./countSpends.ts"
import { judgeStrangers, ownSequence } from "./noteListing.ts"
import { beginQuarantine } from "./quarantine.ts"

/** Who asks, and why: both are journalled. */
export interface Asked {
  readonly reason: string
  readonly author: string
}

/** Asked in the transaction, before anything is taken for known: whoever must agree to these payments. */
export type Agree<E, R> = (found: ReadonlyArray<Stranger>) => Effect.Effect<unknown, E, R>

const idsPerEntry = 200

/**
 * Takes the payments that keys made elsewhere for known, counts those of the last 24 hours in the policy's windows, and
 * ends the halt that they raised. Until a window has passed nothing is signed, since what made them may have more under
 * way. Payments of this installation that the journal misses are not adopted: `recover` imports them. Returns the
 * adopted ones.
 */
export const adopt = Effect.fn("Adopt")(function* <E, R>(
  keys: ReadonlyArray<string>,
  { reason, author }: Asked,
  agree: Agree<E, R>,
) {
  const findings = yield* Findings
  const journal = yield* Journal
  const brake = yield* Brake
  const installation = yield* (yield* Settings).get("installation")
  const listings = yield* Effect.forEach(keys, listWhole)
  const database = yield* Database
  return yield* database.atomically(
    Effect.gen(function* () {
      const found = yield* noteWhole(listings, installation)
      yield* judgeStrangers(
        installation,
        found.filter((stranger) => stranger.own),
      )
      const adopted = (yield* findings.strangers).filter((stranger) => !stranger.own)
      yield* agree(adopted)
      const ids = adopted.map(({ id }) => id)
      yield* findings.acknowledge(ids, "adopted")
      yield* countSpends(adopted)
      for (let i = 0; i === 0 || i < ids.length; i += idsPerEntry) {
        const body = { reason, author, count: ids.length, ids: ids.slice(i, i + idsPerEntry) }
        yield* journal.append({ kind: "adopted", subject: "foreign_payment", body })
      }
      const isHalted = (yield* brake.halts).some(({ reason: halted }) => halted === "foreign_payment")
      if (isHalted || ids.length > 0) yield* beginQuarantine()
      yield* brake.release("foreign_payment", `${author}: ${reason}`)
      return adopted
    }),
  )
})

interface Whole {
  readonly party: string
  /** Withdrawals too; undefined where the gateway lists no transfers at all. */
  readonly listing: TransferListing | undefined
  /** Whether withdrawals are in it. */
  readonly isWithWithdrawals: boolean
}

/**
 * All transfers and withdrawals that the ledger lists of a key. Fails where a listing comes to no end: half of it says
 * nothing.
 */
export const listWhole = Effect.fnUntraced(function* (party: string) {
  const confirmation = yield* Confirmation
  const told = <A>(asked: Effect.Effect<A, GatewayError>) =>
    asked.pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  const transfers = yield* told(confirmation.transfersFrom(party))
  const withdrawals = yield* told(confirmation.withdrawalsFrom(party))
  if (transfers?.complete !== false && withdrawals?.complete !== false) {
    const listing = transfers && {
      ...transfers,
      transfers: [...transfers.transfers, ...(withdrawals?.transfers ?? [])],
    }
    return { party, listing, isWithWithdrawals: withdrawals !== undefined } satisfies Whole
  }
  const detail = "the listing of transfers comes to no end"
  return yield* new GatewayError({
    gateway: "the gateway",
    operation: "transfers",
    reason: { _tag: "Unreadable", detail },
  })
})

/** Stores what whole listings showed, without halting on it. Returns the strangers that were not seen before. */
export const noteWhole = Effect.fnUntraced(function* (
  listings: ReadonlyArray<Whole>,
  installation: string | undefined,
) {
  const findings = yield* Findings
  const found: Array<Stranger> = []
  for (const { party, listing } of listings) {
    if (listing === undefined) continue
    const { transfers } = listing
    const isOwn = (reference: string) => ownSequence(installation, reference) !== undefined
    // One reading alone, which a page may have left something out of, takes no later one its beginning.
    found.push(...(yield* findings.note({ party, cursor: undefined, transfers, isOwn })).strangers)
  }
  return found
})
