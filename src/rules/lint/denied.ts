import { lineFor } from "../Policy.ts"
import { receiverKey } from "../Rule.ts"
import { waysOf } from "../waysOf.ts"
import { type Finding, policyGravity, type RuleSet, type Spot, spotsOf } from "./Finding.ts"

/** Ways named one by one; a rebalance among many has more. */
const namedMax = 3

/** Payments that no policy line allows. */
export const denied = (set: RuleSet): ReadonlyArray<Finding> =>
  spotsOf(set).flatMap((spot) => {
    const { rule, subject } = spot
    const lacking = waysOf(subject).filter(({ from, to }) => {
      const line = lineFor(set.policy, { from: from.publicKey, to: receiverKey(to), assetId: subject.asset.id })
      return line === undefined || line.transfersPer24h === 0
    })
    const [first] = lacking
    if (first === undefined) return []
    const names = lacking.slice(0, namedMax).map(({ from, to }) => `${from.name} -> ${to.name}`)
    const more = lacking.length > namedMax ? ` and ${lacking.length - namedMax} more` : ""
    const to = [...new Set(lacking.map((way) => way.to.name))].join(", ")
    const from = [...new Set(lacking.map((way) => way.from.name))].join(", ")
    const fields = `from: [${from}], to: [${to}], asset: ${subject.asset.symbol}`
    return [
      {
        lint: "denied",
        severity: policyGravity(set, rule),
        path: placeOf(spot, first.to.name),
        message: `${rule.name} is denied ${names.join(", ")}${more}: no policy line allows ${subject.asset.symbol} there`,
        remedy: `allow { ${fields}, perTransfer: …, per24h: …, transfersPer24h: … } in the policy, or remove it`,
      },
    ]
  })

const placeOf = ({ rule, own }: Spot, to: string): ReadonlyArray<PropertyKey> => {
  if (rule.kind === "split") return [...own, "to", to]
  return rule.kind === "rebalance" ? [...own, "weights"] : own
}
