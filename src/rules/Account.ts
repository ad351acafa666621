import type { BaseUnits } from "../domain/Amount.ts"
import type { ExternalAddress, PublicKey } from "../domain/Hex.ts"

/** A party as configured. Without a signer it is watch-only and is never `from`. */
export interface Party {
  readonly name: string
  readonly publicKey: PublicKey
  readonly signer: { readonly file: string } | { readonly sandbox: string } | undefined
  /** Base units by asset id that no payment of a rule or a person may take the free balance below. */
  readonly floor: ReadonlyMap<string, BaseUnits>
  /** Transfers of each epoch of the network that rules leave to people. */
  readonly transfersKept: number
}

/** An address outside of the network under the name that the file gives it. It is never a party. */
export interface External {
  readonly name: string
  readonly address: ExternalAddress
}

export type Receiver = Party | External

/** Under which the policy and the ledger know a receiver. */
export const receiverKey = (receiver: Receiver): PublicKey | ExternalAddress =>
  "address" in receiver ? receiver.address : receiver.publicKey

/** An asset pinned by id, so that a newcomer with the same symbol changes nothing. */
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

/** A part as a fraction of whole numbers: 0.2 % is 2/1000. */
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
