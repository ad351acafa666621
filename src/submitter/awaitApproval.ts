import { Clock, Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { type Alert, AlertQueue } from "../store/AlertQueue.ts"
import { Approvals } from "../store/Approvals.ts"
import { Database } from "../store/Database.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"
import { say } from "../telemetry/say.ts"
import { type NeededApproval, type Progress, progressOf } from "./approvalOf.ts"
import { endAndTell } from "./endAndTell.ts"

/**
 * Brings a decided payment past the people who must approve it: reserved once enough of them have signed, rejected
 * when their time is over. Returns it as it stands then. The signer verifies all of it again.
 */
export const awaitApproval = Effect.fnUntraced(function* (intent: Intent, needed: NeededApproval) {
  if (intent.state !== "proposed" && intent.state !== "awaiting_approval") return intent
  const given = yield* (yield* Approvals).about(intent.id)
  const progress = progressOf(needed, given, yield* Clock.currentTimeMillis)
  if (progress.hasLapsed && intent.state === "awaiting_approval") return yield* lapse(intent, needed, progress)
  if (progress.isEnough && intent.state === "awaiting_approval") return yield* approve(intent, progress)
  return yield* wait(intent, needed, progress)
})

/** Puts it to the people, and tells them again when the time grows short. */
const wait = Effect.fnUntraced(function* (intent: Intent, { group }: NeededApproval, progress: Progress) {
  const isNew = intent.state === "proposed"
  const detail = progress.isLate ? `${progress.words}: the time ends soon` : progress.words
  if (!isNew && intent.detail === detail) return intent
  const moved = (yield* Outbox).move(intent, "awaiting_approval", { detail })
  const sentence = `${progress.words}; "approve ${shortId(intent.id)}"`
  const people = `${group.need - progress.by.length} of ${progress.others.join(", ")}`
  if (isNew) return yield* told(intent, "ticket", "approval", sentence, moved, people)
  if (progress.isLate) return yield* told(intent, "ticket", "approval-late", sentence, moved, "the time ends soon")
  return yield* moved
})

const approve = Effect.fnUntraced(function* (intent: Intent, { by }: Progress) {
  const detail = `approved by ${by.join(" and ")}; money and limits are set aside`
  const moved = (yield* Outbox).move(intent, "reserved", { detail })
  return yield* told(intent, "info", "approved", `is approved by ${by.join(" and ")}`, moved, detail)
})

const lapse = Effect.fnUntraced(function* (intent: Intent, { group }: NeededApproval, { by }: Progress) {
  const detail = `the approval lapsed: ${by.length} of ${group.need} had signed`
  const ending = { state: "rejected", sentence: `is rejected: ${detail}`, detail, severity: "info" } as const
  yield* endAndTell(intent, ending, (yield* Outbox).move(intent, "rejected", { detail }))
  return { ...intent, state: "rejected" as const, detail }
})

/** The move and its alert in one transaction. */
const told = (
  intent: Intent,
  severity: Alert["severity"],
  word: string,
  sentence: string,
  moved: ReturnType<Outbox["Service"]["move"]>,
  story: string,
) =>
  Effect.gen(function* () {
    const { payment, decimals, rule } = intent
    const amount = `${formatAmount(payment.amount, decimals)} ${payment.asset}`
    const subject = shortId(intent.id).slice(0, 4)
    const alert = (yield* AlertQueue).raise({
      dedup: `${word}/${intent.id}`,
      severity,
      kind: "approval",
      subject,
      detail: `${rule}: ${amount} ${payment.from} -> ${payment.to} ${sentence}`,
      fields: { intent: intent.id },
    })
    const now = yield* (yield* Database).atomically(Effect.tap(moved, () => alert))
    yield* say(word === "approved" ? "approved" : "waits", { subject, detail: story })
    yield* (yield* Signals).wake("alerts")
    return now
  })
