import { createHash } from "node:crypto"
import type { ApprovalGroup } from "../domain/Approval.ts"
import type { Policy, PolicyLine, PolicyNames } from "../rules/Policy.ts"
import type { External, Party, PinnedAsset, Share } from "../rules/Rule.ts"
import { asArray } from "./Fields.ts"
import { nameRemedy, nearest } from "./nearest.ts"
import { isAmount, type Reporter } from "./Reporter.ts"
import { type Approvals, approvalOfLine } from "./resolveApprovals.ts"
import { addressesOf } from "./resolveNames.ts"
import type { TreasuryFile } from "./TreasuryFile.ts"

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
    const asset = assets.get(line.asset)
    if (asset === undefined) {
      const near = nearest(line.asset, [...assets.keys()])
      const remedy = near === undefined ? `add ${line.asset}: { id, decimals } under assets` : `did you mean "${near}"?`
      report.add([...path, "asset"], `"${line.asset}" is not pinned`, remedy)
    }
    const keys = (key: string, names: string | ReadonlyArray<string>) =>
      asArray(names).flatMap((name, j): ReadonlyArray<string> => {
        const external = key === "to" ? addresses.get(name) : undefined
        if (external !== undefined) return [external.address]
        const party = parties.get(name)
        if (party === undefined) {
          const at = typeof names === "string" ? [...path, key] : [...path, key, j]
          const known = [...parties.keys(), ...(key === "to" ? addresses.keys() : [])]
          report.add(at, `"${name}" is no party`, nameRemedy(name, known, "add it under parties"))
        }
        return party === undefined ? [] : [party.publicKey]
      })
    const perTransfer = report.amount([...path, "perTransfer"], line.perTransfer, asset)
    const per24h = report.amount([...path, "per24h"], line.per24h, asset)
    const areAmounts = isAmount(line.perTransfer, asset) && isAmount(line.per24h, asset)
    if (asset !== undefined && areAmounts && per24h < perTransfer) {
      report.add([...path, "per24h"], `per24h ${line.per24h} is below perTransfer ${line.perTransfer}`, "raise it")
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
  const maxFee = shareOf(raw.policy?.maxFee ?? "0.2%")
  const groups = [...approvals.values()]
  const digest = policyDigest({ maxFee, lines, groups, parties: [...parties.values()] })
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
 * The same policy in other words has the same digest: keys and base units only, in the file's order. What payers keep
 * belongs to it: who approves a policy approves how far it may empty an account.
 */
const policyDigest = ({
  maxFee,
  lines,
  groups,
  parties,
}: {
  readonly maxFee: Share
  readonly lines: ReadonlyArray<PolicyLine>
  readonly groups: ReadonlyArray<ApprovalGroup>
  readonly parties: ReadonlyArray<Party>
}): string => {
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
  const keeps = parties.flatMap(({ publicKey, signer, floor, transfersKept }) => {
    const kept = [...floor].filter(([, units]) => units > 0n).map(([id, units]) => `${id}=${units}`)
    if (signer === undefined || (kept.length === 0 && transfersKept === 0)) return []
    return [["keeps", publicKey, transfersKept, ...kept.sort()].join("|")]
  })
  const fee = `${maxFee.numerator}/${maxFee.denominator}`
  const hash = createHash("sha256")
  hash.update([fee, ...text, ...people.sort(), ...keeps.sort()].join("\n"))
  return hash.digest("hex")
}
