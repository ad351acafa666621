import { Clock, Effect } from "effect"
import { formatProblem, type Problem } from "../config/ConfigError.ts"
import { ConfigInForce, type InForce, termsOf } from "../config/ConfigInForce.ts"
import { needsRestart } from "../config/needsRestart.ts"
import { configParts, hashNumber, partHashes } from "../config/partHashes.ts"
import { loadTreasury } from "../config/Treasury.ts"
import { adoptRules, keepRules } from "../engine/adoptRules.ts"
import { weakens } from "../rules/weakens.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { Journal } from "../store/Journal.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { say } from "../telemetry/say.ts"
import { agreementToTerms, configEntryKey } from "./termsApproval.ts"

/** Who wants the files to be read again. */
export interface ReloadAsked {
  readonly author: string
  readonly reason: string
  /** Whether the new configuration may permit what the old one did not. */
  readonly allowWeaker: boolean
}

export type Reloaded =
  | { readonly _tag: "Unchanged"; readonly hash: string }
  | {
      readonly _tag: "Reloaded"
      readonly hash: string
      readonly parts: ReadonlyArray<string>
      readonly weaker: ReadonlyArray<string>
    }
  | {
      readonly _tag: "Refused"
      /** The files are wrong; otherwise what they say is not permitted now. */
      readonly isConfig: boolean
      readonly detail: string
      readonly remedy: string
    }

/** Shows in the metrics which configuration is in force. */
const tellHashes = Effect.fnUntraced(function* ({ treasury }: InForce) {
  const metrics = yield* Metrics
  const hashes = partHashes(treasury.document.value)
  for (const part of configParts) {
    metrics.configHash.set({ treasury: treasury.name, part }, hashNumber(hashes[part]))
  }
})

/**
 * Reads the treasury's files again and puts them in force as a whole, or leaves all as it is. What permits more than
 * the configuration in force is refused unless that is asked for. Payments that are under way go on.
 */
export const reloadConfig = Effect.fn("Config.reload")(function* (asked: ReloadAsked) {
  const config = yield* ConfigInForce
  return yield* config.reloading(reload(asked))
})

const reload = Effect.fnUntraced(function* (asked: ReloadAsked) {
  const config = yield* ConfigInForce
  const old = config.now()
  const loaded = yield* Effect.result(loadTreasury(...old.treasury.files))
  if (loaded._tag === "Failure") return yield* refuse(old, asked, refusedFor(loaded.failure.problems))
  const treasury = loaded.success
  const [before, after] = [partHashes(old.treasury.document.value), partHashes(treasury.document.value)]
  const metrics = yield* Metrics
  if (before.all === after.all) {
    metrics.configReloaded.set({ treasury: treasury.name }, 1)
    return { _tag: "Unchanged", hash: after.all } satisfies Reloaded
  }
  const restart = needsRestart(old.treasury, treasury)
  if (restart.length > 0) return yield* refuse(old, asked, { ...refusedFor(restart), isConfig: false })
  const next = { treasury, mode: old.mode }
  const weaker = weakens(termsOf(old), termsOf(next))
  if (weaker.length > 0 && !asked.allowWeaker) {
    const approval = yield* approvalOfPeople(old, next)
    if (!approval.isEnough) return yield* refuse(old, asked, refusedAsWeaker(weaker, approval.advice))
  }
  const parts = configParts.filter((part) => part !== "all" && before[part] !== after[part])
  yield* config.replace(next, record(asked, { before: before.all, after: after.all, parts, weaker, old, next }))
  yield* tellChange(next, asked, parts)
  return { _tag: "Reloaded", hash: after.all, parts, weaker } satisfies Reloaded
})

/** Whether the operators in force agreed to exactly these terms; else what they can do about it. */
const approvalOfPeople = Effect.fnUntraced(function* (old: InForce, next: InForce) {
  const { by, others, missing, change } = yield* agreementToTerms(old, next)
  if (by.length + others.length === 0) return { isEnough: false, advice: "" }
  const so = by.length === 0 ? `${missing} of` : `approved by ${by.join(", ")}, ${missing} more of`
  const advice = `, or operators "cofferer approve terms ${change.terms.slice(0, 8)}" (${so} ${others.join(", ")})`
  return { isEnough: missing === 0, advice }
})

interface Change {
  readonly before: string
  readonly after: string
  readonly parts: ReadonlyArray<string>
  readonly weaker: ReadonlyArray<string>
  readonly old: InForce
  readonly next: InForce
}

const hashKey = "configHash"

/** Journals at a start that the configuration is another one than the last that was in force here. */
export const noteStartedWith = Effect.fn("Config.started")(function* (inForce: InForce) {
  const { treasury, mode } = inForce
  const settings = yield* Settings
  const before = yield* settings.get(hashKey)
  const after = partHashes(treasury.document.value).all
  yield* tellHashes(inForce)
  if (before === after) return yield* keepRules(treasury.rules)
  const journal = yield* Journal
  const detail = before === undefined ? "the first configuration" : "started with another configuration"
  const body = { detail, before, after, policy: treasury.policy.hash, mode }
  const write = Effect.gen(function* () {
    const { seq } = yield* journal.append({ kind: "config", subject: treasury.name, body })
    yield* settings.set(configEntryKey, String(seq))
    yield* settings.set(hashKey, after)
    yield* before === undefined ? keepRules(treasury.rules) : adoptRules(treasury.rules)
  })
  yield* asOne(write)
})

/** All durable together, or none; what was not committed is not remembered either. */
const asOne = Effect.fnUntraced(function* <E, R>(write: Effect.Effect<void, E, R>) {
  const states = yield* RuleStates
  yield* (yield* Database).atomically(write).pipe(Effect.onError(() => states.forget))
})

const record = Effect.fnUntraced(function* (asked: ReloadAsked, change: Change) {
  const journal = yield* Journal
  const { name, policy, rules } = change.next.treasury
  const { author, reason } = asked
  const { before, after, parts, weaker, old } = change
  const entry = { before, after, parts, weaker, policy: policy.hash, author, reason }
  const detail = `${parts.join(", ")} changed`
  const settings = yield* Settings
  const write = Effect.gen(function* () {
    const { seq } = yield* journal.append({ kind: "config", subject: name, body: { detail, ...entry } })
    yield* settings.set(configEntryKey, String(seq))
    yield* settings.set(hashKey, after)
    yield* adoptRules(rules, old.treasury.rules)
  })
  yield* asOne(write)
})

const tellChange = Effect.fnUntraced(function* (next: InForce, { author }: ReloadAsked, parts: ReadonlyArray<string>) {
  const metrics = yield* Metrics
  const signals = yield* Signals
  const { name, rules, policy } = next.treasury
  metrics.configReloaded.set({ treasury: name }, 1)
  for (const { name: rule } of rules) {
    for (const decision of ["act", "hold", "error"]) metrics.ruleEvaluations.inc({ treasury: name, rule, decision }, 0)
  }
  yield* tellHashes(next)
  for (const loop of ["engine", "submitter", "balances"] as const) yield* signals.wake(loop)
  yield* say("reloaded", { subject: parts.join(", "), detail: `by ${author}; policy ${policy.hash}` })
})

interface Refusal {
  readonly isConfig: boolean
  readonly title: string
  /** What is wrong, the most important first. */
  readonly lines: ReadonlyArray<string>
  readonly remedy: string
}

const refusedFor = (problems: ReadonlyArray<Problem>): Refusal => ({
  isConfig: true,
  title: "",
  lines: problems.map(formatProblem),
  remedy: "what was in force stays in force",
})

const refusedAsWeaker = (weaker: ReadonlyArray<string>, advice: string): Refusal => ({
  isConfig: false,
  title: "it would permit more than what is in force:",
  lines: weaker,
  remedy: `what was in force stays in force; if it is meant, "cofferer reload --allow-weaker --reason TEXT"${advice}`,
})

/** Longer, and a message on a telephone is not read. */
const alertCharsMax = 800

/** As many of the lines as there is room for, the first always; how many are left out is said. */
const listed = (lines: ReadonlyArray<string>): string => {
  const ends = lines.map((_, i) => lines.slice(0, i + 1).join("; ").length)
  const fit = Math.max(1, ends.filter((end) => end <= alertCharsMax).length)
  const left = lines.length - fit
  const told = lines.slice(0, fit).join("; ").slice(0, alertCharsMax)
  return left === 0 ? told : `${told}; and ${left} more`
}

/** The last good configuration stays, and people hear of it. */
const refuse = Effect.fnUntraced(function* (old: InForce, asked: ReloadAsked, refusal: Refusal) {
  const { name } = old.treasury
  const metrics = yield* Metrics
  metrics.configReloaded.set({ treasury: name }, 0)
  const at = yield* Clock.currentTimeMillis
  const { isConfig, title, lines, remedy } = refusal
  yield* (yield* AlertQueue).raise({
    dedup: `config_reload/${at}`,
    severity: "ticket",
    kind: "config",
    subject: name,
    detail: `a new configuration was refused: ${title === "" ? "" : `${title} `}${listed(lines)}; ${remedy}`,
    fields: { author: asked.author },
  })
  yield* (yield* Signals).wake("alerts")
  yield* Effect.logWarning("a new configuration was refused", {
    author: asked.author,
    reason: `${title} ${lines.join("; ")}`.trim(),
  })
  const detail = title === "" ? lines.join("\n") : [title, ...lines.map((line) => `  ${line}`)].join("\n")
  return { _tag: "Refused", isConfig, detail, remedy } satisfies Reloaded
})
