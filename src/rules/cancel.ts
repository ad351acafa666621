import type { Need, Seen } from "./Need.ts"
import { type CancelRule, orderOf } from "./Rule.ts"
import type { Snapshot, StandingOrder } from "./Snapshot.ts"

const isMeant = ({ transfers, except, assets }: CancelRule, { id, assetId }: StandingOrder): boolean =>
  (transfers?.has(id) ?? true) && !except.has(id) && (assets?.has(assetId) ?? true)

/** Those that were tried in vain come last, so that one that cannot be ended keeps no other alive. */
const inTurn = (orders: ReadonlyArray<StandingOrder>, { settled }: Snapshot): ReadonlyArray<StandingOrder> => {
  const tried = new Set<string>(
    settled.flatMap(({ command, state, payment }) =>
      command === "cancel" && state !== "confirmed" ? [payment.toKey] : [],
    ),
  )
  return [...orders.filter(({ id }) => !tried.has(id)), ...orders.filter(({ id }) => tried.has(id))]
}

const count = (n: number): string => `${n === 0 ? "no" : n} standing order${n === 1 ? "" : "s"}`

/** The standing orders of a key are ended one after the other, each once the one before is known to be over. */
export const cancelNeed = ({ subject: { rule }, snapshot }: Seen<"cancel">): Need => {
  const { from } = rule
  const active = snapshot.orders?.(from.publicKey)?.active ?? []
  const elsewhere = new Set<string>(
    snapshot.open.flatMap((intent) =>
      intent.command === "cancel" && intent.rule !== rule.name ? [intent.payment.toKey] : [],
    ),
  )
  const meant = active.filter((order) => isMeant(rule, order) && !elsewhere.has(order.id))
  const [first] = inTurn(meant, snapshot)
  if (first === undefined) {
    const rest = active.length === 0 ? "" : ", none of them to be cancelled"
    return { _tag: "InBand", detail: `${from.name} has ${count(active.length)}${rest}` }
  }
  return {
    _tag: "Wanted",
    detail: `${from.name} has ${count(meant.length)} to be cancelled`,
    transfers: [{ from, to: orderOf(first.id), amount: 0n }],
  }
}
