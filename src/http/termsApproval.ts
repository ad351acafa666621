import { Clock, Effect, Option, Result, Schema } from "effect"
import { ConfigInForce, type InForce, treasuryTermsOf } from "../config/ConfigInForce.ts"
import { needsRestart } from "../config/needsRestart.ts"
import { loadTreasury, type Treasury } from "../config/Treasury.ts"
import { missingText } from "../domain/Approval.ts"
import { hasElapsed, millisOf } from "../domain/Time.ts"
import { visible } from "../domain/text.ts"
import { clockGap } from "../rules/checks/wrongClock.ts"
import { termsHash } from "../rules/policy/storedTerms.ts"
import { weakens } from "../rules/policy/weakens.ts"
import { raise } from "../store/alerts/raise.ts"
import { Observations } from "../store/balances/Observations.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { Controls, haltSigning } from "../store/controls/Controls.ts"
import type { Acceptance } from "../store/controls/terms.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { Journal } from "../store/journal/Journal.ts"
import { logEvent } from "../telemetry/Logging.ts"
import type { Agreement } from "../tx/Approval.ts"
import { agreementOf, operatorsInForce, takeAgreement, treasuryPlace } from "./agreeing.ts"
import { SignatureText } from "./approvals.ts"
import { Words } from "./controlVerbs.ts"
import { endRefusal, putInForce, writeAtomically } from "./putInForce.ts"
import { problem } from "./stories.ts"

/**
 * Loads a treasury from files that a caller names to the daemon. The answer for unusable files has none of their
 * content: the daemon may read more than the caller. The command line reads them itself first, and prints their
 * problems.
 */
export const loadAsked = Effect.fnUntraced(function* (files: readonly [string, ...ReadonlyArray<string>]) {
  const loaded = yield* Effect.result(loadTreasury(...files))
  if (Result.isSuccess(loaded)) return { treasury: loaded.success }
  return {
    problem: `${files.map(visible).join(", ")}: not a treasury that the daemon can use`,
    remedy: '"cofferer check" says what is wrong in it; the daemon reads the files itself',
  }
})

/**
 * Permissions of a configuration beyond the terms in force, as text. Empty for one that is not live, and in a store
 * that never was.
 */
export const weakerIn = Effect.fnUntraced(function* ({ treasury, mode }: InForce) {
  const known = yield* (yield* Approvals).termsInForce
  return known === undefined || mode !== "live" ? [] : weakens(known.terms, treasuryTermsOf({ treasury }))
})

/**
 * Changes of another configuration to the terms in force, as operators agree to them. An agreement needs no revocation:
 * the terms are journalled when they come into force, `replaces` then changes and no old signature fits.
 */
export const termsChangeOf = Effect.fnUntraced(function* (old: InForce, next: Pick<InForce, "treasury">) {
  const known = yield* (yield* Approvals).termsInForce
  return {
    kind: "terms",
    replaces: known?.seq ?? 0,
    terms: termsHash(treasuryTermsOf(next)),
    weaker: weakens(known?.terms ?? treasuryTermsOf(old), treasuryTermsOf(next)),
  } as const satisfies Agreement
})

/** True if the operators in force agreed to exactly these terms; else the remedy. */
export const approvalOfTerms = Effect.fnUntraced(function* (old: InForce, next: InForce) {
  const change = yield* termsChangeOf(old, next)
  const operators = yield* operatorsInForce
  const { by, others, missing } = yield* agreementOf(operators, treasuryPlace(old.treasury), change)
  if (operators.size === 0) return { isEnough: false, by, advice: "" }
  const so = `${by.length === 0 ? "" : `approved by ${by.join(", ")}; `}${missingText(missing, others)}`
  const advice = `operators "cofferer approve terms ${change.terms.slice(0, 8)} --key FILE" (${so})`
  return { isEnough: missing === 0, by, advice }
})

/** Alternative to a restart that brings the terms into force, ending with "or "; empty if only a restart can. */
const reloadText = (old: Treasury, next: Treasury): string => {
  if (needsRestart(old, next).length > 0) return ""
  const isOther = old.files.join("\n") !== next.files.join("\n")
  const from = isOther ? `the same change in ${old.files.join(" and ")}, then ` : ""
  return `${from}"cofferer reload --allow-weaker --reason TEXT" in place of the restart, or `
}

/** Why a restart with this configuration halts, and what allows it; null where it does not. `isRunning`: a daemon. */
export const haltAtRestart = Effect.fn("Terms.haltAtRestart")(function* (
  old: InForce,
  next: InForce,
  isRunning: boolean,
) {
  if (next.treasury.mode !== "live") return null
  const weaker = yield* weakerIn(next)
  if (weaker.length === 0) return null
  const { isEnough, advice } = yield* approvalOfTerms(old, next).pipe(Effect.provide(ConfigInForce.layer(old)))
  if (isEnough) return null
  const reload = isRunning ? reloadText(old.treasury, next.treasury) : ""
  const alone = `${reload}"cofferer terms accept ${short(hashOf(next))}" after the restart`
  return `a restart with this file halts all signing, since it permits more than what is in force: ${listed(weaker)}. If it is meant: ${advice === "" ? alone : advice}`
})

/** Absolute paths of the changed file and its overlays; without a signature the answer has the text to sign. */
export const ApproveTermsBody = Schema.Struct({
  files: Schema.NonEmptyArray(Schema.String.check(Schema.isPattern(/^\//))),
  signature: Schema.optional(SignatureText),
})

/** Text that operators sign for new terms, the signatures so far, and which limits become weaker. */
export const approveTerms = Effect.fn("People.approveTerms")(function* (
  given: InForce,
  { files, signature }: typeof ApproveTermsBody.Type,
) {
  const held = yield* Effect.serviceOption(ConfigInForce)
  const old = Option.isSome(held) ? held.value.now() : given
  const loaded = yield* loadAsked(files)
  if ("problem" in loaded) return problem(loaded.problem, 422, loaded.remedy)
  const { treasury } = loaded
  if (treasury.name !== old.treasury.name) {
    return problem(`the file is of the treasury ${treasury.name}, not ${old.treasury.name}`, 409, "name its own file")
  }
  const change = yield* termsChangeOf(old, { treasury })
  if (change.terms === ((yield* (yield* Approvals).termsInForce)?.hash ?? termsHash(treasuryTermsOf(old)))) {
    return problem("these terms are in force already", 409, "there is nothing to approve")
  }
  const operators = yield* operatorsInForce
  const place = treasuryPlace(old.treasury)
  if (signature !== undefined) return yield* takeAgreement(operators, place, change, signature)
  const { terms, weaker } = change
  return { terms, policy: treasury.policy.digest, weaker, ...(yield* agreementOf(operators, place, change)) }
})

/** Time from an acceptance without the operators' keys until its terms are in force. Anybody can halt meanwhile. */
const hourMillis = 3_600_000
/** Time between two checks of what may end the halt. */
const checkMillis = 5_000

const HashText = Schema.String.check(Schema.isPattern(/^[0-9a-f]{8,64}$/, { expected: "8 to 64 hex characters" }))
export const AcceptBody = Schema.Struct({ hash: HashText, author: Words, reason: Schema.optional(Words) })

const short = (hash: string): string => hash.slice(0, 8)
const hashOf = (inForce: InForce): string => termsHash(treasuryTermsOf(inForce))

const termsHaltNow = Effect.map(
  Effect.flatMap(Controls, ({ halts }) => halts),
  (halts) => halts.find(({ reason }) => reason === "terms"),
)

/** An acceptance whose hour has not passed. */
const pending = Effect.map(
  Effect.flatMap(Approvals, ({ acceptance }) => acceptance),
  (last): Acceptance | undefined => (last?.inForceAt === null ? last : undefined),
)

/**
 * Halts a start whose file permits more than the terms in force. The hour that runs for the same terms restarts: while
 * no process ran, no halt could stop it.
 */
export const haltOnTerms = Effect.fn("Terms.halt")(function* (inForce: InForce, weaker: ReadonlyArray<string>) {
  const hash = hashOf(inForce)
  const begins = `the terms ${short(hash)} of the file permit`
  const [halt, given] = [yield* termsHaltNow, yield* pending]
  const isOther = halt !== undefined && !halt.detail.startsWith(begins)
  if (isOther || (given !== undefined && given.hash !== hash)) yield* endTermsHalt("the file has other terms now")
  yield* (yield* Approvals).countFrom(null)
  yield* haltSigning("terms", `${begins} more than those in force: ${listed(weaker)}`)
})

/** Ends the halt and an hour that runs, in one transaction with what removes the cause. */
export const endTermsHalt = Effect.fnUntraced(function* (detail: string, end: "in force" | "void" = "void") {
  yield* (yield* Approvals).endHour(end)
  yield* (yield* Controls).release("terms", detail)
})

/** Puts the file's terms in force, ends the halt and pages people, in one transaction. */
const putFileInForce = Effect.fnUntraced(function* (why: string, end?: "in force") {
  const config = yield* ConfigInForce
  const inForce = config.now()
  const { treasury, mode } = inForce
  const weaker = yield* weakerIn(inForce)
  const terms = hashOf(inForce)
  const detail = inForceText(inForce, why)
  const write = Effect.gen(function* () {
    yield* putInForce(inForce, { detail, terms, weaker, policy: treasury.policy.hash, mode }, undefined)
    yield* endTermsHalt(detail, end)
    yield* endRefusal(treasury.name)
    yield* pageOnWeaker(inForce, weaker, why)
  })
  yield* config.replace(inForce, writeAtomically(write))
  yield* logEvent("terms in force", { terms, reason: why })
  yield* (yield* Signals).wake("engine", "submitter", "balances")
})

const inForceText = (inForce: InForce, why: string): string =>
  `the terms ${short(hashOf(inForce))} are in force, ${why}`

/** Pages people where the terms that come into force permit more; in the transaction that puts them in force. */
export const pageOnWeaker = Effect.fnUntraced(function* (inForce: InForce, weaker: ReadonlyArray<string>, why: string) {
  if (weaker.length === 0) return
  const detail = `${inForceText(inForce, why)}: ${listed(weaker)}`
  yield* pageOnTerms(`${hashOf(inForce)}/in-force`, inForce.treasury.name, detail)
})

const pageOnTerms = Effect.fnUntraced(function* (terms: string, treasury: string, detail: string) {
  yield* raise("terms_changed", { terms, treasury, detail, at: yield* Clock.currentTimeMillis })
})

/** Ends the halt where operators have signed the file's terms, or where the hour of an acceptance is over. */
export const settleTerms = Effect.fn("Terms.settle")(function* () {
  yield* (yield* ConfigInForce).reloading(settle)
})

const settle = Effect.gen(function* () {
  if ((yield* termsHaltNow) === undefined) return
  const inForce = (yield* ConfigInForce).now()
  const { isEnough, by } = yield* approvalOfTerms(inForce, inForce)
  if (isEnough) return yield* putFileInForce(`approved by ${by.join(" and ")}`)
  const given = yield* pending
  if (given?.hash === hashOf(inForce) && (yield* isHourOver(given))) {
    yield* putFileInForce(
      `accepted by ${given.author} without the operators' keys, and nobody halted: ${given.reason}`,
      "in force",
    )
  }
})

/** The hour runs from the first time in this process that clock and newest block agree, and ends while they do. */
const isHourOver = Effect.fnUntraced(function* ({ since }: Acceptance) {
  const approvals = yield* Approvals
  const maxAge = (yield* approvals.termsInForce)?.terms.maxAgeMillis ?? 0
  const watermark = yield* (yield* Observations).watermark
  const now = yield* Clock.currentTimeMillis
  const block = watermark && millisOf(watermark.timestamp)
  if (clockGap(now, block, maxAge) !== undefined) return false
  if (since !== null && since <= now) return now - since >= hourMillis
  yield* approvals.countFrom(now)
  return false
})

/** A check delayed by more than this restarts the hour: the machine slept, and no halt was possible. */
const sleptMillis = 60_000

export const termsLoop = Effect.gen(function* () {
  yield* settleTerms()
  const begun = yield* Clock.currentTimeMillis
  yield* Effect.sleep(checkMillis)
  if (hasElapsed(begun, yield* Clock.currentTimeMillis, sleptMillis)) yield* (yield* Approvals).countFrom(null)
}).pipe(Effect.forever)

/**
 * Accepts the terms of the file that halted this start. Without operators in the terms in force they come into force at
 * once; else, with a reason, after an hour in which any halt stops it.
 */
export const acceptTerms = Effect.fn("People.acceptTerms")(function* (asked: typeof AcceptBody.Type) {
  return yield* (yield* ConfigInForce).reloading(accept(asked))
})

const accept = Effect.fnUntraced(function* ({ hash, author, reason }: typeof AcceptBody.Type) {
  const inForce = (yield* ConfigInForce).now()
  const { treasury } = inForce
  if ((yield* termsHaltNow) === undefined) {
    return problem("no terms wait for agreement", 404, '"cofferer status" shows what halts')
  }
  const loaded = yield* loadAsked(treasury.files)
  if ("problem" in loaded) return problem(loaded.problem, 422, loaded.remedy)
  const [own, written] = [hashOf(inForce), hashOf({ ...inForce, treasury: loaded.treasury })]
  if (written !== own) {
    const changed = `the file has the terms ${short(written)} now, and this process was started with ${short(own)}`
    return problem(changed, 409, "restart with the file that is meant")
  }
  if (!own.startsWith(hash)) {
    return problem(`the terms of the file are ${short(own)}, not ${hash}`, 409, `"cofferer terms accept ${short(own)}"`)
  }
  const operators = [...(yield* operatorsInForce).keys()]
  if (operators.length === 0) {
    yield* putFileInForce(`accepted by ${author}${reason === undefined ? "" : `: ${reason}`}`)
    return { accepted: own, isInForce: true }
  }
  if (reason === undefined) {
    const remedy = `"cofferer approve terms ${short(own)} --key FILE"; where their keys are lost, this command with --reason TEXT`
    return problem(`the terms in force name operators: ${operators.join(", ")}`, 409, remedy)
  }
  yield* beginHour({ hash: own, author, reason }, treasury.name)
  return { accepted: own, isInForce: false }
})

/** A second acceptance while the hour runs changes nothing. */
const beginHour = Effect.fnUntraced(function* (
  given: { readonly hash: string; readonly author: string; readonly reason: string },
  subject: string,
) {
  if ((yield* pending)?.hash === given.hash) return
  const { hash, author, reason } = given
  const detail = `${author} accepts the terms ${short(hash)} without the operators' keys`
  const stops = 'they come into force after an hour in which nothing is signed; "cofferer halt --reason TEXT" stops it'
  const write = Effect.gen(function* () {
    yield* (yield* Approvals).endHour("void")
    yield* (yield* Approvals).acceptTerms(given)
    yield* (yield* Journal).append({ kind: "config", subject, body: { detail, terms: hash, author, reason } })
    yield* pageOnTerms(`${hash}/accepted`, subject, `${detail}: ${reason}; ${stops}`)
  })
  yield* (yield* Database).write(write)
  yield* logEvent("terms accepted", { terms: hash, author, reason })
})

/** Longer messages are not read on a telephone. */
const alertCharsMax = 800

/** As many lines as fit into an alert, at least the first, and the number of those left out. */
export const listed = (lines: ReadonlyArray<string>): string => {
  const ends = lines.map((_, i) => lines.slice(0, i + 1).join("; ").length)
  const fit = Math.max(1, ends.filter((end) => end <= alertCharsMax).length)
  const left = lines.length - fit
  const text = lines.slice(0, fit).join("; ").slice(0, alertCharsMax)
  return left === 0 ? text : `${text}; and ${left} more`
}
