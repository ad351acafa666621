import { createHash } from "node:crypto"
import { type ApprovalGroup, approvalMillisMin, isWeakKey } from "../../domain/Approval.ts"
import { type External, type Party, type PinnedAsset, partyByKey, type Share } from "../../rules/Account.ts"
import type { Policy, PolicyLine, PolicyNames } from "../../rules/policy/Policy.ts"
import { asArray, durationMillis } from "../schema/Fields.ts"
import type { TreasuryFile } from "../schema/TreasuryFile.ts"
import { nameRemedy } from "../yaml/decodeAll.ts"
import { isAmount, type Reporter } from "../yaml/Reporter.ts"
import { addressesOf, assetOf, type Parties, type Path } from "./resolveNames.ts"

/** Value of policy.maxFee if the file has none. */
export const maxFeeDefault = "0.2%"

/** "0.2%" as an exact fraction. */
export const shareOf = (percent: string): Share => {
  const [whole, fraction = ""] = percent.slice(0, -1).split(".")
  return { numerator: BigInt(`${whole}${fraction}`), denominator: 100n * 10n ** BigInt(fraction.length) }
}

export const resolvePolicy = (
  raw: TreasuryFile,
  parties: ReadonlyMap<string, Party>,
  assets: ReadonlyMap<string, PinnedAsset>,
  approvals: Approvals,
  report: Reporter,
): Policy => {
  const lines: Array<PolicyLine> = []
  const addresses = addressesOf(raw)
  for (const [i, line] of (raw.policy?.allow ?? []).entries()) {
    const path = ["policy", "allow", i]
    const asset = assetOf(line.asset, [...path, "asset"], assets, report)
    const keys = (key: string, names: string | ReadonlyArray<string>) =>
      asArray(names).flatMap((name, j): ReadonlyArray<string> => {
        const external = key === "to" ? addresses.get(name) : undefined
        if (external !== undefined) return [external.address]
        const party = parties.get(name)
        if (party === undefined) {
          const at = typeof names === "string" ? [...path, key] : [...path, key, j]
          const known = [...parties.keys(), ...(key === "to" ? addresses.keys() : [])]
          report.add(at, `"${name}" is not a party`, nameRemedy(name, known, "add it under parties"))
        }
        return party === undefined ? [] : [party.publicKey]
      })
    const perTransfer = report.amount([...path, "perTransfer"], line.perTransfer, asset)
    const per24h = report.amount([...path, "per24h"], line.per24h, asset)
    const areAmounts = isAmount(line.perTransfer, asset) && isAmount(line.per24h, asset)
    if (asset !== undefined && areAmounts && per24h < perTransfer) {
      report.add(
        [...path, "per24h"],
        `per24h ${line.per24h} is below perTransfer ${line.perTransfer}`,
        `set per24h to at least ${line.perTransfer}`,
      )
    }
    const group = approvalOfLine(line, approvals, path, report)
    const above = line.approvalAbove ?? "0"
    const aboveUnits = report.amount([...path, "approvalAbove"], above, asset)
    if (asset !== undefined && group !== undefined && areAmounts && aboveUnits >= perTransfer) {
      report.add([...path, "approvalAbove"], `approvalAbove ${above} is no less than perTransfer`, "lower it")
    }
    lines.push({
      line: i + 1,
      from: new Set(keys("from", line.from)),
      to: new Set(keys("to", line.to)),
      assetId: asset?.id ?? "",
      perTransfer,
      per24h,
      transfersPer24h: Number(line.transfersPer24h),
      ...(group === undefined ? {} : { approval: { group, above: aboveUnits } }),
    })
  }
  const maxFee = shareOf(raw.policy?.maxFee ?? maxFeeDefault)
  const groups = [...approvals.values()]
  const digest = policyDigest({ maxFee, lines, groups }, parties)
  const names = namesOf(parties, addresses, assets)
  return { names, maxFee, lines, groups, digest, hash: digest.slice(0, 8) }
}

const namesOf = (
  parties: ReadonlyMap<string, Party>,
  addresses: ReadonlyMap<string, External>,
  assets: ReadonlyMap<string, PinnedAsset>,
): PolicyNames => ({
  parties: new Map([
    ...[...addresses.values()].map(({ address, name }) => [address as string, name] as const),
    ...[...parties.values()].map(({ publicKey, name }) => [publicKey as string, name] as const),
  ]),
  assets: new Map([...assets.values()].map(({ id, symbol, decimals }) => [id as string, { symbol, decimals }])),
})

/**
 * Digest of keys and base units, in the file's order: the same policy, written in another way, has the same one. It
 * covers what payers keep: who approves a policy approves how far it may empty an account.
 */
const policyDigest = (
  { maxFee, lines, groups }: Required<Pick<Policy, "maxFee" | "lines" | "groups">>,
  parties: Parties,
): string => {
  const text = lines.map((l) =>
    [
      [...l.from].sort().join(","),
      [...l.to].sort().join(","),
      l.assetId,
      l.perTransfer,
      l.per24h,
      l.transfersPer24h,
      ...(l.approval === undefined ? [] : [l.approval.above, l.approval.group.name]),
    ].join("|"),
  )
  const people = groups.map(({ name, need, withinMillis, of }) =>
    ["approvals", name, need, withinMillis, ...[...of].map(([who, key]) => `${who}=${key}`).sort()].join("|"),
  )
  const keeps = [...parties.values()].flatMap(({ publicKey, signer, floor, transfersKept }) => {
    const kept = [...floor].filter(([, units]) => units > 0n).map(([id, units]) => `${id}=${units}`)
    if (signer === undefined || (kept.length === 0 && transfersKept === 0)) return []
    return [["keeps", publicKey, transfersKept, ...kept.sort()].join("|")]
  })
  const fee = `${maxFee.numerator}/${maxFee.denominator}`
  const hash = createHash("sha256")
  hash.update([fee, ...text, ...people.sort(), ...keeps.sort()].join("\n"))
  return hash.digest("hex")
}

type Approvals = ReadonlyMap<string, ApprovalGroup>

/** The groups of operators that policy lines may name. One person has one key, which is no party's. */
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
  const party = partyByKey(parties, key)
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

/** The group that a policy line names; undefined where it names none, or one that is not known. */
const approvalOfLine = (
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
    const remedy = nameRemedy(
      line.approval,
      [...groups.keys()],
      `add ${line.approval}: { need, within, of } under approvals`,
    )
    report.add([...path, "approval"], `"${line.approval}" is not a group of approvals`, remedy)
  }
  return group
}
