import { Effect } from "effect"
import { isUnknownPayer } from "../rules/funds.ts"
import { isUnseen } from "../rules/knowledge.ts"
import { isPaying } from "../rules/Rule.ts"
import { subjectsOf } from "../rules/Subject.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { memoryKey, type RuleMemory } from "../store/RuleStates.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { isRehearsed } from "./judgeAll.ts"

/** A first deposit, or a first reading, may take so long. */
const patienceMillis = 300_000

/**
 * Tells people that a rule cannot pay since nothing tells a balance that it needs: of an account that never had money,
 * or one whose history a gateway withheld when it was read. Other shortages are plain on the page; of this nothing is.
 */
export const tellUnknown = Effect.fnUntraced(function* (memories: ReadonlyMap<string, RuleMemory>, now: number) {
  const silent = [...memories.values()].filter((one) => isUnknown(one) && now - one.reasonSince >= patienceMillis)
  if (silent.length === 0) return
  const { rules, mode } = yield* EngineOptions
  const paying = rules.filter(isPaying).filter((rule) => !isRehearsed(mode, rule))
  const inForce = new Set(paying.flatMap((rule) => subjectsOf(rule).map(({ name }) => memoryKey(rule.name, name))))
  for (const { rule, subject, reason, detail, reasonSince } of silent) {
    if (!inForce.has(memoryKey(rule, subject))) continue
    const isNew = yield* (yield* AlertQueue).raise({
      dedup: `unknown/${rule}/${subject}/${reason}/${reasonSince}`,
      severity: "ticket",
      kind: "rule",
      subject: rule,
      detail:
        `pays nothing for ${subject} since ${new Date(reasonSince).toISOString()}: ${detail}; where that account has ` +
        "money, compare it with another gateway; otherwise make its first payment by hand",
      fields: { rule, account: subject },
    })
    if (isNew) yield* (yield* Signals).wake("alerts")
  }
})

const isUnknown = ({ reason, detail }: RuleMemory): boolean =>
  (reason === "no_data" && isUnseen(detail)) || (reason === "short" && isUnknownPayer(detail))
