import { Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import type { Policy, PolicyLine, WindowUse } from "../rules/Policy.ts"
import { SpendLog } from "../store/SpendLog.ts"

const dayMillis = 86_400_000

/** The time that limits count, without what is counted apart. */
interface Day {
  readonly since: number
  readonly except: ReadonlySet<string>
}

/** The 24 hours before now by the ledger's clock (Unix milliseconds both), which runs behind ours. */
export const dayOf = (open: ReadonlyArray<Pick<Intent, "id" | "state">>, now: number, blockTime: number): Day => {
  // Rules add what they find reserved: one that waits for another signature would count twice.
  const reserved = open.filter((intent) => intent.state === "reserved").map((intent) => intent.id)
  return { since: Math.min(now, blockTime) - dayMillis, except: new Set(reserved) }
}

/** What was signed within the day under each line of the policy. */
export const signedUses = Effect.fnUntraced(function* (policy: Policy, day: Day) {
  const spends = yield* SpendLog
  const windows = new Map<number, WindowUse>()
  for (const line of policy.lines) windows.set(line.line, yield* spends.used({ ...line, ...day }))
  return { signed: (line: PolicyLine) => windows.get(line.line) ?? { amount: 0n, count: 0 } }
})
