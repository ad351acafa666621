import { createHash } from "node:crypto"
import { Context, Effect, Exit, Option, Tracer } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import type { FinalIntentState, Intent } from "../domain/Intent.ts"

/** Name of the root span of a payment's trace. */
export const paymentSpan = "payment"

/** Root of a payment's trace. Its ids follow from the payment's, so that all loops and restarts add to one trace. */
const rootOf = (intentId: string): Tracer.ExternalSpan => {
  const ids = createHash("sha256").update(`span/${intentId}`).digest("hex")
  return Tracer.externalSpan({ traceId: ids.slice(0, 32), spanId: ids.slice(32, 48) })
}

/** Adds the spans of the work to the payment's trace. */
export const inPayment =
  (intentId: string) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.withParentSpan(work, rootOf(intentId), { captureStackTrace: false })

interface Past {
  /** Unix milliseconds. */
  readonly from: number
  readonly until: number
  readonly attributes: Readonly<Record<string, string>>
  readonly links?: Array<Tracer.SpanLink>
}

/** Records a span that is over. */
const past = (intentId: string, name: string, { from, until, attributes, links = [] }: Past) =>
  Effect.map(Effect.tracer, (tracer) => {
    const span = tracer.span({
      name,
      parent: Option.some(rootOf(intentId)),
      annotations: Context.empty(),
      links,
      startTime: BigInt(Math.round(from)) * 1_000_000n,
      kind: "internal",
      root: false,
      sampled: true,
    })
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    span.end(BigInt(Math.round(until)) * 1_000_000n, Exit.void)
  })

/**
 * Begins a payment's trace: a span from the block of the balances to their use, and one from there to the stored
 * decision. The decision and the span of its round link to each other.
 */
export const traceDecision = Effect.fnUntraced(function* (
  { id, rule }: Intent,
  at: { readonly block: number; readonly used: number; readonly stored: number },
) {
  const attributes = { rule }
  const round = yield* Effect.option(Effect.currentSpan)
  const links = Option.toArray(round).map((span) => ({ span, attributes }))
  if (Option.isSome(round)) round.value.addLinks([{ span: rootOf(id), attributes }])
  yield* past(id, "payment.observe", { from: Math.min(at.block, at.used), until: at.used, attributes })
  yield* past(id, "payment.decide", { from: at.used, until: at.stored, attributes, links })
})

/** Ends a payment's trace with its root span. */
export const tracePaymentEnd = (intent: Intent, outcome: FinalIntentState, now: number) => {
  const { id, rule, payment, decimals, createdAt } = intent
  const amount = `${formatAmount(payment.amount, decimals)} ${payment.asset}`
  const attributes = { id, rule, amount, from: payment.from, to: payment.to, outcome }
  return past(id, paymentSpan, { from: createdAt, until: now, attributes })
}
