import { createHash } from "node:crypto"
import { Context, Effect, Exit, Option, Tracer } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import type { FinalIntentState, Intent } from "../domain/Intent.ts"

/** Name of the root of a payment's tree. */
export const paymentSpan = "payment"

/** The root of a payment's tree. Its ids follow from the payment's, so that loops and restarts add to one tree. */
const rootOf = (intentId: string): Tracer.ExternalSpan => {
  const ids = createHash("sha256").update(`span/${intentId}`).digest("hex")
  return Tracer.externalSpan({ traceId: ids.slice(0, 32), spanId: ids.slice(32, 48) })
}

/** Puts what is done for a payment into its tree. */
export const inPayment =
  (intentId: string) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.withParentSpan(work, rootOf(intentId), { captureStackTrace: false })

/** A span that is over, of Unix milliseconds. */
const past = (intentId: string, name: string, from: number, until: number, attributes: Record<string, string>) =>
  Effect.map(Effect.tracer, (tracer) => {
    const span = tracer.span({
      name,
      parent: Option.some(rootOf(intentId)),
      annotations: Context.empty(),
      links: [],
      startTime: BigInt(Math.round(from)) * 1_000_000n,
      kind: "internal",
      root: false,
      sampled: true,
    })
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    span.end(BigInt(Math.round(until)) * 1_000_000n, Exit.void)
  })

/** Begins a payment's tree: from the block of the balances to their use, and from there to the stored decision. */
export const traceDecision = Effect.fnUntraced(function* (
  { id, rule }: Intent,
  at: { readonly block: number; readonly used: number; readonly stored: number },
) {
  yield* past(id, "payment.observe", Math.min(at.block, at.used), at.used, { rule })
  yield* past(id, "payment.decide", at.used, at.stored, { rule })
})

/** Ends a payment's tree with its root. */
export const tracePaymentEnd = (intent: Intent, outcome: FinalIntentState, now: number) => {
  const { id, rule, payment, decimals, createdAt } = intent
  const amount = `${formatAmount(payment.amount, decimals)} ${payment.asset}`
  return past(id, paymentSpan, createdAt, now, { id, rule, amount, from: payment.from, to: payment.to, outcome })
}
