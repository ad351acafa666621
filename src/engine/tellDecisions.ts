import { Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import type { HoldReason } from "../domain/Decision.ts"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { sumText } from "../domain/sumText.ts"
import type { Notice } from "../rules/Notice.ts"
import type { RuleMemory } from "../rules/RuleMemory.ts"
import { say } from "../telemetry/say.ts"

/** What one evaluation changed, to be told once it is durable. */
export interface Change {
  readonly memory: RuleMemory
  readonly before: RuleMemory | undefined
  readonly intents: ReadonlyArray<Intent>
  readonly notices: ReadonlyArray<Notice>
  /** Whether the rule's own code gave no answer that can be relied on. */
  readonly isBroken: boolean
}

/** What holds subjects of one rule from now on, in the same words. */
interface Held {
  readonly rule: string
  readonly word: "pending" | "hold"
  readonly sentence: string
  readonly subjects: Array<string>
}

/** Reasons that are told where they end something else alone: they come and go with each payment. */
const quiet: ReadonlySet<HoldReason> = new Set(["in_flight", "settling", "no_data", "asset_status", "not_due"])
const namesMax = 3

/**
 * One line for each payment, each request, and each sentence by which a rule is silent from now on, however many of
 * its subjects it is true of. `subjects` is how many a rule has.
 */
export const tellDecisions = Effect.fnUntraced(function* (
  changes: ReadonlyArray<Change>,
  subjects: (rule: string) => number,
) {
  const held = new Map<string, Held>()
  for (const change of changes) {
    yield* tellPayments(change)
    const found = yield* heldOf(change)
    if (found === undefined) continue
    const key = JSON.stringify([found.rule, found.word, found.sentence])
    const known = held.get(key)
    if (known === undefined) held.set(key, found)
    else known.subjects.push(...found.subjects)
  }
  for (const one of held.values()) {
    yield* say(one.word, { subject: one.rule, detail: `${whose(one, subjects(one.rule))}${one.sentence}` })
  }
})

const tellPayments = Effect.fnUntraced(function* ({ memory, intents, notices }: Change) {
  for (const intent of intents) {
    const { payment } = intent
    const amount = sumText(payment, intent.decimals)
    const word = intent.state === "rehearsed" ? "rehearsed" : "proposed"
    const detail = `${memory.rule}: ${amount} ${payment.from} -> ${payment.to}; ${memory.detail}`
    yield* say(word, { subject: shortId(intent.id).slice(0, 4), detail, intent: intent.id })
  }
  for (const { topic, asked } of notices) {
    if (asked === undefined) continue
    const amount = `${formatAmount(asked.amount, asked.decimals)} ${asked.asset}`
    const verb = topic === "request" ? "people are asked for" : "the account is back in its band, asked for were"
    yield* say(topic === "request" ? "asked" : "received", {
      subject: memory.rule,
      detail: `${verb} ${amount} ${asked.from} -> ${asked.to}; ${memory.detail}`,
    })
  }
})

const heldOf = Effect.fnUntraced(function* ({ memory, before, intents }: Change) {
  const { rule, subject, reason, detail } = memory
  if (intents.length > 0 || reason === undefined || reason === before?.reason) return undefined
  const held = (word: Held["word"], sentence: string): Held => ({ rule, word, sentence, subjects: [subject] })
  if (reason === "pending") return held("pending", detail)
  const first = before === undefined || quiet.has(reason)
  const calm = reason === "in_band" && (before?.reason === undefined || quiet.has(before.reason))
  if (!first && !calm) return held("hold", `${reason.replaceAll("_", " ")}: ${detail}`)
  yield* Effect.logDebug("hold", { rule, subject, reason, detail })
  return undefined
})

/** Which of the rule's subjects it is, where it is not all of them. */
const whose = ({ subjects }: Held, all: number): string => {
  if (subjects.length >= all) return ""
  const rest = subjects.length - namesMax
  const names = rest > 0 ? `${subjects.slice(0, namesMax).join(", ")} and ${rest} more` : subjects.join(", ")
  return `${names}: `
}
