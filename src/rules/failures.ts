import type { Intent } from "../domain/Intent.ts"
import { sumText } from "../domain/sumText.ts"
import type { Notice } from "./Notice.ts"
import type { Snapshot } from "./Snapshot.ts"
import { lockScope } from "./stops.ts"

/** So many payments of a rule, one after the other, that came to nothing lock it. */
const failuresMax = 3
/** Older ones do not count. */
const withinMillis = 86_400_000

const failed: ReadonlySet<string> = new Set(["failed", "denied", "abandoned"])

/**
 * The rule's last payments where all of them failed, within a day and decided after `since` (Unix milliseconds): reason
 * enough to lock it. Undefined where there are fewer, or one of them was paid. What people called off says nothing.
 */
const failuresOf = (
  rule: string,
  settled: ReadonlyArray<Intent>,
  { now, since }: { readonly now: number; readonly since: number },
): ReadonlyArray<Intent> | undefined => {
  const counted = settled.filter(
    (intent) =>
      intent.rule === rule &&
      (intent.state === "confirmed" || failed.has(intent.state)) &&
      intent.createdAt > since &&
      intent.updatedAt > now - withinMillis,
  )
  const last = counted.slice(-failuresMax)
  return last.length === failuresMax && last.every(({ state }) => failed.has(state)) ? last : undefined
}

/** Whether enough payments came to nothing for any rule to lock itself. */
export const mayLock = (settled: ReadonlyArray<Intent>): boolean => {
  let count = 0
  for (const { state } of settled) if (failed.has(state) && ++count === failuresMax) return true
  return false
}

/** A rule that locks itself: the pause, and what people are told. */
export interface Lock {
  readonly scope: string
  readonly reason: string
  readonly notice: Notice
}

/**
 * Rules whose last payments all came to nothing and that are not locked yet. Failures from before an unlock never count
 * again: `ended` is when a person last ended a pause of each scope (Unix milliseconds).
 */
export const locksOf = (
  rules: Iterable<string>,
  { now, settled, pauses }: Pick<Snapshot, "now" | "settled" | "pauses">,
  ended: ReadonlyMap<string, number>,
): ReadonlyArray<Lock> => {
  const locked = new Set(pauses.map(({ scope }) => scope))
  return [...rules].flatMap((rule) => {
    const scope = lockScope(rule)
    const failures = locked.has(scope) ? undefined : failuresOf(rule, settled, { now, since: ended.get(scope) ?? 0 })
    return failures === undefined ? [] : [lockOf(rule, scope, failures)]
  })
}

const lockOf = (rule: string, scope: string, failures: ReadonlyArray<Intent>): Lock => {
  const { id, detail, payment, decimals } = failures.at(-1)!
  const reason = `its last ${failures.length} payments failed; the last: ${detail}`
  const end = `once the cause is gone: cofferer resume --scope ${scope} --reason TEXT`
  const { from, to } = payment
  const alert = {
    dedup: `lock/${rule}/${id}`,
    severity: "ticket" as const,
    kind: "rule" as const,
    subject: rule,
    detail: `locked itself: ${reason}; ${end}`,
    fields: { rule, scope, amount: sumText(payment, decimals), from, to, intent: id },
  }
  return { scope, reason, notice: { topic: "locked", rule, subject: rule, brief: reason, alert } }
}
