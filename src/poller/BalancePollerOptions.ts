import type { Party, PinnedAsset } from "../rules/Rule.ts"

export interface BalancePollerOptions {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
  readonly pollBusyMillis: number
  readonly pollIdleMillis: number
  /** How long rows are kept. */
  readonly keepMillis: number
  /** How the gateway's history is read: by time, or by cursors where it knows no times. Default windows. */
  readonly reads?: "windows" | "cursor"
  /** Rows asked for at once, 1 to 5,000. Default 1,000, the network's own. */
  readonly pageRows?: number
}

/** The network's own default, and at most 5,000. */
export const defaultPageRows = 1_000

export const partiesOf = (options: BalancePollerOptions): ReadonlyArray<string> =>
  [...options.parties.values()].map((party) => party.publicKey)
