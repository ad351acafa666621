import { Clock, Effect } from "effect"
import type { Mode, Treasury } from "../config/Treasury.ts"
import { formatAmount } from "../domain/Amount.ts"
import { subjectOf } from "../poller/driftWords.ts"
import { Reconciliation, reconcileBalances } from "../poller/Reconciliation.ts"
import { Drifts } from "../store/Drifts.ts"
import { Observations } from "../store/Observations.ts"
import { compareHistory } from "../submitter/compareHistory.ts"

/** One thing that our books and the gateway tell differently. */
interface ReconciledRow {
  /** drift, or a kind of `HistoryDifference`. */
  readonly kind: string
  /** Whose: a party, or a party and asset. */
  readonly subject: string
  /** Of the transfer or payment; "" for balances. */
  readonly id: string
  readonly ours: string
  readonly ledger: string
}

export interface Reconciled {
  readonly differences: ReadonlyArray<ReconciledRow>
  /** Accounts whose balances were compared; null where no comparison came to its end in time. */
  readonly accounts: number | null
  /** Transfers of our keys that the gateway lists; null where the mode pays nothing, so that there is no journal. */
  readonly transfers: number | null
}

/** A comparison needs a block that is newer than the listing, two where something differs. */
const patienceMillis = 45_000

/**
 * Compares balances and payments with what the gateway says now. `advance` brings the balance rows further: it is
 * asked for as long as the comparison waits for newer ones.
 */
export const reconcileNow = Effect.fn("Control.reconcile")(function* <E, R>(
  place: { readonly treasury: Treasury; readonly mode: Mode },
  advance: Effect.Effect<unknown, E, R>,
) {
  const { treasury, mode } = place
  const { parties, assets, network } = treasury
  const reconciliation = yield* Reconciliation
  const before = yield* reconciliation.request
  const deadline = (yield* Clock.currentTimeMillis) + patienceMillis
  let isCompared = false
  while (!isCompared && (yield* Clock.currentTimeMillis) < deadline) {
    yield* reconcileBalances({ ...network, parties, assets })
    isCompared = (yield* reconciliation.count) > before
    if (!isCompared) yield* advance
  }
  const drifts = (yield* (yield* Drifts).all).map((drift): ReconciledRow => {
    const decimals = [...assets.values()].find(({ id }) => id === drift.asset)?.decimals ?? 0
    const say = (units: bigint) => formatAmount(units, decimals)
    const subject = subjectOf({ parties, assets }, drift)
    return { kind: "drift", subject, id: "", ours: say(drift.stored), ledger: say(drift.reported) }
  })
  const keys = [...parties.values()].filter(({ signer }) => signer !== undefined).map(({ publicKey }) => publicKey)
  const history = mode === "live" ? yield* compareHistory(keys) : undefined
  const nameOf = (key: string) => [...parties.values()].find(({ publicKey }) => publicKey === key)?.name ?? ""
  const payments = (history?.differences ?? []).map(
    ({ kind, party, id, ours, ledger }): ReconciledRow => ({ kind, subject: nameOf(party), id, ours, ledger }),
  )
  const watched = new Set<string>([...parties.values()].map(({ publicKey }) => publicKey))
  const accounts = (yield* (yield* Observations).accounts).filter(({ party }) => watched.has(party)).length
  return {
    differences: [...drifts, ...payments],
    accounts: isCompared ? accounts : null,
    transfers: history?.transfers ?? null,
  } satisfies Reconciled
})
