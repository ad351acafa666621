import { Clock, Effect, Schema } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { readHaltFile, removeHaltFile } from "../config/files.ts"
import type { Treasury } from "../config/Treasury.ts"
import { sumText } from "../domain/Decision.ts"
import { keptReasons, remedyOf } from "../domain/Halt.ts"
import type { Intent } from "../domain/Intent.ts"
import { millisOf } from "../domain/Time.ts"
import { knownScopes } from "../rules/checks/stops.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Controls, haltSigning, isHaltedFor, type Pause } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { endIntent, type Verb } from "../submitter/endIntent.ts"
import { currentBacking } from "../submitter/SigningFacts.ts"
import { whatFollows } from "../submitter/settleAndAlert.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { agreeing, haltNamed, isMachineStop, needAgreement, neededOf, operatorsInForce } from "./agreeing.ts"
import { SignatureText } from "./approvals.ts"
import { findIntent, problem } from "./stories.ts"

/** PostgreSQL takes no text with U+0000. */
const isStorable = Schema.makeFilter((text: string) => !text.includes("\0"), { expected: "a text without U+0000" })

export const Words = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256), isStorable)

/** A person's word about one payment, as the command line sends it. */
export const EndBody = Schema.Struct({
  reason: Words,
  author: Words,
  /** For `resolve`: the transaction or transfer that executed; without it, none did. */
  executed: Schema.optional(
    Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/, { expected: "64 hex characters" })),
  ),
  neverExecuted: Schema.optional(Schema.Literal(true)),
  /** For `resolve`: an operator's, over what it answers where operators must agree. */
  signature: Schema.optional(SignatureText),
})

export type EndVerb = "resolve" | "reject" | "cancel" | "abandon"

/** The verb requested; undefined if `resolve` has neither or both of the fields, or another verb has either. */
const verbOf = (word: EndVerb, { executed, neverExecuted }: typeof EndBody.Type): Verb | undefined => {
  if ((executed !== undefined || neverExecuted !== undefined) !== (word === "resolve")) return undefined
  if (word !== "resolve") return { verb: word }
  if (executed !== undefined && neverExecuted !== undefined) return undefined
  return executed === undefined ? { verb: "never_executed" } : { verb: "executed", hash: executed }
}

/** Text that operators sign before a payment that may have executed is settled as executed or not executed. */
const agreeTo =
  (treasury: Treasury, verb: Verb, reason: string) =>
  ({ id, payment, decimals }: Intent) => {
    if (verb.verb !== "executed" && verb.verb !== "never_executed") return Effect.succeed([])
    const outcome = verb.verb === "executed" ? `executed ${verb.hash.toLowerCase()}` : "never executed"
    const words = `${sumText(payment, decimals)} ${payment.from} -> ${payment.to}`
    return needAgreement(treasury, { kind: "resolve", payment: id, words, outcome, reason })
  }

/** Consequence for what the payment was for, as text. */
const afterEnd = Effect.fnUntraced(function* (intent: Intent) {
  const source = yield* currentBacking(intent)
  const stop = source._tag === "Level" ? `; "cofferer pause --scope rule:${intent.rule} --reason TEXT" stops that` : ""
  return `${yield* whatFollows(intent, source)}${stop}`
})

/** Ends a payment as a person asks; `problem` if it must not end that way. */
export const endPayment = Effect.fnUntraced(function* (
  treasury: Treasury,
  id: string,
  word: EndVerb,
  body: typeof EndBody.Type,
) {
  const { author, reason, signature } = body
  const verb = verbOf(word, body)
  const wrong = `${word} takes ${word === "resolve" ? "one of executed and neverExecuted" : "a reason alone"}`
  if (verb === undefined || (signature !== undefined && word !== "resolve")) return problem(wrong, 400, "see --help")
  const found = yield* findIntent(id)
  if ("problem" in found) return found
  const ending = endIntent({ intentId: found.intent.id, verb, author, reason }, agreeTo(treasury, verb, reason))
  const ended = Effect.gen(function* () {
    const one = yield* ending
    const { id, state, detail, rule } = one
    const after = state === "confirmed" ? null : yield* afterEnd(one)
    return { ended: { id, state, detail, rule, author, reason, after } }
  }).pipe(Effect.provideService(CycleConfig, { treasury, mode: treasury.mode }))
  return yield* agreeing(treasury, signature, ended).pipe(
    Effect.catchTag("VerbRefused", ({ message, remedy, isBusy }) =>
      Effect.succeed(problem(message, isBusy ? 504 : 409, remedy)),
    ),
  )
})

export const PauseBody = Schema.Struct({
  scope: Words,
  reason: Words,
  author: Words,
  until: Schema.optional(Schema.Int),
})
export const HaltBody = Schema.Struct({ reason: Words, author: Words })
export const ResumeBody = Schema.Struct({
  scope: Words,
  reason: Words,
  author: Words,
  signature: Schema.optional(SignatureText),
})

/** Why a scope names nothing; undefined for one that does. */
export const scopeProblem = (treasury: Treasury, scope: string, paused: ReadonlyArray<Pause> = []) => {
  const known = [...new Set(paused.map((pause) => pause.scope)), ...knownScopes(treasury)]
  return known.includes(scope)
    ? undefined
    : problem(`scope "${scope}" names nothing`, 400, `known: ${known.join(", ")}`)
}

const lasts = ({ until }: Pause): number => until ?? Number.POSITIVE_INFINITY
const viewOf = ({ scope, reason, author, until }: Pause) => ({ scope, reason, author, until: until ?? null })

/** End of the year 9999: later times have no common text form. */
const untilMax = 253_402_300_799_999

const endRefused = (until: number, now: number, newest: number): string | undefined => {
  if (until <= now) return "is over: nothing would be paused"
  // Once a clock that is behind is put right, such a pause would be over.
  if (until <= newest) return "is before the newest block: this host's clock is behind"
  return until <= untilMax ? undefined : "is not a time of this calendar"
}

/** Why a pause cannot end at a time; undefined where it can. */
const untilProblem = Effect.fnUntraced(function* (until: number | undefined) {
  if (until === undefined) return undefined
  const newest = millisOf((yield* (yield* Observations).watermark)?.timestamp ?? 0n)
  const why = endRefused(until, yield* Clock.currentTimeMillis, newest)
  if (why === undefined) return undefined
  return problem(
    `until ${until} (Unix milliseconds) ${why}`,
    400,
    "leave until out: a pause without it lasts until resume",
  )
})

/** Pauses a scope. `longest`: of its pauses, the one that ends last, this one or an earlier one. */
export const pauseScope = Effect.fnUntraced(function* (treasury: Treasury, asked: typeof PauseBody.Type) {
  const { scope, reason, author, until } = asked
  const wrong = scopeProblem(treasury, scope) ?? (yield* untilProblem(until))
  if (wrong !== undefined) return wrong
  const controls = yield* Controls
  yield* controls.pause({ scope, reason, author, until })
  const covering = (yield* controls.pauses).filter((pause) => pause.scope === scope || pause.scope === "all")
  const [longest] = covering.toSorted((a, b) => (lasts(a) === lasts(b) ? b.seq - a.seq : lasts(b) < lasts(a) ? -1 : 1))
  const end = until === undefined ? undefined : new Date(until).toISOString()
  yield* logEvent("payments paused", { scope, author, reason, until: end })
  return { paused: scope, longest: longest === undefined ? null : viewOf(longest) }
})

/** Halts everything and pages people. */
export const haltAll = Effect.fnUntraced(function* ({ reason, author }: typeof HaltBody.Type) {
  yield* haltSigning("operator", `${author}: ${reason}`)
  return { halted: true }
})

/** True for the text of a HALT file that is not in force yet as a halt, and is to be one. */
const isNewHalt = Effect.fnUntraced(function* (said: string | undefined) {
  return said !== undefined && !isHaltedFor(yield* (yield* Controls).halts, "halt_file", said)
})

/** Halts by what a HALT file says, unless that halt is in force. */
export const noteHaltFile = Effect.fnUntraced(function* (said: string | undefined) {
  if (said !== undefined && (yield* isNewHalt(said))) yield* haltSigning("halt_file", said)
})

/** Halts and locks set by the program that a resume would end. */
const endedBy = Effect.fnUntraced(function* (scope: string) {
  const controls = yield* Controls
  const halts = scope === "all" ? yield* controls.halts : []
  const stops = isMachineStop(scope) ? (yield* controls.pauses).filter((pause) => pause.scope === scope) : []
  return {
    halts: halts.filter(({ reason }) => keptReasons.every((kept) => kept !== reason)).map(haltNamed),
    stops: stops.map(haltNamed),
  }
})

/** The treasury and directory of the store. */
export interface StoreOwner {
  readonly treasury: Treasury
  readonly dataDir: string
}

/**
 * Ends the pauses of a scope; with scope all also the halts, and removes the HALT file. Halts and locks of the program
 * end only if the operators agree: they sign the list of those in force and the reason.
 */
export const resumeScope = Effect.fnUntraced(function* (
  where: StoreOwner,
  { signature, ...asked }: typeof ResumeBody.Type,
) {
  // A pause can be ended even if nothing has its name any more.
  const unknown = scopeProblem(where.treasury, asked.scope, yield* (yield* Controls).pauses)
  if (unknown !== undefined) return unknown
  // A HALT file that no daemon has read yet counts as a halt: with operators, nobody removes it alone.
  const isJoint = asked.scope === "all" && neededOf(yield* operatorsInForce) > 0
  if (isJoint) yield* noteHaltFile(yield* readHaltFile(where.dataDir))
  // One transaction: a halt that comes meanwhile is in what the operators sign, or is not ended.
  const ended = (yield* Database).write(resume(where, asked))
  return yield* agreeing(where.treasury, signature, ended)
})

const resume = Effect.fnUntraced(function* (where: StoreOwner, asked: Omit<typeof ResumeBody.Type, "signature">) {
  const { scope, reason } = asked
  const isNew = scope === "all" && (yield* isNewHalt(yield* readHaltFile(where.dataDir)))
  if (isNew && neededOf(yield* operatorsInForce) > 0) return problem("a HALT file came meanwhile", 409, "try again")
  const ends = yield* endedBy(scope)
  const isOwn = ends.halts.length + ends.stops.length === 0
  const agreed = isOwn ? [] : yield* needAgreement(where.treasury, { kind: "resume", scope, ...ends, reason })
  const controls = yield* Controls
  const removed = scope === "all" ? yield* Effect.result(removeHaltFile(where.dataDir)) : undefined
  if (removed?._tag === "Failure") return problem(removed.failure.message, 409, "remove it by hand")
  const ended = yield* controls.resume(asked)
  const haltFile = removed?.success === true ? ("removed" as const) : ("none" as const)
  const halts = yield* controls.halts
  const stillHalted = halts.map((halt) => halt.reason)
  const stillPaused = (yield* controls.pauses).map(viewOf)
  if (ended > 0 || haltFile === "removed") {
    yield* logEvent("payments resumed", {
      scope,
      author: asked.author,
      reason,
      count: ended,
      approvers: agreed.length === 0 ? undefined : agreed,
      stillHalted: stillHalted.length === 0 ? undefined : stillHalted,
    })
  }
  const remedies = halts.map((halt) => remedyOf(halt.reason, halt.detail))
  return { resumed: scope, ended, haltFile, stillHalted, remedies, stillPaused }
})
