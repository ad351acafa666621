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

const operatorsOf = ({ groups = [] }: Policy): ReadonlyMap<string, string> =>
  new Map(groups.flatMap(({ of }) => [...of].map(([name, key]) => [key, name] as const)))

/** Two of the operators end a halt or approve a policy: who joins them, and where they become fewer than two. */
const operatorWords = (old: Policy, next: Policy): ReadonlyArray<string> => {
  const [before, after] = [operatorsOf(old), operatorsOf(next)]
  const fresh = [...after].filter(([key]) => before.size > 0 && !before.has(key)).map(([, name]) => name)
  return [
    ...(fresh.length > 0 ? [`${fresh.join(", ")} may approve`] : []),
    ...(Math.min(2, after.size) < Math.min(2, before.size) ? [`${after.size} operators, before ${before.size}`] : []),
  ]
}

/** What people had to approve and needs fewer of them now, or others, in words. */
export const approvalWords = (old: Policy, next: Policy): ReadonlyArray<string> => [
  ...lineWords(old, next),
  ...operatorWords(old, next),
]

const lineWords = (old: Policy, next: Policy): ReadonlyArray<string> =>
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
