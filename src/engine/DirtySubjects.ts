import { Context, Layer } from "effect"
import { accountKeyText } from "../domain/Balance.ts"
import { isPaying, type Rule } from "../rules/Rule.ts"
import type { Outcome } from "../rules/round.ts"
import { ageMillis, type Snapshot } from "../rules/Snapshot.ts"
import { subjectsIn } from "../rules/Subject.ts"
import { makeWatch, type Watch } from "../rules/Watch.ts"
import type { AccountBalance } from "../store/balances/storeRows.ts"

/** Results of the last round that the next one may reuse. */
interface Held extends Omit<Round, "snapshot" | "stops"> {
  readonly watch: Watch
  readonly ageLimits: ReadonlyArray<number>
  /** Facts that affect all subjects, as text: `stops` of the round, and the age limits that balances exceed. */
  readonly world: string
}

/** Inputs of a round, known before it decides. */
interface Round {
  readonly rules: ReadonlyArray<Rule>
  readonly mode: string
  /** Generation of the memories, as `RuleStates.byKey` gives it. */
  readonly generation: number
  readonly snapshot: Snapshot
  readonly accounts: ReadonlyArray<AccountBalance>
  /** Text that changes with whatever stops or blinds all rules. */
  readonly stops: string
}

/**
 * The subjects that the next round must evaluate. In memory only: after `forget` the next round evaluates all of them.
 */
export class DirtySubjects extends Context.Service<
  DirtySubjects,
  {
    /** Subjects of paying rules that this round must evaluate. */
    readonly due: (round: Round) => ReturnType<Watch["due"]>
    /** Call it once the round is durable. */
    readonly evaluated: (outcomes: ReadonlyArray<Outcome>) => void
    readonly forget: () => void
  }
>()("cofferer/engine/DirtySubjects") {
  static readonly layer = Layer.sync(DirtySubjects, () => {
    let held: Held | undefined
    let next: Held | undefined
    return DirtySubjects.of({
      due: (round) => {
        const { rules, mode, generation, snapshot, accounts } = round
        const same = held?.rules === rules && held.mode === mode && held.generation === generation ? held : undefined
        const watch = same?.watch ?? makeWatch(subjectsIn(rules, mode).paying)
        const ageLimits = same?.ageLimits ?? limitsOf(rules, snapshot.maxAgeMillis)
        const world = `${round.stops}|${ageLimits.map((limit) => isStale(snapshot, limit)).join()}`
        next = { rules, mode, generation, watch, ageLimits, world, accounts }
        if (same === undefined || same.world !== world) return watch.subjects
        return watch.due(snapshot.now, changedOf(accounts, same.accounts))
      },
      evaluated: (outcomes) => {
        for (const outcome of outcomes) next?.watch.evaluated(outcome)
        held = next
      },
      forget: () => {
        held = undefined
      },
    })
  })
}

const isSameAccount = (a: AccountBalance, b: AccountBalance): boolean =>
  a.party === b.party && a.asset === b.asset && a.market === b.market && a.type === b.type

/** Accounts whose balance changed. Both lists have the same order, so that most accounts keep their index. */
const changedOf = (
  accounts: ReadonlyArray<AccountBalance>,
  before: ReadonlyArray<AccountBalance>,
): ReadonlyArray<AccountBalance> => {
  if (accounts === before) return []
  const changed: Array<AccountBalance> = []
  let known: ReadonlyMap<string, bigint> | undefined
  for (const [i, row] of accounts.entries()) {
    const there = before[i]
    if (there === undefined || !isSameAccount(there, row)) {
      known ??= new Map(before.map((one) => [accountKeyText(one), one.balance]))
      if (known.get(accountKeyText(row)) !== row.balance) changed.push(row)
    } else if (there.balance !== row.balance) changed.push(row)
  }
  return changed
}

/** Age limits of the rules and of the network, by which planned times are concluded (`clockGap`). */
const limitsOf = (rules: ReadonlyArray<Rule>, network: number): ReadonlyArray<number> => [
  ...new Set([network, ...rules.filter(isPaying).flatMap(({ maxAgeMillis }) => maxAgeMillis ?? [])]),
]

/** No balance was read yet, or the newest is too old or from the future. */
const isStale = (snapshot: Snapshot, limit: number): boolean => {
  if (snapshot.asOf === undefined) return true
  const age = ageMillis(snapshot, snapshot.asOf)
  return age > limit || -age > snapshot.maxAgeMillis
}
