import { Effect } from "effect"
import type { Problem } from "../config/ConfigError.ts"
import type { Treasury } from "../config/Treasury.ts"
import { Brake } from "../store/Brake.ts"
import { resumeCommand } from "../store/holdsOf.ts"
import { ruleOfScope } from "../store/scopes.ts"

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
