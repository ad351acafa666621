import { letGoText } from "../rules/payout.ts"
import type { Subject } from "../rules/Subject.ts"
import type { Outcome } from "../rules/step.ts"
import type { Entry } from "./Entry.ts"
import type { Play } from "./Play.ts"

/** Whether what was signed after a planned time stands for it: where one payment makes up for all that was missed. */
export const isMadeUp = ({ ledger }: Play, { kind, rule, name }: Subject, planned: number | undefined): boolean => {
  if (planned === undefined || kind !== "payout" || rule.schedule.missed === "skip") return false
  const last = ledger.paid.findLast(
    (paid) => paid.rule === rule.name && paid.subject === name && paid.state === "confirmed",
  )
  return (last?.signedAt ?? 0) >= planned * 1_000
}

/** People hear of planned times that are let go. */
export const tellLetGo = (
  { state, told }: Play,
  { memory, reason, outcome: before, subject }: Entry,
  outcome: Outcome,
): void => {
  const { need } = outcome.look
  const letGo = need?._tag === "NotDue" || need?._tag === "Wanted" ? need.letGo : undefined
  if (
    letGo === undefined ||
    outcome.judgement.concluded === undefined ||
    memory === undefined ||
    subject.kind !== "payout"
  )
    return
  const detail = before?.judgement.decision.detail ?? ""
  const sentence = letGoText(subject.rule, letGo, { reason, detail })
  told.push({
    at: state.now,
    severity: "ticket",
    kind: "payout",
    rule: subject.rule.name,
    subject: subject.name,
    detail: sentence,
  })
}
