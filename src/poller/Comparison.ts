import { Effect } from "effect"
import { Gateways } from "../gateway/Gateways.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import { Comparisons } from "../store/Comparisons.ts"
import { type Compared, nothingCompared } from "./Compared.ts"
import type { AccountListing } from "./listAccounts.ts"

export interface ReconciliationOptions {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
  /** Balances behind by more are being caught up with: not compared until they are there. */
  readonly maxAgeMillis: number
  /** Between two comparisons. */
  readonly reconcileMillis: number
}

export const keysOf = ({ parties }: ReconciliationOptions) => [...parties.values()].map(({ publicKey }) => publicKey)

/** After an answer that is of no use. */
export const retryMillis = 5_000
/** Before the next gateway of a quorum is asked. */
export const moreMillis = 500

/** What this process remembers between two steps. None of it is needed after its end. */
export interface Comparison {
  dueAt: number
  isBehind: boolean
  /** Made, and not compared to its end. */
  listing: (AccountListing & { readonly at: number }) | undefined
  /** Names of accounts that differed in the look before this one; undefined: this is the first look. */
  before: ReadonlySet<string> | undefined
  /** Comparisons brought to an end. */
  count: number
  /** With several gateways a comparison is one with as many of them as must agree. */
  compared: Compared
}

export const newComparison = (): Comparison => ({
  dueAt: 0,
  isBehind: false,
  listing: undefined,
  before: undefined,
  count: 0,
  compared: nothingCompared(),
})

/** This gateway told nothing of use. Where there are others the next one is asked soon: none can hold up all. */
export const skip = Effect.fnUntraced(function* (memory: Comparison, now: number, reason: string) {
  memory.listing = undefined
  memory.dueAt = now + retryMillis
  yield* (yield* Comparisons).failed(reason)
  if ((yield* Gateways).all.length === 1) {
    memory.compared = nothingCompared()
    return
  }
  const { asked, silent } = memory.compared
  if (asked !== undefined) silent.add(asked)
  memory.before = undefined
  memory.dueAt = now + moreMillis
})

/** Gives up a listing whose block the rows do not reach in time. */
export const give = Effect.fnUntraced(function* (memory: Comparison, now: number) {
  yield* skip(memory, now, "the rows do not reach the block of the gateway's listing")
  memory.before = undefined
})
