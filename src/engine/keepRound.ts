import { Effect } from "effect"
import type { Conclusion } from "../rules/conclude.ts"
import type { Decided } from "../rules/decideRound.ts"
import type { Notice } from "../rules/Notice.ts"
import { isSameMemory, type RuleMemory } from "../rules/RuleMemory.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Asks } from "../store/Asks.ts"
import { Brake } from "../store/Brake.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { Signals } from "../store/Signals.ts"
import { otherLifeText } from "./otherLifeText.ts"
import { record } from "./record.ts"
import type { Change } from "./tellDecisions.ts"

/** Makes a round durable: pauses, memories, payments, requests and what people are told. In its transaction. */
export const keepRound = Effect.fn("Engine.keep")(function* ({ locks, alerts, conclusions }: Decided) {
  const brake = yield* Brake
  for (const { scope, reason, notice } of locks) {
    yield* brake.pause({ scope, reason, author: "cofferer", until: undefined })
    yield* tell(notice)
  }
  for (const { memory, before, notice } of alerts) {
    yield* remember(memory, before)
    if (notice !== undefined) yield* tell(notice)
  }
  return yield* Effect.forEach(conclusions, keep)
})

const keep = Effect.fn("Engine.evaluate")(function* ({ outcome, before, notices, ...said }: Conclusion) {
  const { look, judgement } = outcome
  const { decision, planned } = judgement
  const { intents, episode } =
    decision._tag === "Act"
      ? yield* record(look, decision, said.memory.episode, planned !== undefined)
      : { intents: [], episode: said.memory.episode }
  const memory = { ...said.memory, episode }
  yield* remember(memory, before)
  const asks = yield* Asks
  for (const { topic, rule, subject, brief: detail, asked } of notices) {
    if (topic === "request" && asked !== undefined) yield* asks.record({ rule, subject, detail, ...asked })
    if (topic === "received") yield* asks.end(rule, subject, detail)
  }
  for (const notice of notices) {
    const { alert, letGo } = notice
    const more = letGo === undefined ? "" : yield* otherLifeText(look.subject, letGo)
    yield* tell({ ...notice, alert: { ...alert, detail: `${alert.detail}${more}` } })
  }
  return { memory, before, intents, notices, isBroken: look.need?._tag === "Broken" } satisfies Change
})

const remember = Effect.fnUntraced(function* (memory: RuleMemory, before: RuleMemory | undefined) {
  if (!isSameMemory(memory, before)) yield* (yield* RuleStates).save(memory, before)
})

const tell = Effect.fnUntraced(function* ({ over, alert }: Notice) {
  const queue = yield* AlertQueue
  const isNew = over === undefined ? yield* queue.raise(alert) : yield* queue.allClear(over, alert)
  if (isNew) yield* (yield* Signals).wake("alerts")
})
