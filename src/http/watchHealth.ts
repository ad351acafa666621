import { Clock, Context, Effect, Schema } from "effect"
import { noteWritten } from "../alerts/AlertLoop.ts"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { alertAfterMillis, type ConditionName, conditionNames } from "../domain/alerts/healthConditions.ts"
import { dayMillis } from "../domain/Time.ts"
import { several } from "../domain/text.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { makeTrouble, type Noted } from "../store/alerts/makeTrouble.ts"
import { raise, raiseOver } from "../store/alerts/raise.ts"
import { Database } from "../store/database/Database.ts"
import { recordOf, Settings } from "../store/database/Settings.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import type { HealthCondition } from "./conditionTable.ts"
import { noteOutOfBand, noteUndelivered, troubleKey } from "./readFacts.ts"
import { readView } from "./StatusView.ts"
import type { View } from "./View.ts"

const waitMillis = 5_000

/** Receives the treasury's headline every few seconds. Default: none. */
export const HeadlineSink = Context.Reference<(sentence: View["sentence"]) => void>("cofferer/http/HeadlineSink", {
  defaultValue: () => () => {},
})

/**
 * Raises alerts for conditions that no other part alerts to, and their all-clears. It depends only on the store, the
 * clock and the state of gateways, so that it alerts while other loops fail.
 */
export const watchHealth = Effect.fn("Health.watch")(function* () {
  const view = yield* readView()
  const noteHeadline = yield* HeadlineSink
  noteHeadline(view.sentence)
  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* noteOutOfBand(view, now)
    yield* noteUndelivered(now)
    const holding = new Set(view.conditions.map(({ condition }) => condition))
    const stored = yield* (yield* Settings).all
    for (const name of conditionNames) {
      const isKnown = stored.has(troubleKey(name)) || stored.has(partsKey(name))
      if (isKnown || holding.has(name)) yield* watchOne(name, view)
    }
    yield* watchLimits(view)
  })
  yield* (yield* Database).write(round)
})

/** One third; shares are rounded to thousandths. */
const shareMax = 0.333

/** Alerts to limits of which a third is used before noon (UTC), once a day each. */
const watchLimits = Effect.fnUntraced(function* ({ policy, at }: View) {
  const { conditions } = (yield* ConfigInForce).now().treasury.alerting
  const millis = Date.parse(at)
  if (conditions.has("limit_used") || millis % dayMillis >= dayMillis / 2) return
  for (const { line, text: words, used, limit, transfers, share } of policy) {
    if (share < shareMax) continue
    yield* raise("limit_used", { line, day: Math.floor(millis / dayMillis), words, used, limit, transfers })
  }
})

/** True while nothing shows that a condition is over, as at a start; `parts` are those it held for. */
const isUnseen = Effect.fnUntraced(function* (
  name: ConditionName,
  { gateways, quorum }: View["network"],
  parts: ReadonlyMap<string, unknown>,
) {
  if (name === "alerts_undelivered") {
    return (yield* (yield* AlertQueue).pending).some(({ receiver, due }) => due > 0 && parts.has(receiver))
  }
  const heard = gateways.filter(({ isHeard }) => isHeard).map((gateway) => gateway.name)
  if (name === "clock") return heard.length < quorum
  if (name !== "gateway_down" && name !== "wrong_chain") return false
  return gateways.some((one) => !heard.includes(one.name) && (parts.size === 0 || parts.has(one.name)))
})

const partsKey = (name: ConditionName) => `${troubleKey(name)}/parts`

/** Alerts to a condition that holds, or that is remembered. */
const watchOne = Effect.fnUntraced(function* (name: ConditionName, view: View) {
  const { conditions: changed } = (yield* ConfigInForce).now().treasury.alerting
  const afterMillis = changed.has(name) ? changed.get(name) : alertAfterMillis(name)
  const settings = yield* Settings
  const trouble = makeTrouble(settings, troubleKey(name), afterMillis)
  const parts = partsIn(settings, partsKey(name))
  const known = yield* parts.now
  const conditions = view.conditions as ReadonlyArray<HealthCondition>
  const holding = conditions.find(({ condition }) => condition === name)
  if (holding === undefined && (yield* isUnseen(name, view.network, known))) return
  // Nobody is alerted to it any more: what stands ends.
  const found = afterMillis === undefined ? undefined : holding
  if (found === undefined) {
    const over = yield* trouble.end
    yield* parts.keep(new Map())
    if (over?.isTold === true) yield* raiseOver("health", factsOf(name, over.since))
    return
  }
  if (found.isAlerted === true) return
  // Noted with its severity: a condition that became worse is alerted once more.
  const noted = yield* trouble.note(found.severity)
  const now = yield* Clock.currentTimeMillis
  const held = [...(found.parts ?? []), ...(found.pages ?? [])].map((part) => {
    const { since = now, isTold = false } = known.get(part) ?? {}
    return { part, since: Math.min(since, now), isTold }
  })
  const joined = held.filter(({ isTold }) => !isTold)
  const isGrown = joined.some(({ since }) => now - since >= (afterMillis ?? 0))
  const names = joined.map(({ part }) => part)
  let isHeard = false
  if (noted !== undefined) isHeard = yield* alert(found, noted)
  else if (isGrown) isHeard = yield* alert(found, yield* trouble.now, names)
  yield* parts.keep(
    new Map(held.map(({ part, since, isTold }) => [part, { since, isTold: isHeard || isTold }] as const)),
  )
})

/** Since when (Unix milliseconds) a condition holds for one of its parts, and if it was alerted. */
const partsIn = recordOf(Schema.Struct({ since: Schema.Finite, isTold: Schema.Boolean }))
const joinedMax = 10

/**
 * Returns true if it is a new alert. Parts that joined are an alert of their own, with their names first: neither an
 * acknowledgement nor a text that names three of many covers them.
 */
const alert = Effect.fnUntraced(function* (
  { condition, severity, text: words, remedy, unreachable, pages = [] }: HealthCondition,
  noted: Noted | undefined,
  joined: ReadonlyArray<string> = [],
) {
  if (noted?.isTold !== true) return false
  const { receivers } = (yield* ConfigInForce).now().treasury
  const to = receivers.map(({ name }) => name).filter((name) => unreachable?.includes(name) === false)
  const isPage =
    joined.length > 0 ? joined.some((part) => pages.includes(part)) : severity === "bad" || alwaysPages.has(condition)
  const urgency = isPage ? "page" : "ticket"
  const [mark, text] =
    joined.length === 0
      ? [urgency, words]
      : [`${urgency}/${yield* Clock.currentTimeMillis}`, `Now also ${several(joined, joinedMax)}. ${words}`]
  return yield* raise("health", { ...factsOf(condition, noted.since), severity: urgency, mark, text, remedy }, to)
})

/** Conditions that page at any severity. */
const alwaysPages: ReadonlySet<ConditionName> = new Set(["stale"])

const factsOf = (condition: ConditionName, since: number) => ({
  condition,
  name: condition.replaceAll("_", " "),
  begun: since,
  since: new Date(since).toISOString(),
})

/** The health loop. No gateway blocks it. */
export const healthLoop = Effect.flatMap(Metrics, ({ counted }) =>
  counted("health", Effect.andThen(watchHealth(), noteWritten)).pipe(
    Effect.andThen(Effect.sleep(waitMillis)),
    Effect.forever,
  ),
)
