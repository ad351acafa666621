import { Context, Layer } from "effect"
import { accountKey } from "../rules/overlay.ts"
import { isPaying, type Rule } from "../rules/Rule.ts"
import { ageMillis, type Snapshot } from "../rules/Snapshot.ts"
import type { Outcome } from "../rules/step.ts"
import { makeWatch, type Watch } from "../rules/Watch.ts"
import type { AccountBalance } from "../store/Observations.ts"
import { liveSubjects } from "./judgeAll.ts"

/** What one round may take for granted of the last one. */
interface Held {
  readonly rules: ReadonlyArray<Rule>
  readonly mode: string
  /** Which reading of the memories it goes with. */
  readonly reading: number
  readonly watch: Watch
  readonly ageLimits: ReadonlyArray<number>
  readonly world: string
  readonly balances: ReadonlyMap<string, bigint>
}

/** What a round knows before it decides. */
export interface Round {
  readonly rules: ReadonlyArray<Rule>
  readonly mode: string
  readonly reading: number
  readonly snapshot: Snapshot
  readonly accounts: ReadonlyArray<AccountBalance>
  /** Whatever stops or blinds all rules alike, in any words that change with it. */
  readonly stops: string
}

/**
 * Which subjects a round has to look at, from one round to the next. It holds nothing that the store does not: once
 * forgotten, it has everything looked at again.
 */
export class Attention extends Context.Service<
  Attention,
  {
    /** The subjects of paying rules that this round looks at. */
    readonly due: (round: Round) => ReturnType<Watch["due"]>
    /** Call it once the round is durable. */
    readonly looked: (outcomes: ReadonlyArray<Outcome>) => void
    readonly forget: () => void
  }
>()("cofferer/engine/Attention") {
  static readonly layer = Layer.sync(Attention, () => {
    let held: Held | undefined
    let next: Held | undefined
    return Attention.of({
      due: (round) => {
        const { rules, mode, reading, snapshot } = round
        const same = held?.rules === rules && held.mode === mode && held.reading === reading ? held : undefined
        const watch = same?.watch ?? makeWatch(liveSubjects(rules, mode))
        const ageLimits = same?.ageLimits ?? limitsOf(rules, snapshot.maxAgeMillis)
        const balances = new Map(round.accounts.map((row) => [rowKey(row), row.balance]))
        const world = `${round.stops}|${ageLimits.map((limit) => isStale(snapshot, limit)).join()}`
        next = { rules, mode, reading, watch, ageLimits, world, balances }
        if (same === undefined || same.world !== world) return watch.subjects
        return watch.due(snapshot.now, changedOf(round.accounts, same.balances))
      },
      looked: (outcomes) => {
        for (const outcome of outcomes) next?.watch.looked(outcome)
        held = next
      },
      forget: () => {
        held = undefined
      },
    })
  })
}

const rowKey = ({ party, asset, market, type }: AccountBalance): string => `${party}|${asset}|${market}|${type}`

const changedOf = function* (
  accounts: ReadonlyArray<AccountBalance>,
  before: ReadonlyMap<string, bigint>,
): Iterable<string> {
  for (const row of accounts) if (before.get(rowKey(row)) !== row.balance) yield accountKey(row.party, row.asset)
}

const limitsOf = (rules: ReadonlyArray<Rule>, network: number): ReadonlyArray<number> => [
  ...new Set(rules.filter(isPaying).map(({ maxAgeMillis }) => maxAgeMillis ?? network)),
]

/** No balance was read yet, or the newest is too old or from the future. */
const isStale = (snapshot: Snapshot, limit: number): boolean => {
  if (snapshot.asOf === undefined) return true
  const age = ageMillis(snapshot, snapshot.asOf)
  return age > limit || -age > snapshot.maxAgeMillis
}
