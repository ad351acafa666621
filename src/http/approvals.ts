import { Clock, Effect, Option, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { formatAmount } from "../domain/Amount.ts"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { approvalOf } from "../payments/approvalOf.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { progressOf } from "../submitter/awaitApproval.ts"
import { signerOf } from "../tx/Approval.ts"
import { findIntent, problem, storyOf } from "./stories.ts"

export const SignatureText = Schema.String.check(
  Schema.isPattern(/^[0-9a-fA-F]{128}$/, { expected: "a signature of 128 hex characters" }),
)

/** An operator's signature; the group's keys identify the signer. */
export const ApproveBody = Schema.Struct({ signature: SignatureText })

/** An approval that the policy in force requires, and the signatures so far. */
export type ApprovalView = NonNullable<Effect.Success<ReturnType<typeof approvalViewOf>>>

/** The approval that a payment needs; undefined where it needs none. */
export const approvalViewOf = Effect.fnUntraced(function* (treasury: Treasury, intent: Intent) {
  const needed = approvalOf(treasury, intent)
  if (needed === undefined) return undefined
  const given = yield* (yield* Approvals).about(intent.id)
  const now = yield* Clock.currentTimeMillis
  const { group, terms, text } = needed
  const progress = progressOf(needed, given, now)
  const timeOf = (operator: string) => given.find((one) => one.key === group.of.get(operator) && one.text === text)?.at
  const { payment } = intent
  const amount = `${formatAmount(payment.amount, intent.decimals)} ${payment.asset}`
  const fee = formatAmount(intent.feeMax, intent.decimals)
  return {
    id: intent.id,
    short: shortId(intent.id),
    state: intent.state,
    /** The payment as text for people. */
    words: `${intent.rule}: ${amount} ${payment.from} -> ${payment.to}, fee at most ${fee}`,
    /** Text to sign: its UTF-8 bytes, the last line break included. */
    text,
    group: group.name,
    need: group.need,
    approved: progress.by.map((operator) => ({ operator, at: new Date(timeOf(operator) ?? 0).toISOString() })),
    missing: Math.max(0, group.need - progress.by.length),
    /** Operators who may still approve. */
    others: progress.others,
    /** Operators whose signature is for other terms. It no longer counts, and they must sign again. */
    again: progress.again,
    proposer: terms.proposer ?? null,
    expires: new Date(terms.expires).toISOString(),
    millisLeft: Math.max(0, terms.expires - now),
  }
})

/** `approvalViewOf` by the payment's id, or the start of one. */
export const findApproval = Effect.fnUntraced(function* (treasury: Treasury, id: string) {
  const found = yield* findIntent(id)
  if ("problem" in found) return found
  return (yield* approvalViewOf(treasury, found.intent)) ?? problem("it needs no approval", 409)
})

/** The story of a payment, and the approval that it waits for. */
export const storyWithApproval = Effect.fnUntraced(function* (treasury: Treasury, id: string) {
  const story = yield* storyOf(id)
  if ("problem" in story) return story
  const intent = Option.getOrThrow(yield* (yield* Outbox).byId(story.id))
  return { ...story, approval: (yield* approvalViewOf(treasury, intent)) ?? null }
})

/** Stores an operator's signature for a payment; `problem` if it does not count. */
export const approve = Effect.fn("People.approve")(function* (
  treasury: Treasury,
  id: string,
  { signature }: typeof ApproveBody.Type,
) {
  const found = yield* findIntent(id)
  if ("problem" in found) return found
  const done = yield* (yield* Database).write(storeSignature(treasury, found.intent.id, signature.toLowerCase()))
  yield* (yield* Signals).wake("submitter")
  return done
})

const storeSignature = Effect.fnUntraced(function* (treasury: Treasury, id: string, signature: string) {
  const intent = Option.getOrThrow(yield* (yield* Outbox).byId(id))
  const needed = approvalOf(treasury, intent)
  if (needed === undefined) return problem("it needs no approval", 409)
  const { group, terms, text } = needed
  const { state } = intent
  if (state !== "awaiting_approval" && state !== "proposed") {
    return problem(`it is ${state.replaceAll("_", " ")}: there is nothing to approve`, 409)
  }
  if ((yield* Clock.currentTimeMillis) >= terms.expires) return problem("the time to approve it is over", 409)
  const signer = signerOf(group.of, [text], signature)
  if (signer === undefined) {
    const remedy = 'sign what "approve ID --print" shows now, with the key of an operator'
    return problem(`the signature is of nobody of ${group.name} over this payment and this policy`, 403, remedy)
  }
  const { operator } = signer
  if (operator === terms.proposer) return problem(`${operator} proposed it, and does not approve it`, 403, "ask others")
  const isNew = yield* (yield* Approvals).give({ subject: id, ...signer, signature })
  return { operator, isNew, approval: yield* approvalViewOf(treasury, intent) }
})
