import { Clock, Context, Effect, Layer, Option } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { general } from "../domain/AccountType.ts"
import { formatAmount, formatLevel } from "../domain/Amount.ts"
import { deadlineHeight } from "../domain/Attempt.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { type GatewayHealth, Health } from "../gateway/Health.ts"
import { sourceKey } from "../poller/BalancePoller.ts"
import { isPaying, levelsOf, type PinnedAsset } from "../rules/Rule.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Backfills } from "../store/Backfills.ts"
import { Brake } from "../store/Brake.ts"
import { Journal } from "../store/Journal.ts"
import { type AccountBalance, Observations, type Watermark } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import { type RuleMemory, RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"
import { SpendLog } from "../store/SpendLog.ts"
import type { StoreError } from "../store/StoreError.ts"
import { sentenceOf } from "./sentence.ts"
import type { AccountView, IntentView, ObservationView, PolicyView, RuleView, View } from "./View.ts"

const dayMillis = 86_400_000
const recentMax = 10

export interface StatusOptions {
  readonly treasury: Treasury
  readonly mode: string
  readonly version: string
}

/** One reading of everything a person should see. */
export class StatusView extends Context.Service<StatusView, { readonly view: Effect.Effect<View, StoreError> }>()(
  "cofferer/status/StatusView",
) {
  static readonly layer = (options: StatusOptions) =>
    Layer.effect(
      StatusView,
      Effect.gen(function* () {
        const needs = yield* Effect.context<Needs>()
        const health = yield* Effect.serviceOption(Health)
        const gateways = Option.match(health, { onNone: () => Effect.succeed([]), onSome: ({ all }) => all })
        return StatusView.of({
          view: Effect.flatMap(gateways, (known) => read(options, known)).pipe(Effect.provideContext(needs)),
        })
      }),
    )
}

type Needs = AlertQueue | Backfills | Brake | Journal | Observations | Outbox | RuleStates | Settings | SpendLog

const read = Effect.fn("StatusView.view")(function* (options: StatusOptions, known: ReadonlyArray<GatewayHealth>) {
  const { treasury, mode } = options
  const outbox = yield* Outbox
  const observations = yield* Observations
  const brake = yield* Brake
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* observations.watermark
  const open = yield* outbox.open
  const memories = yield* (yield* RuleStates).all
  const settings = yield* Settings
  const halts = yield* brake.halts
  const pauses = yield* brake.pauses
  const accounts = accountViews(
    treasury,
    yield* observations.accounts,
    open,
    observationOf({ source: (yield* settings.get(sourceKey)) ?? treasury.network.gateways[0].name, watermark, now }),
  )
  const finals = (yield* outbox.recent(recentMax + open.length))
    .filter((i) => isFinalIntent(i.state))
    .slice(0, recentMax)
  const ageSeconds =
    watermark === undefined ? null : Math.max(0, (now - Number(watermark.timestamp / 1_000_000n)) / 1_000)
  const today = (yield* outbox.settledSince(now - dayMillis)).filter((i) => i.state === "confirmed").length
  const head = yield* (yield* Journal).head
  const pending = yield* (yield* AlertQueue).pending
  const view: Omit<View, "sentence"> = {
    treasury: treasury.name,
    mode,
    version: options.version,
    network: {
      chainId: treasury.network.chainId,
      quorum: treasury.network.quorum,
      gateways: gatewayViews(treasury, known),
    },
    height: String(watermark?.height ?? 0n),
    ageSeconds,
    accounts,
    rules: ruleViews(treasury, memories),
    intents: yield* Effect.forEach([...open, ...finals], intentView),
    policy: yield* Effect.forEach(treasury.policy.lines, (line) => policyView(treasury, line, now - dayMillis)),
    acceptance: yield* outbox.acceptance(now - dayMillis),
    ...(yield* pastView()),
    alertsPending: pending.reduce((sum, { n }) => sum + n, 0),
    halts: halts.map(({ reason, detail, at }) => ({ reason, detail, at: new Date(at).toISOString() })),
    pauses: pauses.map(({ scope, reason, author }) => ({ scope, reason, author })),
    journal: { seq: head.seq, head: head.hash },
    at: new Date(now).toISOString(),
  }
  return { ...view, sentence: sentenceOf(view, { today, maxAgeSeconds: treasury.network.maxAgeMillis / 1_000 }) }
})

const isoOf = (nanos: bigint): string => new Date(Number(nanos / 1_000_000n)).toISOString()

const pastView = Effect.fnUntraced(function* () {
  const backfills = yield* Backfills
  const gaps = yield* backfills.gaps
  return {
    gaps: gaps.map(({ since, until, cause, seenAt }) => ({
      since: isoOf(since),
      until: isoOf(until),
      cause,
      seenAt: new Date(seenAt).toISOString(),
    })),
    backfills: (yield* backfills.open).map(({ since, until, next }) => ({
      since: isoOf(since),
      until: isoOf(until),
      next: isoOf(next),
      share: Number(((next - since) * 1_000n) / (until - since)) / 1_000,
    })),
  }
})

/** Rows are known up to one block for all accounts, so that block and its age are the same for each. */
const observationOf =
  ({
    source,
    watermark,
    now,
  }: {
    readonly source: string
    readonly watermark: Watermark | undefined
    readonly now: number
  }) =>
  ({ timestamp }: AccountBalance): ObservationView | null =>
    watermark === undefined
      ? null
      : {
          block: String(watermark.height),
          at: isoOf(watermark.timestamp),
          ageSeconds: Math.max(0, (now - Number(watermark.timestamp / 1_000_000n)) / 1_000),
          source,
          changedAt: isoOf(timestamp),
        }

/** Gateways as configured; without a daemon nothing is known of them. */
const gatewayViews = (treasury: Treasury, known: ReadonlyArray<GatewayHealth>): View["network"]["gateways"] =>
  treasury.network.gateways.map(({ name }) => {
    const health = known.find((one) => one.name === name)
    const height = health?.height === undefined ? null : String(health.height)
    return { name, state: health?.state ?? "unknown", height, detail: health?.detail ?? "" }
  })

/** Accounts that rules bound, or that pay; those out of band first. */
const accountViews = (
  treasury: Treasury,
  seen: ReadonlyArray<AccountBalance>,
  open: ReadonlyArray<Intent>,
  observed: (account: AccountBalance) => ObservationView | null,
): ReadonlyArray<AccountView> =>
  [...treasury.parties.values()]
    .flatMap((party) =>
      [...treasury.assets.values()].flatMap((asset): ReadonlyArray<AccountView> => {
        const account = seen.find(
          (a) => a.party === party.publicKey && a.asset === asset.id && a.type === general && a.market === "",
        )
        const levels = marksOf(treasury, party.name, asset)
        if (account === undefined && levels.length === 0) return []
        const mine = open.filter((i) => i.payment.assetId === asset.id)
        const sum = (intents: ReadonlyArray<Intent>, fee: boolean) =>
          intents.reduce((total, i) => total + i.payment.amount + (fee ? i.feeMax : 0n), 0n)
        const reserved = sum(
          mine.filter((i) => i.payment.fromKey === party.publicKey),
          true,
        )
        const incoming = sum(
          mine.filter((i) => i.payment.toKey === party.publicKey),
          false,
        )
        const balance = account?.balance ?? 0n
        const top = [balance + incoming, ...levels.map((l) => l.units)].reduce((a, b) => (a > b ? a : b), 1n)
        const share = (units: bigint) => Number((units * 1_000n) / ((top * 11n) / 10n + 1n)) / 1_000
        const say = (units: bigint) => formatAmount(units, asset.decimals)
        return [
          {
            party: party.name,
            asset: asset.symbol,
            balance: account === undefined ? "unknown" : say(balance),
            units: String(balance),
            reserved: say(reserved),
            incoming: say(incoming),
            available: say(balance > reserved ? balance - reserved : 0n),
            levels: levels.map((l) => ({
              name: l.name,
              value: formatLevel(l.units, asset.decimals),
              share: share(l.units),
            })),
            share: share(balance),
            shareSoon: share(balance - (reserved < balance ? reserved : balance) + incoming),
            observation: account === undefined ? null : observed(account),
            inBand: account !== undefined && levels.every((l) => l.holds(balance)),
          },
        ]
      }),
    )
    .toSorted((a, b) => Number(a.inBand) - Number(b.inBand))

const marksOf = (treasury: Treasury, party: string, asset: PinnedAsset) => {
  const floor = treasury.parties.get(party)?.floor.get(asset.id)
  const floors =
    floor === undefined ? [] : [{ name: "floor", units: floor as bigint, holds: (b: bigint) => b >= floor }]
  const bands = treasury.rules.flatMap((rule) =>
    levelsOf(rule)
      .filter((level) => level.party.name === party && level.asset.id === asset.id)
      .flatMap(({ trigger, target }) => [
        rule.kind === "topUp" || rule.kind === "request"
          ? { name: "below", units: trigger as bigint, holds: (b: bigint) => b >= trigger }
          : { name: "above", units: trigger as bigint, holds: (b: bigint) => b <= trigger },
        { name: "target", units: target as bigint, holds: () => true },
      ]),
  )
  return [...floors, ...bands]
}

const ruleViews = (treasury: Treasury, memories: ReadonlyArray<RuleMemory>): ReadonlyArray<RuleView> =>
  treasury.rules.flatMap((rule): ReadonlyArray<RuleView> => {
    if (!isPaying(rule)) {
      const asset = rule.asset === "any" ? "any asset" : rule.asset.symbol
      const sentence = `tells when ${asset} becomes ${rule.becomes.join(" or ")}`
      return [{ name: rule.name, kind: rule.kind, subject: asset, state: "watching", reason: null, sentence }]
    }
    const own = memories.filter((m) => m.rule === rule.name)
    if (own.length === 0) {
      return [
        {
          name: rule.name,
          kind: rule.kind,
          subject: "",
          state: "inactive",
          reason: null,
          sentence: "not yet evaluated",
        },
      ]
    }
    return own.map((m) => ({
      name: rule.name,
      kind: rule.kind,
      subject: m.subject,
      state: m.state,
      reason: m.reason ?? null,
      sentence:
        m.reason === undefined ? `acting: ${m.detail}` : `silent: ${m.reason.replaceAll("_", " ")}; ${m.detail}`,
    }))
  })

/** An intent with its attempts, as people see it. */
export const intentView = Effect.fnUntraced(function* (intent: Intent) {
  const outbox = yield* Outbox
  const attempts = yield* outbox.attempts(intent.id)
  return {
    id: intent.id,
    short: shortId(intent.id).slice(0, 4),
    state: intent.state,
    open: !isFinalIntent(intent.state),
    rule: intent.rule,
    amount: `${formatAmount(intent.payment.amount, intent.decimals)} ${intent.payment.asset}`,
    from: intent.payment.from,
    to: intent.payment.to,
    detail: intent.detail,
    createdAt: new Date(intent.createdAt).toISOString(),
    attempts: attempts.map((attempt) => ({
      k: attempt.k,
      state: attempt.state,
      sends: attempt.sends,
      deadline: String(deadlineHeight(attempt)),
      transferId: attempt.transferId,
      txHash: (attempt.framing === "prefixed" ? attempt.hashPrefixed : attempt.hashBare)?.toUpperCase() ?? null,
    })),
  } satisfies IntentView
})

const policyView = Effect.fnUntraced(function* (
  treasury: Treasury,
  line: Treasury["policy"]["lines"][number],
  since: number,
) {
  const spends = yield* SpendLog
  const used = yield* spends.used({ ...line, since, except: new Set() })
  const asset = [...treasury.assets.values()].find((a) => a.id === line.assetId)
  const names = (keys: ReadonlySet<string>) =>
    [...treasury.parties.values()]
      .filter((p) => keys.has(p.publicKey))
      .map((p) => p.name)
      .join(", ")
  const say = (units: bigint) => formatLevel(units, asset?.decimals ?? 0)
  const symbol = asset?.symbol ?? line.assetId
  return {
    line: line.line,
    text: `${names(line.from)} -> ${names(line.to)}, ${symbol}: ${say(line.perTransfer)} each`,
    used: `${say(used.amount)} ${symbol}`,
    limit: `${say(line.per24h)} ${symbol}`,
    share: line.per24h === 0n ? 1 : Number((used.amount * 1_000n) / line.per24h) / 1_000,
    transfers: `${used.count} of ${line.transfersPer24h}`,
  } satisfies PolicyView
})
