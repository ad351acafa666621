import { Effect } from "effect"
import type { LetGo } from "../rules/Need.ts"
import { timesAfter } from "../rules/Schedule.ts"
import type { Subject } from "../rules/Subject.ts"
import { Clearance } from "../store/Clearance.ts"
import { listedBefore } from "../store/Tags.ts"
import { EngineOptions } from "./EngineOptions.ts"
import { intentIdOf } from "./intentIdOf.ts"

/** Planned times that are looked up, at most. */
const timesMax = 100

/** What people must look at before they hand in what is let go: another life of the store may have paid it. */
export const otherLifeText = Effect.fnUntraced(function* (subject: Subject, { first, last }: LetGo) {
  if (subject.kind !== "payout") return ""
  const { rule, name } = subject
  const { treasury } = yield* EngineOptions
  const payment = { fromKey: rule.from.publicKey }
  let times = 0
  for (const at of timesAfter(rule.schedule, first - 1)) {
    if (at > last || times++ >= timesMax) break
    const id = intentIdOf({ treasury, rule: rule.name, subject: name, episode: at / 1_000 })
    const [listed] = yield* listedBefore({ id, command: "transfer", payment })
    if (listed === undefined) continue
    return `; first look at transfer ${listed.id} (${listed.status}), which another life of this store made of it`
  }
  const lacking = yield* (yield* Clearance).lacking(rule.from.publicKey)
  return lacking === undefined ? "" : `; first look at the ledger: ${lacking}`
})
