import { Clock, Effect } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { makeTrouble, type Noted } from "../store/alerts/makeTrouble.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import { type ConditionName, conditionNames, type HealthCondition, troubleKey } from "./conditions.ts"
import { conditionTable } from "./conditionTable.ts"
import { noteOutOfBand } from "./readFacts.ts"
import { readView } from "./StatusView.ts"

const waitMillis = 5_000

const alertAfter = (name: ConditionName): number | undefined => {
  const entry = conditionTable[name]
  return "alertAfterMillis" in entry ? entry.alertAfterMillis : undefined
}

/**
 * Alerts people to conditions that no other part alerts them to, and gives each its all-clear. It reads the store, the
 * clock and what is known of gateways alone: whatever the other loops run into, it alerts.
 */
export const watchHealth = Effect.fn("Health.watch")(function* () {
  const view = yield* readView()
  const round = Effect.gen(function* () {
    yield* noteOutOfBand(view, yield* Clock.currentTimeMillis)
    let isNew = false
    const conditions = view.conditions as ReadonlyArray<HealthCondition>
    const { gateways, quorum } = view.network
    const heard = gateways.filter(({ isHeard }) => isHeard).length
    for (const name of conditionNames) {
      // Silence ends nothing: who has just begun, or is answered by nobody, cannot tell that it is over.
      const needed = name === "clock" ? quorum : name === "gateway_down" ? gateways.length : 0
      if (heard < needed && conditions.every(({ condition }) => condition !== name)) continue
      isNew = (yield* watchOne(name, conditions)) || isNew
    }
    return isNew
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

const watchOne = Effect.fnUntraced(function* (name: ConditionName, conditions: ReadonlyArray<HealthCondition>) {
  const afterMillis = alertAfter(name)
  if (afterMillis === undefined) return false
  const trouble = makeTrouble(yield* Settings, troubleKey(name), afterMillis)
  const found = conditions.find(({ condition }) => condition === name)
  if (found === undefined) {
    const over = yield* trouble.end
    return over?.isTold === true ? yield* raiseOver(name, over) : false
  }
  if (found.isAlerted === true) return false
  // Its severity is in what is noted: a condition that became worse is told once more.
  const noted = yield* trouble.note(found.severity)
  return noted?.isTold === true ? yield* raise(found, noted) : false
})

const raise = Effect.fnUntraced(function* (
  { condition, severity, text, remedy, unreachable }: HealthCondition,
  { since }: Noted,
) {
  const { receivers } = (yield* ConfigInForce).now().treasury
  const to = receivers.map(({ name }) => name).filter((name) => unreachable?.includes(name) === false)
  return yield* (yield* AlertQueue).raise({
    dedup: `health/${condition}/${since}/${severity}`,
    severity: severity === "bad" || alwaysPages.has(condition) ? "page" : "ticket",
    kind: "health",
    subject: condition.replaceAll("_", " "),
    detail: `${text}; ${remedy}`,
    fields: { condition, since: new Date(since).toISOString() },
    to,
  })
})

/** A first reading is awaited without colour, and not for long. */
const alwaysPages: ReadonlySet<ConditionName> = new Set(["stale"])

const raiseOver = Effect.fnUntraced(function* (condition: ConditionName, { since }: Noted) {
  const from = new Date(since).toISOString()
  return yield* (yield* AlertQueue).raise({
    dedup: `health/${condition}/${since}/over`,
    severity: "info",
    kind: "health",
    subject: condition.replaceAll("_", " "),
    detail: `over; it held since ${from}`,
    fields: { condition, since: from, over: true },
    resolves: [`health/${condition}/${since}`],
  })
})

/** The loop that no gateway holds up. */
export const healthLoop = watchHealth().pipe(Effect.andThen(Effect.sleep(waitMillis)), Effect.forever)
