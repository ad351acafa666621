import type { Treasury } from "../../config/Treasury.ts"
import { formatLevel, plainLevel } from "../../domain/Amount.ts"
import { groupText } from "../../domain/Approval.ts"
import { plural, several } from "../../domain/text.ts"
import { assetById, percent } from "../../rules/Account.ts"
import type { PolicyLine } from "../../rules/policy/Policy.ts"
import type { WorstCase, WorstLine } from "../../rules/policy/worstCase.ts"

const partyNames = (treasury: Treasury, keys: ReadonlySet<string>): string =>
  [...treasury.parties.values()]
    .filter((party) => keys.has(party.publicKey))
    .map((party) => party.name)
    .join(", ")

/** Receivers of a line. A payment to an address leaves the network, and nothing here brings it back. */
const receiverNames = (treasury: Treasury, line: PolicyLine): string => {
  const outside = [...treasury.addresses.values()].filter(({ address }) => line.to.has(address))
  const parties = partyNames(treasury, line.to)
  return [
    ...(parties === "" ? [] : [parties]),
    ...outside.map(({ name, address }) => `${name} (${address}, outside the network)`),
  ].join(", ")
}

/** ", each with 2 of ana, ben, chloe" */
const signersOf = ({ group, above }: NonNullable<PolicyLine["approval"]>, format: (units: bigint) => string): string =>
  `, each${above > 0n ? ` above ${format(above)}` : ""} with ${groupText(group)}`

/** The policy's lines as fields of the log. */
export const permittedLines = (treasury: Treasury) =>
  treasury.policy.lines.map((line) => {
    const { approval } = line
    const asset = assetById(treasury.assets, line.assetId)
    const plain = (units: bigint) => plainLevel(units, asset?.decimals ?? 0)
    return {
      from: partyNames(treasury, line.from),
      to: receiverNames(treasury, line),
      asset: asset?.symbol ?? line.assetId,
      perTransfer: plain(line.perTransfer),
      per24h: plain(line.per24h),
      transfersPer24h: line.transfersPer24h,
      need: approval?.group.need,
      approvers: approval && [...approval.group.of.keys()],
      approvalAbove: approval && approval.above > 0n ? plain(approval.above) : undefined,
    }
  })

/** The first four, and the number of the others. */
const brief = (all: ReadonlyArray<string>): string => several(all, 4)

const lineText = (line: WorstLine): string => {
  const { amount, decimals, asset, perTransfer, transfers, approval, leavesNetworkTo } = line
  const format = (units: bigint) => formatLevel(units, decimals)
  const people = approval === undefined ? "" : signersOf(approval, format)
  const outside = leavesNetworkTo.length === 0 ? "" : `; to ${brief(leavesNetworkTo)} it is withdrawn from the network`
  return `${format(amount)} ${asset} (${format(perTransfer)} each time, ${plural(transfers, "transfer")}${people})${outside}`
}

/** The most that can leave your control by the line without approval. */
const unapprovedOf = ({ leavesTo, approval, amount, transfers }: WorstLine): bigint => {
  if (leavesTo.length === 0) return 0n
  const most = approval === undefined ? amount : approval.above * BigInt(transfers)
  return most < amount ? most : amount
}

const lineRows = ({ lines }: WorstCase): ReadonlyArray<readonly [string, string]> => {
  const isOnly = lines.filter((line) => unapprovedOf(line) > 0n).length === 1
  const cells = lines.map((line) => [`${brief(line.from)} -> ${brief(line.to)}`, lineText(line)] as const)
  const width = Math.max(0, ...cells.map(([, what]) => what.length))
  return lines.map((line, i): readonly [string, string] => {
    const [who, what] = cells[i]!
    const unapproved = unapprovedOf(line)
    if (unapproved === 0n) return [who, what]
    const sum = `of it, ${formatLevel(unapproved, line.decimals)} ${line.asset} `
    const part = unapproved === line.amount ? "" : isOnly ? `${sum}is ` : sum
    const to = line.leavesTo.length === line.to.length ? "" : ` (to ${brief(line.leavesTo)})`
    const words = isOnly
      ? "the only money that leaves your control without approval"
      : "leaves your control without approval"
    return [who, `${what.padEnd(width)}   <- ${part}${words}${to}`]
  })
}

/** Parties with the same numbers share one line. */
const quotaText = ({ quotas }: WorstCase): string => {
  const alike = Map.groupBy(quotas, ({ permitted, limit, kept }) => `${permitted}/${limit}/${kept}`)
  const texts = [...alike.values()].map((group) => {
    const { permitted, limit, kept, free } = group[0]!
    const who = `${brief(group.map(({ party }) => party))}${group.length > 1 ? " each" : ""}`
    const people = kept === 0 ? "" : `${kept} kept for people, `
    return permitted + kept <= limit
      ? `${who} ${permitted} of ${limit} transfers (${people}${free} free)`
      : `${who} ${permitted} by the policy, ${limit} by the network (${people}0 free)`
  })
  return texts.join("; ")
}

/** Highest amounts that the policy permits in any 24 hours: the sentences that a treasurer signs. */
export const worstText = (worst: WorstCase): ReadonlyArray<string> => {
  if (worst.lines.length === 0) return ["nothing: no policy line allows a payment"]
  const floors = worst.floors.map(
    ({ party, asset, decimals, floor }) => `${party} never below ${formatLevel(floor, decimals)} ${asset}`,
  )
  const rows = [
    ...lineRows(worst),
    ["fees", [`at most ${percent(worst.maxFee)} of each`, ...floors].join("; ")] as const,
    ["network quota", quotaText(worst)] as const,
  ]
  const width = Math.max(...rows.map(([who]) => who.length))
  return rows.map(([who, what]) => `${who.padEnd(width)}   ${what}`)
}
