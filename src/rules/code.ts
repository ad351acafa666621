import { formatAmount } from "../domain/Amount.ts"
import type { AssetStatusWord } from "../domain/Asset.ts"
import type { Need, Seen } from "./Need.ts"
import { type Account, accountName, type PinnedAsset } from "./Rule.ts"
import type { Snapshot } from "./Snapshot.ts"

/** What an operator's function is told; it is frozen. */
export interface CodeSeen {
  /** Base units by account: "maker-1/USDT" is its free balance, "maker-1/USDT total" all of it. */
  readonly balances: Readonly<Record<string, bigint>>
  /** Base units of one unit of the rule's asset. */
  readonly one: bigint
  /** By symbol, of the rule's own asset and of its accounts'. */
  readonly assets: Readonly<Record<string, CodeAsset>>
  /** Start of the current minute, Unix milliseconds. */
  readonly time: number
}

export interface CodeAsset {
  /** Base units of one unit of the asset. */
  readonly one: bigint
  readonly decimals: number
  /** unknown: no listing was read yet. */
  readonly status: AssetStatusWord | "unlisted" | "unknown"
}

/** What became of asking it. */
export type CodeAnswer = (
  | {
      readonly _tag: "Pays"
      /** Positions in the rule's receivers, each once, and base units above zero; none: nothing is needed. */
      readonly payments: ReadonlyArray<{ readonly to: number; readonly amount: bigint }>
      /** In the operator's words. */
      readonly because: string | undefined
    }
  | { readonly _tag: "Broken"; readonly detail: string }
) & {
  /** Whether it looked at the time: then another minute may have another answer. */
  readonly timed: boolean
  /** Unix milliseconds before which it is not asked again: this is what became of asking it before. */
  readonly until?: number
}

const minuteMillis = 60_000

/** The name under which a code rule finds a balance. */
export const balanceName = (account: Account): string =>
  account.balance === "free" ? accountName(account) : `${accountName(account)} total`

/** What the rule's own code asks for. All that modifies, limits and checks a payment comes after it. */
export const codeNeed = ({ subject, snapshot, balances }: Seen<"code">): Need => {
  const { rule } = subject
  const minute = Math.floor(snapshot.now / minuteMillis) * minuteMillis
  const own = Object.fromEntries(rule.accounts.map((account, i) => [balanceName(account), balances[i] ?? 0n]))
  const pins = [rule.asset, ...rule.accounts.map(({ asset }) => asset)]
  const told = {
    balances: own,
    one: 10n ** BigInt(rule.asset.decimals),
    assets: Object.fromEntries(pins.map((asset) => [asset.symbol, assetOf(asset, snapshot)])),
    time: minute,
  }
  const answer = rule.need(told, snapshot.now)
  const again = answer.until ?? (answer.timed ? minute + minuteMillis : undefined)
  const next = again === undefined ? {} : { next: again }
  if (answer._tag === "Broken") return { _tag: "Broken", detail: answer.detail, ...next }
  const seen = rule.accounts
    .map((account, i) => `${formatAmount(balances[i] ?? 0n, account.asset.decimals)} ${balanceName(account)}`)
    .join(", ")
  if (answer.payments.length === 0) return { _tag: "InBand", detail: `at ${seen} its code needs nothing`, ...next }
  const because = answer.because === undefined ? `at ${seen} its code wants it` : `${answer.because} (${seen})`
  const transfers = answer.payments.map(({ to, amount }) => ({ from: rule.from, to: rule.to[to]!, amount }))
  return { _tag: "Wanted", detail: because, transfers, ...next }
}

const assetOf = ({ id, decimals }: PinnedAsset, { listed }: Snapshot): CodeAsset => ({
  one: 10n ** BigInt(decimals),
  decimals,
  status: listed === undefined ? "unknown" : (listed.get(id)?.status ?? "unlisted"),
})
