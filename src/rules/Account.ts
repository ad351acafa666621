import { type BaseUnits, formatAmount } from "../domain/Amount.ts"
import type { ExternalAddress, PublicKey } from "../domain/Hex.ts"

/** A party as configured. Without a signer it is watch-only: only a request rule has it as `from`. */
export interface Party {
  readonly name: string
  readonly publicKey: PublicKey
  readonly signer: { readonly file: string } | { readonly sandbox: string } | undefined
  /** Lowest free balance that payments of rules and people may leave, in base units by asset id. */
  readonly floor: ReadonlyMap<string, BaseUnits>
  /** Transfers per epoch of the network that rules leave to people. */
  readonly transfersKept: number
}

/** A named address outside of the network. It is never a party. */
export interface External {
  readonly name: string
  readonly address: ExternalAddress
}

export type Receiver = Party | External

/** Public key or address by which policy and ledger identify a receiver. */
export const receiverKey = (receiver: Receiver): PublicKey | ExternalAddress =>
  "address" in receiver ? receiver.address : receiver.publicKey

/** An asset pinned by id: another asset with the same symbol changes nothing. */
export interface PinnedAsset {
  readonly symbol: string
  readonly id: string
  readonly decimals: number
}

/** free: the general account; total: with margin, order margin, bond and orders. */
export type BalanceKind = "free" | "total"

/** One account whose balance a rule depends on. */
export interface RuleAccount {
  readonly party: Party
  readonly asset: PinnedAsset
  readonly balance: BalanceKind
}

/** A fraction of whole numbers: 0.2 % is 2/1000. */
export interface Share {
  readonly numerator: bigint
  readonly denominator: bigint
}

export const isLarger = (one: Share, other: Share): boolean =>
  one.numerator * other.denominator > other.numerator * one.denominator

export const percent = ({ numerator, denominator }: Share): string =>
  `${Number((numerator * 100_000_000n) / denominator) / 1_000_000} %`

/** The party with this key; undefined where the treasury has none. */
export const partyByKey = (parties: ReadonlyMap<string, Party>, key: string): Party | undefined =>
  parties.values().find(({ publicKey }) => publicKey === key)

/** Name of the party with this key, or the beginning of the key. */
export const partyName = (parties: ReadonlyMap<string, Party>, key: string): string =>
  partyByKey(parties, key)?.name ?? key.slice(0, 8)

type Pins = ReadonlyMap<string, PinnedAsset>

/** The asset that is pinned with this id; undefined where none is. */
export const assetById = (assets: Pins, id: string): PinnedAsset | undefined =>
  assets.values().find((asset) => asset.id === id)

/** An amount with its symbol, "12.50 USDT"; undefined where the asset is not pinned, since its decimals are unknown. */
export const pinnedSum = (assets: Pins, id: string, units: bigint): string | undefined => {
  const asset = assetById(assets, id)
  return asset && `${formatAmount(units, asset.decimals)} ${asset.symbol}`
}

/** An account's name in decisions, messages and the store: "hot/USDT". */
export const accountName = ({ party, asset }: Pick<RuleAccount, "party" | "asset">): string =>
  `${party.name}/${asset.symbol}`
