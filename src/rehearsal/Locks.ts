import type { Intent } from "../domain/Intent.ts"
import { failuresOf, failuresText } from "../rules/failures.ts"
import { lockScope } from "../rules/stops.ts"
import type { Told } from "./World.ts"

/** Rules whose last payments all came to nothing lock themselves. */
export interface Locks {
  /** Those that lock themselves now (Unix milliseconds): the scope of the pause, and what people are told. */
  readonly next: (
    settled: ReadonlyArray<Intent>,
    now: number,
  ) => ReadonlyArray<{ readonly scope: string; readonly told: Told }>
  /** Pauses of these scopes ended: what failed before does not count any more. */
  readonly ended: (scopes: Iterable<string>, now: number) => void
}

export const makeLocks = (rules: ReadonlyArray<string>): Locks => {
  const since = new Map<string, number>()
  const locked = new Set<string>()
  return {
    next: (settled, now) =>
      rules.flatMap((rule) => {
        const scope = lockScope(rule)
        if (locked.has(scope)) return []
        const failures = failuresOf(rule, settled, { now, since: since.get(scope) ?? 0 })
        if (failures === undefined) return []
        locked.add(scope)
        const detail = failuresText(failures)
        return [{ scope, told: { at: now, severity: "ticket", kind: "locked", rule, subject: rule, detail } }]
      }),
    ended: (scopes, now) => {
      for (const scope of scopes) if (locked.delete(scope)) since.set(scope, now)
    },
  }
}
