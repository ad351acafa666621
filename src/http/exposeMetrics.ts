import { Clock, Effect, Option } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { toDouble } from "../domain/Amount.ts"
import { type ConditionName, conditionNames } from "../domain/alerts/healthConditions.ts"
import { general } from "../domain/Balance.ts"
import { haltReasons } from "../domain/Halt.ts"
import { openIntentStates } from "../domain/Intent.ts"
import { millisOf } from "../domain/Time.ts"
import { Health } from "../gateway/Health.ts"
import { assetById, partyByKey } from "../rules/Account.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import { DiskSpace } from "../store/database/DiskSpace.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { Listings } from "../store/network/Listings.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { pauseScopes, statusLabels } from "../telemetry/metricTable.ts"
import { readOutOfBand } from "./readFacts.ts"
import { readView } from "./StatusView.ts"
import type { View } from "./View.ts"
import { limitUses, marksOf } from "./views.ts"

const modes = ["observe", "shadow", "live"] as const

const setHealth = (
  { healthy }: Metrics["Service"],
  { name }: Treasury,
  isHealthy: (name: ConditionName) => boolean,
) => {
  for (const condition of conditionNames) healthy.set({ treasury: name, condition }, isHealthy(condition) ? 1 : 0)
}

/** Sets all conditions as not healthy: without the store their state is unknown. */
export const markUnknown = (metrics: Metrics["Service"], treasury: Treasury) =>
  setHealth(metrics, treasury, () => false)

/** Sets the gauges of the store, then returns the whole text. A store that fails does not fail the scrape. */
export const exposeMetrics = Effect.fn("Status.metrics")(function* (treasury: Treasury) {
  const metrics = yield* Metrics
  yield* readView().pipe(
    Effect.tap((view) => setViewGauges(treasury, view)),
    Effect.andThen(setStoreGauges(treasury)),
    Effect.catchTag("StoreError", (error) => {
      markUnknown(metrics, treasury)
      return logEvent("metrics of the database are old", { reason: error.message })
    }),
  )
  return yield* Effect.promise(metrics.text)
})

/** Sets the gauges that are computed from the view of the page. */
const setViewGauges = Effect.fnUntraced(function* (treasury: Treasury, view: View) {
  const metrics = yield* Metrics
  const { name } = treasury
  setHealth(metrics, treasury, (one) => view.conditions.every(({ condition }) => condition !== one))
  const halts = new Set(view.halts.map(({ reason }) => reason))
  for (const reason of haltReasons) metrics.halted.set({ treasury: name, reason }, halts.has(reason) ? 1 : 0)
  for (const mode of modes) metrics.mode.set({ treasury: name, mode }, mode === view.mode ? 1 : 0)
  const { accepted, refused } = view.acceptance
  metrics.acceptanceRatio.reset()
  if (accepted + refused > 0) metrics.acceptanceRatio.set({ treasury: name }, accepted / (accepted + refused))
  for (const scope of pauseScopes) {
    const pauses = view.pauses.filter((pause) => pause.scope.split(":")[0] === scope)
    const n = scope === "maintenance" ? view.maintenance.length : pauses.length
    metrics.pauses.set({ treasury: name, scope }, n)
  }
  const out = yield* readOutOfBand(treasury, view, Date.parse(view.at))
  metrics.accountOutOfBand.reset()
  for (const { party, asset } of view.accounts) {
    const since = out.find(({ account }) => account === `${party}/${asset}`)
    metrics.accountOutOfBand.set({ treasury: name, party, asset }, since?.seconds ?? 0)
  }
})

const setStoreGauges = Effect.fnUntraced(function* (treasury: Treasury) {
  const metrics = yield* Metrics
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const name = treasury.name
  const { free } = yield* (yield* DiskSpace).room
  if (free !== undefined) metrics.storeFreeBytes.set(free)
  yield* setFindings(treasury)
  const open = yield* outbox.open
  for (const state of openIntentStates) {
    const own = open.filter((i) => i.state === state)
    metrics.intents.set({ treasury: name, state }, own.length)
    const oldest = Math.min(now, ...own.map((i) => i.createdAt))
    metrics.intentOldest.set({ treasury: name, state }, (now - oldest) / 1_000)
  }
  const pending = yield* (yield* AlertQueue).pending
  // Alerts may wait for a receiver that the file no longer names, until they are given up.
  for (const one of [metrics.alertsPending, metrics.alertOldestPending]) one.reset()
  const receivers = [...treasury.receivers.map((one) => one.name), ...pending.map((one) => one.receiver)]
  for (const receiver of new Set(receivers)) {
    const own = pending.find((one) => one.receiver === receiver)
    metrics.alertsPending.set({ receiver }, own?.n ?? 0)
    metrics.alertOldestPending.set({ receiver }, own === undefined ? 0 : Math.abs(now - own.oldest) / 1_000)
  }
  yield* setNetwork(treasury)
  setLevels(treasury, metrics)
  yield* setBalances(treasury, now)
  yield* setDrift(treasury)
  yield* setQuotas(treasury)
  yield* setLimits(treasury)
  metrics.ruleHold.reset()
  const longest = new Map<string, { readonly reason: string; readonly since: number }>()
  for (const m of yield* (yield* RuleStates).all) {
    const known = longest.get(m.rule)
    if (m.reason === undefined || (known !== undefined && known.since <= m.reasonSince)) continue
    longest.set(m.rule, { reason: m.reason, since: m.reasonSince })
  }
  const rules = new Set(treasury.rules.map((rule) => rule.name))
  for (const [rule, { reason, since }] of longest) {
    if (rules.has(rule)) metrics.ruleHold.set({ treasury: name, rule, reason }, (now - since) / 1_000)
  }
})

/** The band of each account, beside its balance. */
const setLevels = (treasury: Treasury, { accountLevel }: Metrics["Service"]) => {
  accountLevel.reset()
  for (const party of treasury.parties.values()) {
    for (const asset of treasury.assets.values()) {
      for (const { name: level, rule, units } of marksOf(treasury, party.name, asset)) {
        const labels = { treasury: treasury.name, party: party.name, asset: asset.symbol, level, rule }
        accountLevel.set(labels, toDouble(units, asset.decimals))
      }
    }
  }
}

/** Clocks of the gateways, and what the network lists. */
const setNetwork = Effect.fnUntraced(function* ({ name }: Treasury) {
  const metrics = yield* Metrics
  metrics.gatewayClockSkew.reset()
  const health = Option.getOrUndefined(yield* Effect.serviceOption(Health))
  for (const { name: gateway, aheadMillis } of health === undefined ? [] : yield* health.all) {
    if (aheadMillis !== undefined) metrics.gatewayClockSkew.set({ gateway }, aheadMillis / 1_000)
  }
  const listed = yield* (yield* Listings).assets
  for (const status of statusLabels) {
    metrics.assets.set({ treasury: name, status }, listed.filter((asset) => asset.status === status).length)
  }
})

/** Absolute differences of a party's asset, summed over all its accounts. */
const setDrift = Effect.fnUntraced(function* (treasury: Treasury) {
  const metrics = yield* Metrics
  const drifts = yield* (yield* Drifts).all
  metrics.reconcileDrift.reset()
  for (const party of treasury.parties.values()) {
    for (const asset of treasury.assets.values()) {
      const units = drifts
        .filter((one) => one.party === party.publicKey && one.asset === asset.id)
        .map(({ stored, reported }) => (reported > stored ? reported - stored : stored - reported))
        .reduce((sum, one) => sum + one, 0n)
      const labels = { treasury: treasury.name, party: party.name, asset: asset.symbol }
      metrics.reconcileDrift.set(labels, toDouble(units, asset.decimals))
    }
  }
})

/** Payers' use of the network's transfer limit; an unknown use is left out, not zero. */
const setQuotas = Effect.fnUntraced(function* (treasury: Treasury) {
  const metrics = yield* Metrics
  metrics.epochTransfersUsed.reset()
  metrics.epochTransfersLimit.reset()
  for (const { name, publicKey, signer } of treasury.parties.values()) {
    const quota = signer === undefined ? undefined : yield* (yield* ChainState).quota(publicKey)
    if (quota === undefined) continue
    const labels = { treasury: treasury.name, party: name }
    metrics.epochTransfersUsed.set(labels, quota.used)
    metrics.epochTransfersLimit.set(labels, quota.limit)
  }
})

/** Use of the policy's limits, signed or reserved. Reset first: a changed policy has other lines. */
const setLimits = Effect.fnUntraced(function* (treasury: Treasury) {
  const metrics = yield* Metrics
  metrics.policyUsed.reset()
  for (const { line, limit, share } of yield* limitUses(treasury)) {
    metrics.policyUsed.set({ treasury: treasury.name, line, limit }, share)
  }
})

/** Second executions and unrecognized transfers that no person has acknowledged yet. */
const setFindings = Effect.fnUntraced(function* (treasury: Treasury) {
  const metrics = yield* Metrics
  const { duplicates, unacknowledged } = yield* LedgerAudit
  metrics.duplicateExecutions.set({ treasury: treasury.name }, (yield* duplicates).length)
  const unknown = yield* unacknowledged
  for (const { name, publicKey, signer } of treasury.parties.values()) {
    if (signer === undefined) continue
    const own = unknown.filter(({ from }) => from === publicKey)
    metrics.foreignPayments.set({ treasury: treasury.name, party: name }, own.length)
  }
})

/** Balances of the accounts that the file names. Other accounts must not become labels. */
const setBalances = Effect.fnUntraced(function* (treasury: Treasury, now: number) {
  const metrics = yield* Metrics
  const observations = yield* Observations
  const open = yield* (yield* Outbox).open
  const watermark = yield* observations.watermark
  if (watermark === undefined) return
  const age = (now - millisOf(watermark.timestamp)) / 1_000
  const rows = yield* observations.accounts
  // A changed file may name other accounts.
  for (const one of [metrics.observationAge, metrics.accountBalance]) one.reset()
  for (const account of rows) {
    const party = partyByKey(treasury.parties, account.party)
    const asset = assetById(treasury.assets, account.asset)
    if (party === undefined || asset === undefined || account.type !== general || account.market !== "") continue
    const labels = { treasury: treasury.name, party: party.name, asset: asset.symbol }
    const reserved = open
      .filter((i) => i.payment.fromKey === party.publicKey && i.payment.assetId === asset.id)
      .reduce((sum, i) => sum + i.payment.amount + i.feeMax, 0n)
    const set = (kind: string, units: bigint) =>
      metrics.accountBalance.set({ ...labels, kind }, toDouble(units, asset.decimals))
    metrics.observationAge.set(labels, age)
    set("observed", account.balance)
    set("reserved", reserved)
    set("available", account.balance > reserved ? account.balance - reserved : 0n)
  }
})
