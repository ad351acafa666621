import { Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { keptReasons } from "../domain/Halt.ts"
import { Brake } from "../store/Brake.ts"
import type { Place } from "../tx/Agreement.ts"
import { neededOf, operatorsInForce } from "./operatorsInForce.ts"
import { agreementOf, takeAgreement } from "./sharedApprovals.ts"

export const placeOf = ({ name, network }: Treasury): Place => ({ treasury: name, chainId: network.chainId })

/**
 * Ends of halts need operators, where there are any. `missing` above 0: the resume waits, and `text` is what the next
 * of them signs. It is bound to the halts in force and to the reason, so both must still be the same.
 */
export const approveResume = Effect.fnUntraced(function* (
  treasury: Treasury,
  { scope, reason }: { readonly scope: string; readonly reason: string },
  signature: string | undefined,
) {
  const operators = yield* operatorsInForce(treasury)
  const all = scope === "all" ? yield* (yield* Brake).halts : []
  const halts = all.filter((halt) => keptReasons.every((kept) => kept !== halt.reason))
  if (halts.length === 0 || neededOf(operators) === 0) return { by: [], others: [], missing: 0 }
  const asked = { kind: "resume", scope, halts, stops: [], reason } as const
  if (signature !== undefined) {
    const taken = yield* takeAgreement(operators, placeOf(treasury), asked, signature)
    if ("problem" in taken) return taken
  }
  return yield* agreementOf(operators, placeOf(treasury), asked)
})
