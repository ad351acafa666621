import type { ApprovalView } from "../status/approvals.ts"

const hours = (millis: number): string => {
  const minutes = Math.floor(millis / 60_000)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** How far an approval has come, for people. */
export const approvalLines = (view: ApprovalView): ReadonlyArray<string> => [
  `${view.need} of group ${view.group} must approve${view.proposer === null ? "" : `; proposed by ${view.proposer}`}`,
  ...view.approved.map(({ operator, at }) => `approved by ${operator} at ${at.slice(0, 19).replace("T", " ")}`),
  ...(view.again.length === 0
    ? []
    : [`must sign again: ${view.again.join(", ")}; what they signed was another text, and counts no longer`]),
  ...(view.missing > 0 && view.state === "awaiting_approval"
    ? [`missing: ${view.missing} of ${view.others.join(", ")}; ${hours(view.millisLeft)} left`]
    : []),
]
