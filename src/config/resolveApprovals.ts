import { type ApprovalGroup, approvalMillisMin, isWeakKey } from "../domain/Approval.ts"
import { durationMillis } from "./Fields.ts"
import type { Reporter } from "./Reporter.ts"
import type { Parties, Path } from "./resolveNames.ts"
import type { TreasuryFile } from "./TreasuryFile.ts"

export type Approvals = ReadonlyMap<string, ApprovalGroup>

/** The groups of operators that policy lines may ask for. One person has one key, which moves no money. */
export const resolveApprovals = (raw: TreasuryFile, parties: Parties, report: Reporter): Approvals => {
  const people: People = { keys: new Map(), names: new Map() }
  return new Map(
    Object.entries(raw.approvals ?? {}).map(([name, { need, within, of }]) => {
      const path = ["approvals", name]
      for (const [operator, key] of Object.entries(of)) {
        const problem = problemOf(operator, key, parties, people)
        if (problem !== undefined) report.add([...path, "of", operator], ...problem)
      }
      const operators = new Map(Object.entries(of))
      if (Number(need) > operators.size) {
        const message = `need ${need} of ${operators.size}: nobody could ever approve`
        report.add([...path, "need"], message, "lower need, or add operators under of")
      }
      const withinMillis = durationMillis(within)
      if (withinMillis < approvalMillisMin) {
        report.add([...path, "within"], `within ${within} is too short for people`, "give them a minute or more")
      }
      return [name, { name, need: Number(need), withinMillis, of: operators }]
    }),
  )
}

interface People {
  readonly keys: Map<string, string>
  readonly names: Map<string, string>
}

type Complaint = readonly [message: string, remedy: string]

const problemOf = (operator: string, key: string, parties: Parties, people: People): Complaint | undefined => {
  const twin = people.keys.get(key) ?? operator
  const before = people.names.get(operator) ?? key
  people.keys.set(key, twin)
  people.names.set(operator, before)
  const party = [...parties.values()].find(({ publicKey }) => publicKey === key)
  if (party !== undefined) {
    return [
      `the key of party "${party.name}": whoever runs that machine could approve`,
      `"keys operator new" makes one`,
    ]
  }
  if (isWeakKey(key)) return ["anybody could sign for this key", `"keys operator new" makes one`]
  if (twin !== operator) return [`the same key as operator "${twin}": one person, one key`, "give each their own"]
  return before === key ? undefined : [`"${operator}" has another key above`, "one person, one key"]
}

/** A policy line's wish: the group, and from which amount on. */
export const approvalOfLine = (
  line: { readonly approval?: string | undefined; readonly approvalAbove?: string | undefined },
  groups: Approvals,
  path: Path,
  report: Reporter,
): ApprovalGroup | undefined => {
  if (line.approval === undefined) {
    if (line.approvalAbove !== undefined) {
      report.add([...path, "approvalAbove"], "approvalAbove without approval", "name the group in approval")
    }
    return undefined
  }
  const group = groups.get(line.approval)
  if (group === undefined) {
    const known = [...groups.keys()].join(", ")
    const remedy = known === "" ? `add ${line.approval}: { need, within, of } under approvals` : `known here: ${known}`
    report.add([...path, "approval"], `"${line.approval}" is no group of approvals`, remedy)
  }
  return group
}
