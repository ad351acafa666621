import { groupText } from "../domain/Approval.ts"
import { lineFor, type Policy, type PolicyLine } from "./Policy.ts"

type Approval = NonNullable<PolicyLine["approval"]>

const says = (approval: Approval | undefined): string =>
  approval === undefined ? "nobody" : `${groupText(approval.group)} above ${approval.above} base units`

/** Whether all that the new line asks of people is at least what the old one asked, of the same people or fewer. */
const isAsStrict = (old: Approval, next: Approval | undefined): boolean =>
  next !== undefined &&
  next.above <= old.above &&
  next.group.need >= old.group.need &&
  next.group.withinMillis <= old.group.withinMillis &&
  [...next.group.of].every(([, key]) => [...old.group.of.values()].includes(key))

/** Payments that operators had to approve, and that need fewer of them now, or others, in words. */
export const approvalWords = (old: Policy, next: Policy): ReadonlyArray<string> =>
  next.lines.flatMap((line) => {
    const pairs = [...line.from].flatMap((from) => [...line.to].map((to) => ({ from, to, assetId: line.assetId })))
    const weaker = pairs.find((pair) => {
      const before = lineFor(old, pair)?.approval
      return lineFor(next, pair) === line && before !== undefined && !isAsStrict(before, line.approval)
    })
    if (weaker === undefined) return []
    return [
      `policy line ${line.line}: ${says(line.approval)} must approve, before ${says(lineFor(old, weaker)?.approval)}`,
    ]
  })
