import { isExternal } from "../../domain/Hex.ts"
import { assetById, type External, type Party, type PinnedAsset, type Receiver, receiverKey } from "../Account.ts"
import { isPaying, type PayingRule, type Rule } from "../Rule.ts"
import { subjectsOf, waysOf } from "../Subject.ts"
import { feeMax, lineFor, type Policy, type PolicyLine } from "./Policy.ts"

/** The most a treasury can lose or move, whatever gateways answer and rules decide. Amounts are base units. */
export type WorstCase = ReturnType<typeof worstCase>
export type WorstLine = WorstCase["lines"][number]

/** Input of the worst case. */
export interface Permitting {
  readonly rules: ReadonlyArray<Rule>
  readonly parties: ReadonlyMap<string, Party>
  /** Absent where there are none. */
  readonly addresses?: ReadonlyMap<string, External>
  readonly assets: ReadonlyMap<string, PinnedAsset>
  readonly policy: Policy
}

/** Transfers that the network lets a key send in an epoch of 24 hours, unless its parameters say otherwise. */
export const networkTransfersPerDay = 20

/**
 * Bounds of the sums that leave: the signer counts each line's payments of the last 24 hours before it signs one more,
 * and signs no payment without a line. A line's sum is at most its per24h, and at most transfersPer24h times its
 * perTransfer.
 */
export const worstCase = (treasury: Permitting, transfersPerDay: number = networkTransfersPerDay) => {
  const { policy, parties, assets } = treasury
  const lines = policy.lines.flatMap((line) => {
    const worst = lineAtWorst(treasury, line)
    return worst === undefined ? [] : [worst]
  })
  // Kept by the balances that the gateways show.
  const floors = [...parties.values()].flatMap((party) =>
    [...assets.values()].flatMap(({ id, symbol, decimals }) => {
      const floor = party.floor.get(id)
      return floor === undefined ? [] : [{ party: party.name, asset: symbol, decimals, floor }]
    }),
  )
  const quotas = [...parties.values()].flatMap(({ name, publicKey, transfersKept }) => {
    const permitted = transfersPermitted(policy, publicKey)
    if (!lines.some(({ from }) => from.includes(name))) return []
    // Neither permitted by a policy line nor kept for people; 0 where they do not suffice.
    const free = Math.max(0, transfersPerDay - transfersKept - permitted)
    return [{ party: name, permitted, limit: transfersPerDay, kept: transfersKept, free }]
  })
  return { maxFee: policy.maxFee, lines, floors, quotas }
}

/** Highest amount that a policy line permits in any 24 hours of the ledger's time; undefined if it permits nothing. */
const lineAtWorst = (treasury: Permitting, line: PolicyLine) => {
  const { policy, assets, parties } = treasury
  const asset = assetById(assets, line.assetId)
  const permits = (from: Party, to: Receiver) =>
    from.signer !== undefined &&
    lineFor(policy, { from: from.publicKey, to: receiverKey(to), assetId: line.assetId }) === line
  const all = [...parties.values()]
  const outside = [...(treasury.addresses?.values() ?? [])]
  const from = all.filter((party) => [...all, ...outside].some((to) => permits(party, to)))
  const to = all.filter((party) => from.some((payer) => permits(payer, party)))
  const leavesNetworkTo = outside.filter((address) => from.some((payer) => permits(payer, address)))
  const most = line.perTransfer * BigInt(line.transfersPer24h)
  const amount = most < line.per24h ? most : line.per24h
  if (from.length === 0 || amount === 0n) return undefined
  return {
    line: line.line,
    /** Names of the parties that can pay by it and are named by no line before it. */
    from: from.map(({ name }) => name),
    to: [...to, ...leavesNetworkTo].map(({ name }) => name),
    asset: asset?.symbol ?? line.assetId,
    decimals: asset?.decimals ?? 0,
    perTransfer: line.perTransfer < line.per24h ? line.perTransfer : line.per24h,
    transfers: line.transfersPer24h,
    /** All of its payments together, without fees. */
    amount,
    // Each fee is rounded up on its own. A withdrawal costs none.
    fees: to.length === 0 ? 0n : feeMax(policy.maxFee, amount) + BigInt(line.transfersPer24h),
    /** Receivers whose key is elsewhere and from which no rule leads back: what they are paid leaves the treasury. */
    leavesTo: [
      ...to.filter((party) => party.signer === undefined && !hasWayBack(treasury, party, line.assetId)),
      ...leavesNetworkTo,
    ].map(({ name }) => name),
    /** Those of them that are addresses outside of the network: what is withdrawn to them leaves it. */
    leavesNetworkTo: leavesNetworkTo.map(({ name }) => name),
    /** Group that must sign each payment; undefined if no approval is needed. */
    approval: line.approval,
  }
}

/** True if a rule brings money of the asset back from the party, or requests it. */
const hasWayBack = ({ rules }: Permitting, party: Party, assetId: string): boolean =>
  rules.filter(isPaying).some((rule) => !rule.trial && takesFrom(rule, party, assetId))

const takesFrom = (rule: PayingRule, party: Party, assetId: string): boolean => {
  if (rule.kind === "request") return rule.from === party && rule.level.asset.id === assetId
  if (rule.kind === "payout") return false
  return subjectsOf(rule).some(
    (subject) => subject.asset.id === assetId && waysOf(subject).some(({ from }) => from === party),
  )
}

/** Transfers that all lines together let the key send in 24 hours; withdrawals are none. */
export const transfersPermitted = (policy: Policy, key: string): number =>
  policy.lines
    .filter((line) =>
      [...line.to].some((to) => !isExternal(to) && lineFor(policy, { from: key, to, assetId: line.assetId }) === line),
    )
    .reduce((sum, { transfersPer24h }) => sum + transfersPer24h, 0)
