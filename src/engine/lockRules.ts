import { Effect } from "effect"
import { sumText } from "../domain/sumText.ts"
import { failuresMax, failuresOf, failuresText } from "../rules/failures.ts"
import type { PayingRule } from "../rules/Rule.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { lockScope } from "../rules/stops.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Brake } from "../store/Brake.ts"
import { Signals } from "../store/Signals.ts"

/**
 * Locks each rule whose last payments all came to nothing, and tells people. Failures from before an unlock never
 * count again. Returns the pauses in force then.
 */
export const lockRules = Effect.fn("Engine.lock")(function* (rules: ReadonlyArray<PayingRule>, snapshot: Snapshot) {
  const brake = yield* Brake
  const { now, settled, pauses } = snapshot
  if (settled.length < failuresMax) return pauses
  const locked = new Set(pauses.map(({ scope }) => scope))
  const ended = yield* brake.ended
  let isNew = false
  for (const { name } of rules) {
    const scope = lockScope(name)
    if (locked.has(scope)) continue
    const failures = failuresOf(name, settled, { now, since: ended.get(scope) ?? 0 })
    const last = failures?.at(-1)
    if (failures === undefined || last === undefined) continue
    isNew = true
    const reason = failuresText(failures)
    yield* brake.pause({ scope, reason, author: "cofferer", until: undefined })
    const { payment, decimals } = last
    yield* (yield* AlertQueue).raise({
      dedup: `lock/${name}/${last.id}`,
      severity: "ticket",
      kind: "rule",
      subject: name,
      detail: `locked itself: ${reason}; once the cause is gone: cofferer resume --scope ${scope} --reason TEXT`,
      fields: {
        rule: name,
        scope,
        amount: sumText(payment, decimals),
        from: payment.from,
        to: payment.to,
        intent: last.id,
      },
    })
  }
  if (!isNew) return pauses
  yield* (yield* Signals).wake("alerts")
  return yield* brake.pauses
})
