import type { Party, Receiver } from "./Rule.ts"
import type { Subject } from "./Subject.ts"

/** One way on which money may move. */
export interface Way {
  readonly from: Party
  readonly to: Receiver
}

/** Every way on which the subject may move money; none where people do. */
export const waysOf = (subject: Subject): ReadonlyArray<Way> => {
  const { rule } = subject
  switch (rule.kind) {
    case "topUp":
      return subject.accounts.map(({ party }) => ({ from: rule.from, to: party }))
    case "sweep":
      return subject.accounts.map(({ party }) => ({ from: party, to: rule.to }))
    case "rebalance":
      return rule.weights.flatMap(({ party: from }) =>
        rule.weights.filter(({ party }) => party !== from).map(({ party: to }) => ({ from, to })),
      )
    case "split":
      return rule.to.map(({ party }) => ({ from: rule.level.party, to: party }))
    case "payout":
      return [{ from: rule.from, to: rule.to }]
    case "withdraw":
      return [{ from: rule.level.party, to: rule.to }]
    case "code":
      return rule.to.map((to) => ({ from: rule.from, to }))
    case "request":
      return []
  }
}
