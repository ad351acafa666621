import { groupText } from "../domain/Approval.ts"
import { lineFor, type Policy, type PolicyLine } from "./Policy.ts"

type Approval = NonNullable<PolicyLine["approval"]>

/** An amount of an asset, by its id, in words. */
export type SayAmount = (assetId: string, units: bigint) => string

const says = (approval: Approval | undefined, amount: (units: bigint) => string): string => {
  if (approval === undefined) return "nobody"
  const people = groupText(approval.group)
  return approval.above === 0n ? people : `${people} above ${amount(approval.above)}`
}

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
  // Nobody approves what he proposed himself, and who proposed it is known by his name.
  const renamed = [...after].flatMap(([key, name]) => {
    const was = before.get(key)
    return was === undefined || was === name ? [] : [`operator ${was} is named ${name}`]
  })
  return [
    ...(fresh.length > 0 ? [`${fresh.join(", ")} may approve`] : []),
    ...renamed,
    ...(Math.min(2, after.size) < Math.min(2, before.size) ? [`${after.size} operators, before ${before.size}`] : []),
  ]
}

/** What people had to approve and needs fewer of them now, or others, in words. */
export const approvalWords = (
  old: Policy,
  next: Policy,
  amounts: { readonly old: SayAmount; readonly next: SayAmount },
): ReadonlyArray<string> => [...lineWords(old, next, amounts), ...operatorWords(old, next)]

const lineWords = (
  old: Policy,
  next: Policy,
  amounts: { readonly old: SayAmount; readonly next: SayAmount },
): ReadonlyArray<string> =>
  next.lines.flatMap((line) => {
    const { assetId } = line
    const pairs = [...line.from].flatMap((from) => [...line.to].map((to) => ({ from, to, assetId })))
    const weaker = pairs.find((pair) => {
      const before = lineFor(old, pair)?.approval
      return lineFor(next, pair) === line && before !== undefined && !isAsStrict(before, line.approval)
    })
    if (weaker === undefined) return []
    const after = says(line.approval, (units) => amounts.next(assetId, units))
    const before = says(lineFor(old, weaker)?.approval, (units) => amounts.old(assetId, units))
    return [`policy line ${line.line}: ${after} must approve, before ${before}`]
  })
