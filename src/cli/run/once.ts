import { Clock, Effect } from "effect"
import { deliverOnce, remindersOf } from "../../alerts/AlertLoop.ts"
import { byOneConfig, CycleConfig } from "../../config/ConfigInForce.ts"
import { haltLoop } from "../../daemon.ts"
import type { Intent } from "../../domain/Intent.ts"
import { decideOnce } from "../../engine/Engine.ts"
import { notifyAssets } from "../../engine/notifyAssets.ts"
import { settleTerms } from "../../http/termsApproval.ts"
import type { DaemonOptions } from "../../layers.ts"
import { pollAssets } from "../../poller/AssetPoller.ts"
import { pollBalances } from "../../poller/BalancePoller.ts"
import { payersOf, pollWorkAndEpoch, readParameters } from "../../poller/pollNetwork.ts"
import { reconcileBalances } from "../../poller/Reconciliation.ts"
import { Drifts } from "../../store/balances/Drifts.ts"
import { holdsOf } from "../../store/controls/Controls.ts"
import { Outbox } from "../../store/payments/Outbox.ts"
import { reconcileOnce } from "../../submitter/audit/Reconcile.ts"
import { confirmOnce } from "../../submitter/Confirm.ts"
import { submitOnce } from "../../submitter/Submitter.ts"
import { failWith } from "../common/output.ts"
import { haltOnSignal } from "./signals.ts"

/** Time in which a payment is confirmed, or its window ends and its absence is proven. */
const timeOutMillis = 600_000

export const pollOf = ({ treasury }: DaemonOptions) => pollBalances(treasury)

/** Reads the asset listing once, if there is one: a pin never compared with it prevents signing. */
export const assetsOf = ({ treasury }: DaemonOptions) =>
  pollAssets([...treasury.assets.values()]).pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.void))

/** Longest wait for a comparison of balances, which takes a block or two. Until there is one, rules hold. */
const compareMillis = 30_000

/** Compares the balances with the gateway's own, as a daemon does at its start. */
const compareOnce = Effect.fnUntraced(function* (options: DaemonOptions) {
  const drifts = yield* Drifts
  const deadline = (yield* Clock.currentTimeMillis) + compareMillis
  for (;;) {
    yield* reconcileBalances(options.treasury)
    if ((yield* drifts.isChecked) || (yield* Clock.currentTimeMillis) > deadline) return
    yield* Effect.sleep(options.treasury.network.pollBusyMillis)
    yield* pollOf(options)
  }
})

/**
 * Obeys the HALT file and SIGUSR2 meanwhile, as a daemon does: with SQLite the store is in use, and a halt from
 * elsewhere can only write that file.
 */
export const obeyingHalts = <A, E, R>(work: Effect.Effect<A, E, R>, options: DaemonOptions) =>
  Effect.raceAllFirst([haltLoop(options), haltOnSignal(options), work])

/**
 * Brings every open payment to its end, but those that wait for a person. Runs by the configuration in force instead of
 * `options.treasury`: it also has the receivers of an earlier file that still get pages.
 */
export const settleOpenPayments = Effect.fn("Cli.settleOpenPayments")(function* (options: DaemonOptions) {
  const outbox = yield* Outbox
  const deadline = (yield* Clock.currentTimeMillis) + timeOutMillis
  yield* pollOf(options)
  // A halt or pause blocks a payment before its signature until a person ends it.
  const waitsForPerson = Effect.fnUntraced(function* (intent: Intent) {
    const { state } = intent
    if (state === "manual" || state === "awaiting_approval") return true
    return (state === "proposed" || state === "reserved") && (yield* holdsOf(intent)).length > 0
  })
  const isAnyUnderWay = Effect.map(
    Effect.flatMap(outbox.open, (open) => Effect.forEach(open, waitsForPerson)),
    (waits) => waits.includes(false),
  )
  // Payments that people have approved since the last run go on here.
  if ((yield* outbox.open).some(({ state }) => state === "awaiting_approval")) yield* submitOnce()
  while (yield* isAnyUnderWay) {
    if ((yield* Clock.currentTimeMillis) > deadline) {
      return yield* failWith("timeOut", "a payment is still open; run again, nothing is sent twice")
    }
    yield* reconcileOnce()
    yield* readParameters
    yield* submitOnce()
    yield* confirmOnce()
    yield* pollOf(options)
    yield* Effect.sleep(options.treasury.network.pollBusyMillis)
  }
  const { treasury } = yield* CycleConfig
  yield* deliverOnce(options.treasury.name, () => remindersOf(treasury))
  return undefined
}, byOneConfig)

/** Runs one cycle, settles every open payment and exits: for a treasury that a timer starts. */
export const runOnce = Effect.fn("Cli.runOnce")(function* (options: DaemonOptions) {
  yield* pollWorkAndEpoch(payersOf(options.treasury.parties.values()), readParameters)
  yield* assetsOf(options)
  while (yield* pollOf(options)) yield* Effect.yieldNow
  yield* compareOnce(options)
  yield* notifyAssets()
  yield* settleTerms()
  yield* byOneConfig(decideOnce())
  return yield* settleOpenPayments(options)
}, obeyingHalts)
