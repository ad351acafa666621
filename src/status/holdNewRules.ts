import { Effect } from "effect"
import type { Problem } from "../config/ConfigError.ts"
import type { Treasury } from "../config/Treasury.ts"
import type { Rule } from "../rules/Rule.ts"
import { heldScope } from "../rules/stops.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Brake, type Pause } from "../store/Brake.ts"
import { resumeCommand } from "../store/holdsOf.ts"
import { Signals } from "../store/Signals.ts"
import { ruleOfScope } from "../store/scopes.ts"

const namesIn = (rules: ReadonlyArray<Rule>): ReadonlySet<string> => new Set(rules.map(({ name }) => name))

/** Stops of rules that are not among these. */
const orphansOf = (pauses: ReadonlyArray<Pause>, rules: ReadonlySet<string>): ReadonlyArray<Pause> =>
  pauses.filter(({ scope }) => {
    const rule = ruleOfScope(scope)
    return rule !== undefined && !rules.has(rule)
  })

/** Stops of rules that a changed file does not have any more: under another name the rule would go on. */
export const orphanProblems = Effect.fnUntraced(function* (old: Treasury, next: Treasury) {
  const had = namesIn(old.rules)
  const orphans = orphansOf(yield* (yield* Brake).pauses, namesIn(next.rules))
  return orphans.flatMap(({ scope, reason }): ReadonlyArray<Problem> => {
    const rule = ruleOfScope(scope) ?? ""
    if (!had.has(rule)) return []
    const message = `${scope} stops a rule that the file has no more: ${reason}`
    const remedy = `keep the rule ${rule} under its name, or end its stop first: ${resumeCommand(scope)}`
    return [next.document.problem(["rules"], message, remedy)]
  })
})

/**
 * Where a stop has lost its rule, the rules that are new hold until a person ends that: one of them may be the stopped
 * one under another name. `before` are the rules last in force. Call it in the transaction that puts rules in force.
 */
export const holdNewRules = Effect.fn("Config.holdNewRules")(function* (
  before: ReadonlyArray<string>,
  { name, rules }: Treasury,
) {
  const brake = yield* Brake
  const pauses = yield* brake.pauses
  const orphans = orphansOf(pauses, namesIn(rules))
  const fresh = rules.map((rule) => rule.name).filter((rule) => !before.includes(rule))
  const held = fresh.filter((rule) => pauses.every(({ scope }) => scope !== heldScope(rule)))
  if (orphans.length === 0 || held.length === 0) return
  const why = orphans.map(({ scope, reason }) => `${scope} (${reason})`).join(", ")
  const reason = `new in the file, and perhaps another name of what is stopped: ${why}`
  for (const rule of held) yield* brake.pause({ scope: heldScope(rule), reason, author: "cofferer", until: undefined })
  const ends = [...held.map(heldScope), ...orphans.map(({ scope }) => scope)].map(resumeCommand)
  yield* (yield* AlertQueue).raise({
    dedup: `held/${held.join()}/${orphans.map(({ seq }) => seq).join()}`,
    severity: "ticket",
    kind: "rule",
    subject: name,
    detail:
      `${why} stops a rule that the file has no more; the rules that are new in it are held: ${held.join(", ")}. ` +
      `Where they may pay: ${ends.join(", ")}`,
    fields: {},
  })
  yield* (yield* Signals).wake("alerts")
})
