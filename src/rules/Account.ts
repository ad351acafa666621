import type { BaseUnits } from "../domain/Amount.ts"
import type { ExternalAddress, PublicKey } from "../domain/Hex.ts"

/** A party as configured. Without a signer it is watch-only and is never `from`. */
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

export const percent = ({ numerator, denominator }: Share): string =>
  `${Number((numerator * 100_000_000n) / denominator) / 1_000_000} %`

/** Name of the party with this key; undefined where the treasury has none. */
export const partyName = (parties: ReadonlyMap<string, Party>, key: string): string | undefined =>
  [...parties.values()].find(({ publicKey }) => publicKey === key)?.name

/** An account's name in decisions, messages and the store: "hot/USDT". */
export const accountName = ({ party, asset }: Pick<RuleAccount, "party" | "asset">): string =>
  `${party.name}/${asset.symbol}`
