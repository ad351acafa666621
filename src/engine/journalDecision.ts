import { Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import type { Answers } from "../rules/code.ts"
import { approvalFor, lineFor, type Policy } from "../rules/Policy.ts"
import { Journal } from "../store/Journal.ts"

type AnsweredCode = Answers extends ReadonlyMap<string, infer One> ? One : never

/** Which code was asked, what it was told, and what it answered: enough to ask it again. */
const codeFacts = ({ hash, seen, answer }: AnsweredCode) => ({
  hash,
  told: {
    balances: seen.balances,
    assets: Object.fromEntries(Object.entries(seen.assets).map(([symbol, { status }]) => [symbol, status])),
    time: answer.timed ? seen.time : undefined,
  },
  payments: answer._tag === "Pays" ? answer.payments : [],
  because: answer._tag === "Pays" ? answer.because : undefined,
})

/**
 * Journals why a payment was decided, and the policy line that permits it. In the transaction that records it.
 */
export const journalDecision = Effect.fnUntraced(function* (intent: Intent, policy: Policy, answered?: AnsweredCode) {
  const { fromKey, toKey, assetId } = intent.payment
  const line = lineFor(policy, { from: fromKey, to: toKey, assetId })
  yield* (yield* Journal).append({
    kind: "decision",
    subject: intent.id,
    body: {
      rule: intent.rule,
      sentence: intent.detail,
      policy: policy.hash,
      line: line?.line,
      perTransfer: line?.perTransfer,
      per24h: line?.per24h,
      transfersPer24h: line?.transfersPer24h,
      approval: approvalFor(line, intent.payment.amount)?.name,
      code: answered === undefined ? undefined : codeFacts(answered),
    },
  })
})
