import type { Party, Receiver } from "../Rule.ts"
import { waysOf } from "../waysOf.ts"
import { type Finding, gravity, type RuleSet, spotsOf, targetPath, triggerPath } from "./Finding.ts"

/** Kinds that pay by balances, so that a payment back makes them pay again. */
const byBalance: ReadonlySet<string> = new Set(["topUp", "sweep", "split", "rebalance"])

/** Rules that move money between accounts whose shares another keeps. */
export const atOdds = (set: RuleSet): ReadonlyArray<Finding> => {
  const spots = spotsOf(set).filter(({ rule }) => byBalance.has(rule.kind))
  return spots.flatMap((group) => {
    if (group.rule.kind !== "rebalance") return []
    const members = new Set(group.rule.weights.map(({ party }) => party))
    return spots.flatMap((spot): ReadonlyArray<Finding> => {
      if (spot.rule === group.rule || spot.subject.asset !== group.subject.asset) return []
      // Of two groups the later one is told of.
      if (spot.subject.kind === "rebalance" && spots.indexOf(spot) < spots.indexOf(group)) return []
      const way = waysOf(spot.subject).find(({ from, to }) => isIn(members, from) && isIn(members, to))
      if (way === undefined) return []
      return [
        {
          lint: "opposite",
          severity: gravity(spot.rule, group.rule),
          path: spot.rule.kind === "rebalance" ? triggerPath(spot) : targetPath(spot),
          message: `${spot.rule.name} pays ${way.from.name} -> ${way.to.name}, whose shares ${group.rule.name} keeps: each can undo what the other did`,
          remedy: `take one of them out of ${group.rule.name}, or remove one of the two rules`,
        },
      ]
    })
  })
}

const isIn = (members: ReadonlySet<Party>, receiver: Receiver): boolean =>
  "publicKey" in receiver && members.has(receiver)
