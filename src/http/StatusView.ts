import { Clock, Effect, Option } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { version } from "../config/files.ts"
import type { Treasury } from "../config/Treasury.ts"
import { isFinalIntent } from "../domain/Intent.ts"
import { dayMillis, isoOf, millisOf } from "../domain/Time.ts"
import { type GatewayHealth, Health } from "../gateway/Health.ts"
import { sourceKey } from "../poller/BalancePoller.ts"
import { wrongClock } from "../rules/checks/wrongClock.ts"
import { isPaying } from "../rules/Rule.ts"
import type { Stray } from "../rules/saneHead.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { listAlerts } from "../store/alerts/alertRecords.ts"
import { makeTrouble, uncompared } from "../store/alerts/makeTrouble.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Controls } from "../store/controls/Controls.ts"
import { Settings } from "../store/database/Settings.ts"
import { Journal } from "../store/journal/Journal.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { CommandFlags, withFlags } from "../telemetry/Logging.ts"
import { conditionsOf, headline } from "./conditionTable.ts"
import { readFacts, troubleKey } from "./readFacts.ts"
import { intentView } from "./stories.ts"
import type { View } from "./View.ts"
import { acceptedView, accountViews, alertView, gatewayViews, limitViews, pastView, ruleViews } from "./views.ts"

const recentMax = 10

/** Reads everything that people see. Without a daemon the state of gateways is unknown. */
export const readView = Effect.fn("StatusView.view")(function* () {
  const health = Option.getOrUndefined(yield* Effect.serviceOption(Health))
  const known = health === undefined ? [] : yield* health.all
  const { treasury, mode } = (yield* ConfigInForce).now()
  const outbox = yield* Outbox
  const observations = yield* Observations
  const controls = yield* Controls
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* observations.watermark
  const open = yield* outbox.open
  const memories = yield* (yield* RuleStates).all
  const settings = yield* Settings
  const halts = yield* controls.halts
  const pauses = yield* controls.pauses
  const clock = wrongClock(readingsOf(known), treasury.network.maxAgeMillis)
  const blockAgeSeconds = watermark === undefined ? null : (now - millisOf(watermark.timestamp)) / 1_000
  // A wrong clock shows no age: a block of ten minutes ago would seem to be new.
  const ageSeconds = clock === undefined || clock.whose === "gateways" ? blockAgeSeconds : null
  const source = (yield* settings.get(sourceKey)) ?? treasury.network.gateways[0].name
  const observed = watermark && {
    block: String(watermark.height),
    at: isoOf(watermark.timestamp),
    ageSeconds,
    source,
  }
  const accounts = accountViews(treasury, yield* observations.accounts, open, observed)
  const finals = (yield* outbox.recent(recentMax + open.length))
    .filter((i) => isFinalIntent(i.state))
    .slice(0, recentMax)
  const today = (yield* outbox.settledSince(now - dayMillis)).filter((i) => i.state === "confirmed").length
  const head = yield* (yield* Journal).head
  const pending = yield* (yield* AlertQueue).pending
  const flags = yield* CommandFlags
  const view: Omit<View, "sentence" | "conditions"> = {
    treasury: treasury.name,
    mode,
    version,
    network: {
      chainId: treasury.network.chainId,
      quorum: treasury.network.quorum,
      gateways: gatewayViews(treasury, known),
    },
    height: String(watermark?.height ?? 0n),
    ageSeconds,
    accounts,
    rules: ruleViews(treasury, memories, mode),
    intents: yield* Effect.forEach([...open, ...finals], (intent) => intentView(intent, treasury)),
    policy: yield* limitViews(treasury),
    acceptance: yield* outbox.acceptance(now - dayMillis),
    ...(yield* pastView()),
    work: mode === "live" ? yield* workView(treasury, now) : null,
    uncompared: yield* uncomparedView,
    doubted: yield* doubtedView(treasury.network.chainId),
    accepted: yield* acceptedView(now),
    alerts: (yield* listAlerts(recentMax, "raised")).map((one) => alertView(one, flags)),
    alertsPending: pending.reduce((sum, { n }) => sum + n, 0),
    halts: halts.map(({ reason, detail, at }) => ({ reason, detail, at: new Date(at).toISOString() })),
    pauses: pauses.map(({ scope, reason, author, until }) => ({
      scope,
      reason,
      author,
      until: until === undefined ? null : new Date(until).toISOString(),
    })),
    maintenance: openWindows(treasury, now),
    journal: { seq: head.seq, head: head.hash },
    at: new Date(now).toISOString(),
  }
  const more = { blockAgeSeconds, wrongClock: clock, pending }
  const conditions = conditionsOf(yield* readFacts(treasury, view, more)).map((one) => ({
    ...one,
    text: withFlags(one.text, flags),
    remedy: withFlags(one.remedy, flags),
  }))
  return { ...view, conditions, sentence: headline(conditions, view, today) }
})

const readingsOf = (known: ReadonlyArray<GatewayHealth>) =>
  known.flatMap(({ name, aheadMillis }) => (aheadMillis === undefined ? [] : [{ name, aheadMillis }]))

const workView = Effect.fnUntraced(function* ({ parties }: Treasury, now: number) {
  const detail = yield* (yield* ChainState).oddWork
  if (detail === undefined || [...parties.values()].every(({ signer }) => signer === undefined)) return null
  const noted = yield* makeTrouble(yield* Settings, troubleKey("work")).now
  const remedy = "compare it with another node or gateway of the network; it ends with the next legal answer"
  return { since: new Date(noted?.since ?? now).toISOString(), detail, remedy }
})

const uncomparedView = Effect.gen(function* () {
  const noted = yield* (yield* uncompared).now
  return noted?.isTold === true ? { since: new Date(noted.since).toISOString(), detail: noted.detail } : null
})

const doubtedView = Effect.fnUntraced(function* (chainId: string) {
  const { stray } = yield* (yield* ChainState).acceptedHead(chainId)
  return stray === undefined
    ? null
    : { since: new Date(stray.since).toISOString(), detail: stray.why, remedy: strayRemedy(stray) }
})

const strayRemedy = ({ kind }: Stray): string => {
  if (kind === "first") return "it ends by itself with that block"
  const compare = "compare the newest block with another source, and replace the gateway that is wrong"
  return kind === "higher"
    ? `${compare}; if it is reported for five minutes, and no block that fits, it is accepted`
    : compare
}

/** Open maintenance windows of paying rules, each once. */
const openWindows = ({ rules }: Treasury, now: number): View["maintenance"] => {
  const windows = rules.flatMap((rule) => (isPaying(rule) ? rule.maintenance : []))
  const open = windows.filter(({ from, until }) => from <= now && now < until)
  const ends = new Map(open.map(({ name, until }) => [`${name} ${until}`, { name, until }]))
  return [...ends.values()].map(({ name, until }) => ({ name, until: new Date(until).toISOString() }))
}
