import type { Treasury } from "../config/Treasury.ts"
import type { Party, PinnedAsset } from "../rules/Account.ts"
import type { Rule } from "../rules/Rule.ts"

export interface BalancePollerOptions {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
  /** Levels that are worth a look each second once a balance is near. Default none. */
  readonly rules?: ReadonlyArray<Rule>
  readonly pollBusyMillis: number
  readonly pollIdleMillis: number
  /** How long rows are kept. */
  readonly keepMillis: number
  /** Nothing is forgotten while clock and newest block are further apart. */
  readonly maxAgeMillis: number
  /** Gateways that know no times: their history is read by cursors. Default none. */
  readonly readByCursor?: ReadonlySet<string>
  /** Rows per request, 1 to 5,000. Default 1,000, the network's own. */
  readonly pageRows?: number
}

/** Polling options from a treasury's file. */
export const pollerOptionsOf = ({ parties, assets, rules, keepMillis, network }: Treasury): BalancePollerOptions => ({
  parties,
  assets,
  rules,
  pollBusyMillis: network.pollBusyMillis,
  pollIdleMillis: network.pollIdleMillis,
  keepMillis,
  maxAgeMillis: network.maxAgeMillis,
  readByCursor: new Set(network.gateways.filter(({ reads }) => reads === "cursor").map(({ name }) => name)),
})

/** The network's own default, and at most 5,000. */
export const defaultPageRows = 1_000

export const partiesOf = (options: BalancePollerOptions): ReadonlyArray<string> =>
  [...options.parties.values()].map((party) => party.publicKey)
