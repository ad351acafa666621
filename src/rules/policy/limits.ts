import type { Intent } from "../../domain/Intent.ts"
import type { Snapshot } from "../Snapshot.ts"
import type { PolicyLine, PolicyPayment, WindowUse } from "./Policy.ts"

/** True if a payment is decided and not signed: the signer's periods do not count it yet. */
export const isUnsigned = ({ state }: Pick<Intent, "state">): boolean =>
  state === "proposed" || state === "awaiting_approval" || state === "reserved"

/** True if the network will count the payment in this epoch's transfers, and has not yet. */
export const isSlot = (intent: Pick<Intent, "state" | "command">): boolean =>
  isUnsigned(intent) && intent.command !== "withdraw"

/** A line's window: what was signed, what open intents will sign, and payments that are to be made beside them. */
export const windowUse = (
  snapshot: Pick<Snapshot, "open" | "signed">,
  line: PolicyLine,
  beside: ReadonlyArray<PolicyPayment>,
): WindowUse => {
  const open = snapshot.open.filter(isUnsigned).map(({ payment: { fromKey, toKey, assetId, amount } }) => ({
    from: fromKey,
    to: toKey,
    assetId,
    amount,
  }))
  return [...open, ...beside]
    .filter(({ from, to, assetId }) => line.from.has(from) && line.to.has(to) && line.assetId === assetId)
    .reduce((sum, { amount }) => ({ amount: sum.amount + amount, count: sum.count + 1 }), snapshot.signed(line))
}
