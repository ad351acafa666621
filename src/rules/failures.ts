import type { Intent } from "../domain/Intent.ts"

/** So many payments of a rule, one after the other, that came to nothing lock it. */
export const failuresMax = 3
/** Older ones do not count. */
const withinMillis = 86_400_000

const failed: ReadonlySet<string> = new Set(["failed", "denied", "abandoned"])

/**
 * The rule's last payments where all of them failed, within a day and decided after `since` (Unix milliseconds): reason
 * enough to lock it. Undefined where there are fewer, or one of them was paid. What people called off says nothing.
 */
export const failuresOf = (
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

/** Why the rule locks itself, for people. */
export const failuresText = (failures: ReadonlyArray<Intent>): string =>
  `its last ${failures.length} payments failed; the last: ${failures.at(-1)?.detail}`
