import { Effect, Schema } from "effect"
import { endIntent } from "../submitter/endIntent.ts"
import type { Verb } from "../submitter/verbs.ts"
import { findIntent, problem } from "./stories.ts"

export const Words = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256))

/** A person's word about one payment, as the command line sends it. */
export const EndBody = Schema.Struct({
  reason: Words,
  author: Words,
  /** For `resolve`: the transaction or transfer that executed; without it, none did. */
  executed: Schema.optional(
    Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/, { expected: "64 hex characters" })),
  ),
  neverExecuted: Schema.optional(Schema.Literal(true)),
})

export const endVerbs = ["resolve", "reject", "cancel", "abandon"] as const
export type EndVerb = (typeof endVerbs)[number]

/** What was asked for; undefined where `resolve` says neither or both, or another verb says either. */
const verbOf = (word: EndVerb, { executed, neverExecuted }: typeof EndBody.Type): Verb | undefined => {
  if ((executed !== undefined || neverExecuted !== undefined) !== (word === "resolve")) return undefined
  if (word !== "resolve") return { verb: word }
  if (executed !== undefined && neverExecuted !== undefined) return undefined
  return executed === undefined ? { verb: "never_executed" } : { verb: "executed", hash: executed }
}

/** Does to a payment what a person asks, or says why not: `problem` with a status of HTTP. */
export const endPayment = Effect.fnUntraced(function* (id: string, word: EndVerb, body: typeof EndBody.Type) {
  const { author, reason } = body
  const verb = verbOf(word, body)
  const wrong = `${word} takes ${word === "resolve" ? "one of executed and neverExecuted" : "a reason alone"}`
  if (verb === undefined) return problem(wrong, 400, "see --help")
  const found = yield* findIntent(id)
  if ("problem" in found) return found
  return yield* endIntent({ intentId: found.intent.id, verb, author, reason }).pipe(
    Effect.map(({ id, state, detail, rule }) => ({ ended: { id, state, detail, rule, author, reason } })),
    Effect.catchTag("VerbRefused", ({ message, remedy, isBusy }) =>
      Effect.succeed(problem(message, isBusy ? 504 : 409, remedy)),
    ),
  )
})
