import type { Treasury } from "../config/Treasury.ts"
import { general } from "../domain/AccountType.ts"
import { formatAmount, formatLevel } from "../domain/Amount.ts"
import type { Intent } from "../domain/Intent.ts"
import { isPaying, levelsOf, type PinnedAsset, type Rule } from "../rules/Rule.ts"
import type { AccountBalance, Watermark } from "../store/Observations.ts"
import type { AccountView, ObservationView } from "./View.ts"

/** Unix nanoseconds as people and programs read them. */
export const isoOf = (nanos: bigint): string => new Date(Number(nanos / 1_000_000n)).toISOString()

/** Rows are known up to one block for all accounts, so that block and its age are the same for each. */
export const observationOf =
  ({
    source,
    watermark,
    ageSeconds,
  }: {
    readonly source: string
    readonly watermark: Watermark | undefined
    readonly ageSeconds: number | null
  }) =>
  ({ timestamp }: AccountBalance): ObservationView | null =>
    watermark === undefined
      ? null
      : {
          block: String(watermark.height),
          at: isoOf(watermark.timestamp),
          ageSeconds,
          source,
          changedAt: isoOf(timestamp),
        }

/** Accounts that rules bound, or that pay; those out of band first. */
export const accountViews = (
  treasury: Treasury,
  seen: ReadonlyArray<AccountBalance>,
  open: ReadonlyArray<Intent>,
  observed: (account: AccountBalance) => ObservationView | null,
): ReadonlyArray<AccountView> =>
  [...treasury.parties.values()]
    .flatMap((party) =>
      [...treasury.assets.values()].flatMap((asset): ReadonlyArray<AccountView> => {
        const account = seen.find(
          (a) => a.party === party.publicKey && a.asset === asset.id && a.type === general && a.market === "",
        )
        const levels = marksOf(treasury, party.name, asset)
        if (account === undefined && levels.length === 0) return []
        const mine = open.filter((i) => i.payment.assetId === asset.id)
        const sum = (intents: ReadonlyArray<Intent>, fee: boolean) =>
          intents.reduce((total, i) => total + i.payment.amount + (fee ? i.feeMax : 0n), 0n)
        const reserved = sum(
          mine.filter((i) => i.payment.fromKey === party.publicKey),
          true,
        )
        const incoming = sum(
          mine.filter((i) => i.payment.toKey === party.publicKey),
          false,
        )
        const balance = account?.balance ?? 0n
        const top = [balance + incoming, ...levels.map((l) => l.units)].reduce((a, b) => (a > b ? a : b), 1n)
        const share = (units: bigint) => Number((units * 1_000n) / ((top * 11n) / 10n + 1n)) / 1_000
        const say = (units: bigint) => formatAmount(units, asset.decimals)
        return [
          {
            party: party.name,
            asset: asset.symbol,
            balance: account === undefined ? "unknown" : say(balance),
            units: String(balance),
            reserved: say(reserved),
            incoming: say(incoming),
            available: say(balance > reserved ? balance - reserved : 0n),
            levels: levels.map((l) => ({
              name: l.name,
              value: formatLevel(l.units, asset.decimals),
              share: share(l.units),
              trial: l.trial,
            })),
            share: share(balance),
            shareSoon: share(balance - (reserved < balance ? reserved : balance) + incoming),
            observation: account === undefined ? null : observed(account),
            inBand: levels.every((l) => l.trial || (account !== undefined && l.holds(balance))),
          },
        ]
      }),
    )
    .toSorted((a, b) => Number(a.inBand) - Number(b.inBand))

const isOnTrial = (rule: Rule): boolean => isPaying(rule) && rule.trial

const marksOf = (treasury: Treasury, party: string, asset: PinnedAsset) => {
  const floor = treasury.parties.get(party)?.floor.get(asset.id)
  const floors =
    floor === undefined
      ? []
      : [{ name: "floor", units: floor as bigint, trial: false, holds: (b: bigint) => b >= floor }]
  const bands = treasury.rules.flatMap((rule) =>
    levelsOf(rule)
      .filter((level) => level.party.name === party && level.asset.id === asset.id)
      .flatMap(({ trigger, target }) => [
        rule.kind === "topUp" || rule.kind === "request"
          ? { name: "below", units: trigger as bigint, trial: isOnTrial(rule), holds: (b: bigint) => b >= trigger }
          : { name: "above", units: trigger as bigint, trial: isOnTrial(rule), holds: (b: bigint) => b <= trigger },
        { name: "target", units: target as bigint, trial: isOnTrial(rule), holds: () => true },
      ]),
  )
  return [...floors, ...bands]
}
