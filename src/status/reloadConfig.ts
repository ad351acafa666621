import { Effect } from "effect"
import { ConfigInForce, type InForce, termsOf } from "../config/ConfigInForce.ts"
import { holdTerms } from "../config/holdTerms.ts"
import { needsRestart } from "../config/needsRestart.ts"
import { configParts, hashNumber, partHashes } from "../config/partHashes.ts"
import { loadTreasury } from "../config/Treasury.ts"
import { termsHash } from "../rules/storedTerms.ts"
import { weakens } from "../rules/weakens.ts"
import { Brake } from "../store/Brake.ts"
import { Signals } from "../store/Signals.ts"
import { namesOf } from "../store/scopes.ts"
import { TermsLog } from "../store/TermsLog.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { say } from "../telemetry/say.ts"
import { approvalOfTerms } from "./approvalOfTerms.ts"
import { orphanProblems } from "./holdNewRules.ts"
import { asOne, type Entry, hashLastSeen, putInForce } from "./putInForce.ts"
import { endRefusal, type Refusal, refusedFor, refuseReload } from "./refuseReload.ts"
import { operatorsIn } from "./startingWith.ts"
import { changedGateways, gatewayWords, tellGateways } from "./tellGateways.ts"
import { termsHeld } from "./termsApproval.ts"
import { keepWaiting, tellStart, tellWeaker } from "./waitingTerms.ts"

/** Who wants the files to be read again. */
export interface ReloadAsked {
  readonly author: string
  readonly reason: string
  /** Whether the new configuration may permit what the old one did not; operators must agree where there are any. */
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
  | ({ readonly _tag: "Refused" } & Pick<Refusal, "isConfig" | "remedy"> & { readonly detail: string })

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
 * the terms last in force is refused unless the operators agree, or, where there are none, it is asked for. Payments
 * that are under way go on.
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
  if (loaded._tag === "Failure") return yield* refuse(refusedFor(loaded.failure.problems))
  const treasury = loaded.success
  const [before, after] = [partHashes(old.treasury.document.value), partHashes(treasury.document.value)]
  const metrics = yield* Metrics
  if (before.all === after.all) {
    metrics.configReloaded.set({ treasury: treasury.name }, 1)
    yield* endRefusal(treasury.name)
    return { _tag: "Unchanged", hash: after.all } satisfies Reloaded
  }
  const orphans = yield* orphanProblems(old.treasury, treasury)
  if (orphans.length > 0) return yield* refuse({ ...refusedFor(orphans), isConfig: false })
  const restart = needsRestart(old.treasury, treasury)
  if (restart.length > 0) return yield* refuse({ ...refusedFor(restart), isConfig: false })
  const judged = yield* judgeTerms(old, { treasury, mode: old.waiting?.file.mode ?? old.mode }, asked)
  if ("refusal" in judged) return yield* refuse(judged.refusal)
  const { next, weaker } = judged
  const parts = configParts.filter((part) => part !== "all" && before[part] !== after[part])
  yield* config.replace(next, record(asked, { before: before.all, after: after.all, parts, weaker, old, next }))
  if (old.waiting !== undefined && next.waiting === undefined) yield* tellStart()
  yield* tellChange(next, asked, parts)
  return { _tag: "Reloaded", hash: after.all, parts, weaker } satisfies Reloaded
})

/** Under which terms the changed file comes into force, or why it does not. */
const judgeTerms = Effect.fnUntraced(function* (old: InForce, file: InForce, asked: ReloadAsked) {
  const log = yield* TermsLog
  const before = yield* termsHeld(old)
  const weaker = weakens(before, termsOf(file))
  if (weaker.length === 0) return { next: file, weaker }
  if (operatorsIn(before).size === 0) {
    return asked.allowWeaker ? { next: file, weaker } : { refusal: refusedAsWeaker(weaker, allowed) }
  }
  const approval = yield* approvalOfTerms(old, file)
  if (approval.isEnough) return { next: file, weaker }
  const [known, wait] = [yield* log.inForce, yield* log.waiting]
  // The rest of the file may change while exactly these terms go on to wait.
  if (known !== undefined && old.waiting !== undefined && wait?.hash === termsHash(termsOf(file))) {
    return { next: holdTerms(file, before, known.alerts), weaker: [] }
  }
  return { refusal: refusedAsWeaker(weaker, `${approval.advice}${delayed}`) }
})

const allowed = '"cofferer reload --allow-weaker --reason TEXT"'
const delayed = "; a restart with this file puts it in force after 24 hours, unless somebody objects"

interface Change {
  readonly before: string
  readonly after: string
  readonly parts: ReadonlyArray<string>
  readonly weaker: ReadonlyArray<string>
  readonly old: InForce
  readonly next: InForce
}

/** Journals at a start which configuration is in force here, and whether its terms wait. */
export const noteStarted = Effect.fn("Config.started")(function* () {
  const inForce = (yield* ConfigInForce).now()
  const { treasury, mode, waiting } = inForce
  yield* tellHashes(inForce)
  const before = yield* hashLastSeen
  const known = yield* (yield* TermsLog).inForce
  yield* (yield* Brake).keepScopes(namesOf(known?.terms ?? treasury))
  const after = partHashes(treasury.document.value).all
  const weaker = waiting !== undefined || known === undefined ? [] : weakens(known.terms, termsOf(inForce))
  const detail =
    before === undefined
      ? "the first configuration"
      : before === after
        ? "the terms of the configuration"
        : `started with another configuration${waiting === undefined ? "" : ", whose terms wait"}`
  const entry = { detail, before, after, weaker, policy: treasury.policy.hash, mode }
  const seq = yield* asOne(Effect.andThen(keepWaiting(inForce), started(inForce, entry)))
  yield* endRefusal(treasury.name)
  yield* tellStart()
  yield* tellWeaker(seq, weaker)
})

/** Gateways change at a start alone. */
const started = Effect.fnUntraced(function* (inForce: InForce, entry: Entry) {
  const { treasury } = inForce
  const change = yield* changedGateways(treasury)
  if (change === undefined) return yield* putInForce(inForce, entry, undefined)
  const { removed, added } = change
  const detail = `${entry.detail}; ${gatewayWords(change)}`
  const seq = yield* putInForce(inForce, { ...entry, detail, gateways: { removed, added } }, undefined)
  yield* tellGateways(seq, treasury, change)
  return seq
})

const record = Effect.fnUntraced(function* (asked: ReloadAsked, change: Change) {
  const { before, after, parts, weaker, old, next } = change
  const { author, reason } = asked
  const detail = `${parts.join(", ")} changed`
  const entry = { detail, before, after, parts, weaker, policy: next.treasury.policy.hash, author, reason }
  const end = endRefusal(next.treasury.name)
  yield* asOne(Effect.andThen(putInForce(next, entry, old.treasury.rules), Effect.andThen(keepWaiting(next), end)))
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

const refusedAsWeaker = (weaker: ReadonlyArray<string>, advice: string): Refusal => ({
  isConfig: false,
  title: "it would permit more than what is in force:",
  lines: weaker,
  remedy: `what was in force stays in force; if it is meant, ${advice}`,
})
