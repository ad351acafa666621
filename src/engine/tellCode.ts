import { Effect } from "effect"
import type { Answers } from "../rules/code.ts"
import { isPaying } from "../rules/Rule.ts"
import type { Memories } from "../rules/RuleMemory.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { makeTrouble } from "../store/makeTrouble.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"

/** How long code may fail, be late or be asked what changes before it answers; and answer, before it is sound again. */
const patienceMillis = 60_000

/** Tells people that a rule's own code gives nothing that can be relied on, and that it does again. */
export const tellCode = Effect.fnUntraced(function* (memories: Memories, answers: Answers) {
  const { rules } = yield* EngineOptions
  const settings = yield* Settings
  for (const { name, kind } of rules.filter(isPaying)) {
    if (kind !== "code") continue
    const failing = makeTrouble(settings, `code/${name}`, patienceMillis)
    const sound = makeTrouble(settings, `code/${name}/sound`, patienceMillis)
    const held = [...memories.values()].find(({ rule, reason }) => rule === name && reason === "code")
    if (held !== undefined) {
      yield* sound.end
      // Code that was ended is asked again after a minute, just when people are told: a look without an answer keeps
      // the reason of those before it.
      const before = answers.has(name) ? undefined : (yield* failing.now)?.detail
      const noted = yield* failing.note(before ?? held.detail)
      if (noted?.isTold === true) yield* tell(name, noted.since, `pays nothing: ${noted.detail}`.slice(0, 500), false)
    } else if (answers.get(name)?.answer._tag === "Pays" && (yield* failing.now) !== undefined) {
      if ((yield* sound.note(""))?.isTold !== true) continue
      yield* sound.end
      const ended = yield* failing.end
      if (ended?.isTold === true) yield* tell(name, ended.since, "its code answers again", true)
    }
  }
})

const tell = Effect.fnUntraced(function* (rule: string, since: number, detail: string, isOver: boolean) {
  const dedup = `code/${rule}/${since}`
  yield* (yield* AlertQueue).raise({
    dedup: isOver ? `${dedup}/over` : dedup,
    severity: isOver ? "info" : "ticket",
    kind: "rule",
    subject: rule,
    detail,
    fields: { rule, over: isOver },
    ...(isOver ? { resolves: [dedup] } : {}),
  })
  yield* (yield* Signals).wake("alerts")
})
