import { Clock, Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { type AccountKey, general, totalTypes } from "../domain/Balance.ts"
import { haltInForce } from "../domain/Halt.ts"
import type { Intent } from "../domain/Intent.ts"
import { dayMillis, millisOf } from "../domain/Time.ts"
import type { BalanceKind } from "../rules/Account.ts"
import { reachOf } from "../rules/checks/history.ts"
import { isDue } from "../rules/kinds/payout.ts"
import { isUnsigned, type PeriodUse, type Policy, type PolicyLine } from "../rules/policy/Policy.ts"
import { isPaying, type Rule } from "../rules/Rule.ts"
import { firingOf, type Memories, memoryKey } from "../rules/RuleMemory.ts"
import { type Listed, type Quota, type Snapshot, transferParametersOf } from "../rules/Snapshot.ts"
import { subjectsOf } from "../rules/Subject.ts"
import { disagreement as disagreed } from "../store/alerts/makeTrouble.ts"
import { type Drift, Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import type { AccountBalance } from "../store/balances/storeRows.ts"
import { Controls } from "../store/controls/Controls.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { Listings } from "../store/network/Listings.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { SpendLog } from "../store/payments/SpendLog.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"

/** Signatures that limits count: those since a time, except of intents that rules add themselves. */
interface Day {
  readonly since: number
  readonly except: ReadonlySet<string>
}

/** The 24 hours before the newest block, or before `now` if that is earlier. Both are Unix milliseconds. */
export const dayOf = (open: ReadonlyArray<Pick<Intent, "id" | "state">>, now: number, blockTime: number): Day => {
  // Rules count unsigned intents themselves: one that was signed before and waits to be signed again would count twice.
  const waiting = open.filter(isUnsigned).map((intent) => intent.id)
  return { since: Math.min(now, blockTime) - dayMillis, except: new Set(waiting) }
}

/** Amounts signed within the day under each line of the policy. */
export const signedUses = Effect.fnUntraced(function* (policy: Policy, day: Day) {
  const spends = yield* SpendLog
  const uses = new Map<number, PeriodUse>()
  for (const line of policy.lines) uses.set(line.line, yield* spends.usedIn(policy, line, day))
  return { signed: (line: PolicyLine) => uses.get(line.line) ?? { amount: 0n, count: 0 } }
})

const unchecked = "not yet compared with the gateway's balances since the start"

/** Reads all that decisions depend on. Call it inside the transaction that stores the decisions. */
export const takeSnapshot = Effect.fn("Engine.snapshot")(function* (memories: Memories) {
  const { rules, policy, network } = (yield* CycleConfig).treasury
  const observations = yield* Observations
  const listings = yield* Listings
  const outbox = yield* Outbox
  const controls = yield* Controls
  const drifts = yield* Drifts
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* observations.watermark
  const accounts = yield* observations.accounts
  const assets = yield* listings.assets
  const paying = rules.filter(isPaying)
  const reach = reachOf(paying)
  const blockTime = watermark === undefined ? now : millisOf(watermark.timestamp)
  const open = yield* outbox.open
  const quotas = yield* quotasOf(rules)
  const lastSigned = yield* lastSignedOf(memories, now)
  const day = dayOf(open, now, blockTime)
  const signed = yield* signedUses(policy, day)
  const catchingUp = (yield* drifts.isChecked) ? undefined : unchecked
  const drifting = yield* drifts.all
  const disagreement = (yield* (yield* disagreed).now)?.detail
  const halts = (yield* controls.halts).map(haltInForce)
  const pauses = yield* controls.pauses
  const chainUnsettled = yield* (yield* ChainState).oddWork
  const drifted = drifting.map(({ party, asset, type }) => [party, asset, type])
  return {
    accounts,
    /** Whatever stops or blinds rules regardless of their balances: compared with the last round's. */
    stops: JSON.stringify([catchingUp, drifted, disagreement, chainUnsettled, halts, pauses]),
    now,
    asOf: watermark?.timestamp,
    maxAgeMillis: network.maxAgeMillis,
    catchingUp,
    drift: driftOf(drifting),
    disagreement,
    balance: balanceOf(accounts),
    listed: listedOf(assets),
    parameters: transferParametersOf(yield* listings.parameters),
    // A settled payment whose movement was not seen yet keeps both accounts reserved.
    open: [...open, ...(yield* outbox.unmoved)],
    settled: yield* outbox.settledSince(Math.min(now, blockTime) - reach.settled),
    requests: yield* (yield* RuleStates).requests(now - reach.asked),
    chainUnsettled,
    firing: firingOf(memories, rules),
    priorities: new Map(paying.map(({ name, priority }) => [name, priority])),
    quota: (party) => quotas.get(party),
    halts,
    pauses,
    policy,
    lastSigned: (rule, subject) => lastSigned.get(memoryKey(rule, subject)),
    ...signed,
  } satisfies Snapshot & Record<string, unknown>
})

/** Undefined while no listing was read. */
export const listedOf = (
  assets: ReadonlyArray<Listed & { readonly id: string }>,
): ReadonlyMap<string, Listed> | undefined =>
  assets.length === 0
    ? undefined
    : new Map(assets.map(({ id, status, decimals, quantum }): [string, Listed] => [id, { status, decimals, quantum }]))

const knownPayers = new WeakMap<ReadonlyArray<Rule>, ReadonlySet<string>>()

/** Keys that rules pay with. A treasury may have a hundred thousand subjects, and the same rules for months. */
const payersOf = (rules: ReadonlyArray<Rule>): ReadonlySet<string> => {
  const known = knownPayers.get(rules)
  if (known !== undefined) return known
  const subjects = rules.filter(isPaying).flatMap(subjectsOf)
  const payers = new Set<string>(subjects.flatMap((subject) => subject.payers.map(({ publicKey }) => publicKey)))
  knownPayers.set(rules, payers)
  return payers
}

const quotasOf = Effect.fnUntraced(function* (rules: ReadonlyArray<Rule>) {
  const state = yield* ChainState
  const quotas = new Map<string, Quota | undefined>()
  for (const payer of payersOf(rules)) quotas.set(payer, yield* state.quota(payer))
  return quotas
})

/** Last signatures of payouts that catch up on missed times, where one is due. */
const lastSignedOf = Effect.fnUntraced(function* (memories: Memories, now: number) {
  const { name: treasury, rules } = (yield* CycleConfig).treasury
  const found = new Map<string, number | undefined>()
  const payouts = new Map(rules.flatMap((one) => (one.kind === "payout" ? [[one.name, one] as const] : [])))
  if (payouts.size === 0) return found
  for (const { rule, subject, episode } of memories.values()) {
    const payout = payouts.get(rule)
    if (payout?.schedule.missed !== "once" || !isDue(payout, episode, now)) continue
    found.set(memoryKey(rule, subject), yield* (yield* Outbox).lastSigned({ treasury, rule, subject }))
  }
  return found
})

const isOf = (kind: BalanceKind, { type, market }: AccountKey): boolean =>
  kind === "free" ? type === general && market === "" : totalTypes.has(type)

/** Mismatches, by the account of a rule. */
const driftOf =
  (drifts: ReadonlyArray<Drift>): Snapshot["drift"] =>
  (party, assetId, kind) => {
    const first = drifts.find((drift) => drift.party === party && drift.asset === assetId && isOf(kind, drift))
    if (first === undefined) return undefined
    const since = new Date(first.since).toISOString().slice(0, 19)
    return `our rows and the gateway's balance differ since ${since}Z`
  }

/** free: the general account alone. total: all that still belongs to the party. Undefined where no account was seen. */
export const balanceOf = (accounts: ReadonlyArray<AccountBalance>): Snapshot["balance"] => {
  const free = makeBalances()
  for (const { party, asset, market, type, balance } of accounts) {
    if (type === general && market === "") free.of(asset).set(party, balance)
  }
  // Few treasuries have a rule that needs it.
  let total: Balances | undefined
  return (party, assetId, kind) => {
    if (kind === "free") return free.byAsset.get(assetId)?.get(party)
    total ??= totalsOf(accounts)
    return total.byAsset.get(assetId)?.get(party)
  }
}

const totalsOf = (accounts: ReadonlyArray<AccountBalance>): Balances => {
  const total = makeBalances()
  for (const { party, asset, type, balance } of accounts) {
    if (!totalTypes.has(type)) continue
    const ofAsset = total.of(asset)
    ofAsset.set(party, (ofAsset.get(party) ?? 0n) + balance)
  }
  return total
}

type Balances = ReturnType<typeof makeBalances>

/** Balances by asset and party: a joint key would be built for each account and each query. */
const makeBalances = () => {
  const byAsset = new Map<string, Map<string, bigint>>()
  return {
    byAsset: byAsset as ReadonlyMap<string, ReadonlyMap<string, bigint>>,
    of: (asset: string): Map<string, bigint> => {
      const known = byAsset.get(asset)
      if (known !== undefined) return known
      const made = new Map<string, bigint>()
      byAsset.set(asset, made)
      return made
    },
  }
}
