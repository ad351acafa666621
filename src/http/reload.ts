import { Clock, Effect } from "effect"
import { ConfigInForce, type InForce } from "../config/ConfigInForce.ts"
import { configParts, hashNumber, needsRestart, partHashes } from "../config/needsRestart.ts"
import { loadTreasury, type Treasury } from "../config/Treasury.ts"
import { formatProblem, type Problem } from "../config/yaml/ConfigError.ts"
import { isPaying } from "../rules/Rule.ts"
import { raise } from "../store/alerts/raise.ts"
import { Controls, resumeCommand, ruleOfScope } from "../store/controls/Controls.ts"
import { Signals } from "../store/database/Signals.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { operatorsInForce } from "./agreeing.ts"
import {
  alertOnGatewayChange,
  type ChangeEntry,
  changedGateways,
  endRefusal,
  gatewayWords,
  hashLastSeen,
  putInForce,
  refusedReload,
  writeAtomically,
} from "./putInForce.ts"
import { approvalOfTerms, endTermsHalt, haltOnTerms, listed, pageOnWeaker, weakerIn } from "./termsApproval.ts"

/** Why files are not put in force. */
interface Refusal {
  /** The files are wrong; otherwise what they say is not permitted now. */
  readonly isConfig: boolean
  readonly title: string
  /** Problems, the most important first. */
  readonly lines: ReadonlyArray<string>
  readonly remedy: string
  /** Command that puts it in force anyway. */
  readonly meant?: string
}

/** Each problem names its own remedy; a file with mistakes is read again after it. */
const refusedFor = (problems: ReadonlyArray<Problem>, isConfig: boolean): Refusal => ({
  isConfig,
  title: "",
  lines: problems.map(formatProblem),
  remedy: `${isConfig ? 'correct the file, then "cofferer reload --reason TEXT"; ' : ""}until then what was in force stays in force`,
})

/** Records and alerts a refusal. The configuration in force stays. */
const refuseReload = Effect.fnUntraced(function* (old: InForce, author: string, refusal: Refusal) {
  const { name } = old.treasury
  const metrics = yield* Metrics
  metrics.configReloaded.set({ treasury: name }, 0)
  const at = yield* Clock.currentTimeMillis
  const { isConfig, title, lines, remedy, meant } = refusal
  const why = `${title === "" ? "" : `${title} `}${listed(lines)}`
  const { note } = yield* refusedReload
  const noted = note(meant === undefined ? why : `${why}; if it is meant, ${meant}`)
  yield* writeAtomically(
    Effect.andThen(raise("reload_refused", { treasury: name, at, detail: why, remedy, author }), noted),
  )
  yield* logEvent("configuration refused", {
    author,
    reason: `${title} ${lines.join("; ")}`.trim(),
  })
  const detail = title === "" ? lines.join("\n") : [title, ...lines.map((line) => `  ${line}`)].join("\n")
  return { _tag: "Refused" as const, isConfig, detail, remedy }
})

/** Problems for pauses and locks of rules missing in a changed file: under another name the rule would pay again. */
const orphanProblems = Effect.fnUntraced(function* (old: Treasury, next: Treasury) {
  const [had, has] = [old, next].map(({ rules }) => new Set(rules.map(({ name }) => name)))
  return (yield* (yield* Controls).pauses).flatMap(({ scope, reason }): ReadonlyArray<Problem> => {
    const rule = ruleOfScope(scope)
    if (rule === undefined || had?.has(rule) !== true || has?.has(rule) === true) return []
    const message = orphanText(scope, reason)
    const remedy = `keep the rule ${rule} under its name, or end its stop first: ${resumeCommand(scope)}`
    return [next.document.problem(["rules"], message, remedy)]
  })
})

const orphanText = (scope: string, reason: string): string =>
  `${scope} stops a rule that the file has no more: ${reason}`

/**
 * Keeps stops of missing rules at a start, which cannot refuse the file: each rule that was not in force here may be
 * the renamed one, and is stopped.
 */
const keepStops = Effect.fn("Config.keepStops")(function* ({ rules }: Treasury) {
  const controls = yield* Controls
  // A rule that was removed has neither a reason nor a timer any more.
  const inForce = (yield* (yield* RuleStates).all).filter(({ reason, firingSince }) => reason ?? firingSince)
  const known = new Set(inForce.map(({ rule }) => rule))
  const names = rules.filter(isPaying).map(({ name }) => name)
  const pauses = yield* controls.pauses
  for (const { scope, reason, author, until } of pauses) {
    const rule = ruleOfScope(scope)
    if (rule === undefined || names.includes(rule)) continue
    for (const name of names.filter((one) => !known.has(one))) {
      const stop = `${scope.slice(0, -rule.length)}${name}`
      if (pauses.some((pause) => pause.scope === stop)) continue
      const why = orphanText(scope, reason)
      yield* controls.pause({ scope: stop, reason: why, author, until })
      yield* logEvent("payments paused", { scope: stop, author, reason: why })
    }
  }
})

/** A request to read the files again. */
interface ReloadAsked {
  readonly author: string
  readonly reason: string
  /** True if the new configuration may permit more than the old one; operators, if named, must agree. */
  readonly allowWeaker: boolean
}

/** Shows in the metrics which configuration is in force. */
const setHashMetrics = Effect.fnUntraced(function* ({ treasury }: InForce) {
  const metrics = yield* Metrics
  const hashes = partHashes(treasury.document.value)
  for (const part of configParts) {
    metrics.configHash.set({ treasury: treasury.name, part }, hashNumber(hashes[part]))
  }
})

/**
 * Reads the treasury's files again and puts them in force as a whole, or changes nothing. Terms that permit more than
 * those last in force need the operators' agreement or, without operators, an explicit option. Payments under way
 * continue.
 */
export const reloadConfig = Effect.fn("Config.reload")(function* (asked: ReloadAsked) {
  const config = yield* ConfigInForce
  return yield* config.reloading(reload(asked))
})

const reload = Effect.fnUntraced(function* (asked: ReloadAsked) {
  const config = yield* ConfigInForce
  const old = config.now()
  const refuse = (refusal: Refusal) => refuseReload(old, asked.author, refusal)
  const loaded = yield* Effect.result(loadTreasury(...old.treasury.files))
  if (loaded._tag === "Failure") return yield* refuse(refusedFor(loaded.failure.problems, true))
  const treasury = loaded.success
  const [before, after] = [partHashes(old.treasury.document.value), partHashes(treasury.document.value)]
  const metrics = yield* Metrics
  const isHalted = (yield* (yield* Controls).halts).some(({ reason }) => reason === "terms")
  const restart = needsRestart(old.treasury, treasury)
  if (before.all === after.all && restart.length === 0 && !isHalted) {
    metrics.configReloaded.set({ treasury: treasury.name }, 1)
    yield* writeAtomically(endRefusal(treasury.name))
    return { _tag: "Unchanged" as const, hash: after.all, files: treasury.files }
  }
  const orphans = yield* orphanProblems(old.treasury, treasury)
  if (orphans.length > 0) return yield* refuse(refusedFor(orphans, false))
  if (restart.length > 0) return yield* refuse(refusedFor(restart, false))
  const next = { treasury, mode: old.mode }
  const weaker = yield* weakerIn(next)
  const isAsking = weaker.length > 0 && (yield* operatorsInForce).size > 0
  const approval = isAsking ? yield* approvalOfTerms(old, next) : undefined
  if (approval?.isEnough === false) return yield* refuse(refusedAsWeaker(weaker, approval.advice))
  if (weaker.length > 0 && approval === undefined && !asked.allowWeaker) {
    return yield* refuse(refusedAsWeaker(weaker, '"cofferer reload --allow-weaker --reason TEXT"'))
  }
  const parts = configParts.filter((part) => part !== "all" && before[part] !== after[part])
  // Under the halt the rules of the file were never adopted: those that the store knows are what it replaces.
  const replaced = isHalted ? undefined : old.treasury.rules
  const { author, reason } = asked
  const policy = treasury.policy.hash
  const detail = `${parts.join(", ")} changed`
  const entry = { detail, before: before.all, after: after.all, parts, weaker, policy, author, reason }
  const by = approval === undefined ? author : `${author}, approved by ${approval.by.join(" and ")}`
  const why = `reloaded by ${by}: ${reason}`
  const write = Effect.gen(function* () {
    yield* putInForce(next, entry, replaced)
    yield* endTermsHalt(why)
    yield* endRefusal(treasury.name)
    yield* pageOnWeaker(next, weaker, why)
  })
  yield* config.replace(next, writeAtomically(write))
  yield* announceReload(next, asked, parts)
  return { _tag: "Reloaded" as const, hash: after.all, parts, weaker }
})

/** Records the configuration at a start, or halts if nobody has agreed to its weaker terms. */
export const noteStarted = Effect.fn("Config.started")(function* () {
  const inForce = (yield* ConfigInForce).now()
  const { treasury, mode } = inForce
  yield* setHashMetrics(inForce)
  yield* writeAtomically(keepStops(treasury))
  const weaker = yield* weakerIn(inForce)
  const approval = weaker.length === 0 ? undefined : yield* approvalOfTerms(inForce, inForce)
  if (approval?.isEnough === false) {
    const change = changedGateways(treasury)
    yield* writeAtomically(
      Effect.flatMap(change, (one) =>
        one === undefined ? Effect.void : alertOnGatewayChange(undefined, treasury, one),
      ),
    )
    return yield* haltOnTerms(inForce, weaker)
  }
  const before = yield* hashLastSeen
  const after = partHashes(treasury.document.value).all
  const detail =
    before === undefined
      ? "the first configuration"
      : before === after
        ? "the terms of the configuration"
        : "started with another configuration"
  const entry = { detail, before, after, weaker, policy: treasury.policy.hash, mode }
  const write = Effect.gen(function* () {
    yield* started(inForce, entry)
    yield* endTermsHalt("what the file permits is in force")
    yield* endRefusal(treasury.name)
    if (approval !== undefined) yield* pageOnWeaker(inForce, weaker, `approved by ${approval.by.join(" and ")}`)
  })
  yield* writeAtomically(write)
})

/** Records the configuration and the gateways, which change only at a start. */
const started = Effect.fnUntraced(function* (inForce: InForce, entry: ChangeEntry) {
  const { treasury } = inForce
  const change = yield* changedGateways(treasury)
  if (change === undefined) return yield* putInForce(inForce, entry, undefined)
  const { removed, added } = change
  const detail = `${entry.detail}; ${gatewayWords(change)}`
  const seq = yield* putInForce(inForce, { ...entry, detail, gateways: { removed, added } }, undefined)
  return yield* alertOnGatewayChange(seq, treasury, change)
})

const announceReload = Effect.fnUntraced(function* (
  next: InForce,
  { author }: ReloadAsked,
  parts: ReadonlyArray<string>,
) {
  const metrics = yield* Metrics
  const { name, rules, policy } = next.treasury
  metrics.configReloaded.set({ treasury: name }, 1)
  for (const { name: rule } of rules) {
    for (const decision of ["act", "hold", "error"]) metrics.ruleEvaluations.inc({ treasury: name, rule, decision }, 0)
  }
  yield* setHashMetrics(next)
  yield* (yield* Signals).wake("engine", "submitter", "balances")
  yield* logEvent("configuration reloaded", { parts, author, policy: policy.digest })
})

const refusedAsWeaker = (weaker: ReadonlyArray<string>, advice: string): Refusal => ({
  isConfig: false,
  title: "it would permit more than what is in force:",
  lines: weaker,
  remedy: `what was in force stays in force; if it is meant, ${advice}`,
  meant: advice,
})
