import type { Treasury } from "../config/Treasury.ts"
import { formatLevel } from "../domain/Amount.ts"
import { groupText } from "../domain/Approval.ts"
import type { PolicyLine } from "../rules/Policy.ts"
import type { Share } from "../rules/Rule.ts"

const names = (treasury: Treasury, keys: ReadonlySet<string>): string =>
  [...treasury.parties.values()]
    .filter((party) => keys.has(party.publicKey))
    .map((party) => party.name)
    .join(", ")

const percent = ({ numerator, denominator }: Share): string =>
  `${Number((numerator * 100_000_000n) / denominator) / 1_000_000} %`

/** ", each with 2 of ana, ben, chloe" */
const peopleOf = ({ group, above }: NonNullable<PolicyLine["approval"]>, say: (units: bigint) => string): string =>
  `, each${above > 0n ? ` above ${say(above)}` : ""} with ${groupText(group)}`

const describe = (treasury: Treasury, line: PolicyLine) => {
  const asset = [...treasury.assets.values()].find((a) => a.id === line.assetId)
  const say = (units: bigint) => formatLevel(units, asset?.decimals ?? 0)
  return {
    from: names(treasury, line.from),
    to: names(treasury, line.to),
    asset: asset?.symbol ?? line.assetId,
    perTransfer: say(line.perTransfer),
    per24h: say(line.per24h),
    transfersPer24h: line.transfersPer24h,
    people: line.approval === undefined ? "" : peopleOf(line.approval, say),
  }
}

/** The policy as one sentence a line: "reserve -> hot, USDT: 25,000 each, 100,000 per 24 h, 10 transfers per 24 h". */
export const mayPay = (treasury: Treasury): ReadonlyArray<string> =>
  treasury.policy.lines.map((line) => {
    const { from, to, asset, perTransfer, per24h, transfersPer24h, people } = describe(treasury, line)
    const limits = `${perTransfer} each, ${per24h} per 24 h, ${transfersPer24h} transfers per 24 h`
    return `${from} -> ${to}, ${asset}: ${limits}${people}`
  })

/** What the policy permits at worst in any 24 hours: the sentence that a treasurer signs. */
export const worstCase = (treasury: Treasury): ReadonlyArray<string> => {
  if (treasury.policy.lines.length === 0) return ["nothing: no policy line allows a payment"]
  const lines = treasury.policy.lines.map((line) => {
    const { from, to, asset, perTransfer, per24h, transfersPer24h, people } = describe(treasury, line)
    const limits = `${perTransfer} each time, ${transfersPer24h} transfers${people}`
    return [`${from} -> ${to}`, `${per24h} ${asset} (${limits})`] as const
  })
  const width = Math.max(...lines.map(([who]) => who.length), 4)
  const floors = [...treasury.parties.values()].flatMap((party) =>
    [...party.floor].map(([assetId, floor]) => {
      const asset = [...treasury.assets.values()].find((a) => a.id === assetId)
      return `${party.name} never below ${formatLevel(floor, asset?.decimals ?? 0)} ${asset?.symbol ?? assetId}`
    }),
  )
  const fees = [`at most ${percent(treasury.policy.maxFee)} of each`, ...floors].join("; ")
  return [...lines, ["fees", fees] as const].map(([who, what]) => `${who.padEnd(width)}   ${what}`)
}
