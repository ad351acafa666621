import { Clock, Effect } from "effect"
import { formatProblem, type Problem } from "../config/ConfigError.ts"
import type { InForce } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Brake } from "../store/Brake.ts"
import { resumeCommand } from "../store/holdsOf.ts"
import { makeTrouble } from "../store/makeTrouble.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { ruleOfScope } from "../store/scopes.ts"
import { Metrics } from "../telemetry/Metrics.ts"

/** The last refusal of changed files, until files are put in force. It outlives the process. */
export const refusedReload = Effect.map(Settings, (settings) => makeTrouble(settings, "refusedReload"))

/** Why files are not put in force. */
export interface Refusal {
  /** The files are wrong; otherwise what they say is not permitted now. */
  readonly isConfig: boolean
  readonly title: string
  /** What is wrong, the most important first. */
  readonly lines: ReadonlyArray<string>
  readonly remedy: string
}

export const refusedFor = (problems: ReadonlyArray<Problem>): Refusal => ({
  isConfig: true,
  title: "",
  lines: problems.map(formatProblem),
  remedy: "what was in force stays in force",
})

/** Longer, and a message on a telephone is not read. */
const alertCharsMax = 800

/** As many of the lines as there is room for, the first always; how many are left out is said. */
export const listed = (lines: ReadonlyArray<string>): string => {
  const ends = lines.map((_, i) => lines.slice(0, i + 1).join("; ").length)
  const fit = Math.max(1, ends.filter((end) => end <= alertCharsMax).length)
  const left = lines.length - fit
  const told = lines.slice(0, fit).join("; ").slice(0, alertCharsMax)
  return left === 0 ? told : `${told}; and ${left} more`
}

/** Ends a refusal, once files are in force as they are written: those who got its ticket hear of that. */
export const endRefusal = Effect.fnUntraced(function* (treasury: string) {
  const over = yield* (yield* refusedReload).end
  if (over === undefined) return
  yield* (yield* AlertQueue).raise({
    dedup: `config_reload/${over.since}/over`,
    severity: "info",
    kind: "config",
    subject: treasury,
    detail: "the files are in force again as they are written",
    fields: { over: true },
    resolves: ["config_reload"],
  })
  yield* (yield* Signals).wake("alerts")
})

/** The last good configuration stays, and people hear of it. */
export const refuseReload = Effect.fnUntraced(function* (old: InForce, author: string, refusal: Refusal) {
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
    fields: { author },
  })
  yield* (yield* refusedReload).note(`${title === "" ? "" : `${title} `}${listed(lines)}`)
  yield* (yield* Signals).wake("alerts")
  yield* Effect.logWarning("a new configuration was refused", {
    author,
    reason: `${title} ${lines.join("; ")}`.trim(),
  })
  const detail = title === "" ? lines.join("\n") : [title, ...lines.map((line) => `  ${line}`)].join("\n")
  return { _tag: "Refused" as const, isConfig, detail, remedy }
})

/** Pauses and locks of rules that a changed file no longer has: under another name the rule would go on. */
export const orphanProblems = Effect.fnUntraced(function* (old: Treasury, next: Treasury) {
  const [had, has] = [old, next].map(({ rules }) => new Set(rules.map(({ name }) => name)))
  return (yield* (yield* Brake).pauses).flatMap(({ scope, reason }): ReadonlyArray<Problem> => {
    const rule = ruleOfScope(scope)
    if (rule === undefined || had?.has(rule) !== true || has?.has(rule) === true) return []
    const message = `${scope} stops a rule that the file has no more: ${reason}`
    const remedy = `keep the rule ${rule} under its name, or end its stop first: ${resumeCommand(scope)}`
    return [next.document.problem(["rules"], message, remedy)]
  })
})
