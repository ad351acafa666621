import { Effect } from "effect"
import type { Stray } from "../rules/saneHead.ts"
import { AcceptedHead } from "../store/AcceptedHead.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { makeTrouble, type Noted } from "../store/makeTrouble.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/** No head may fit for so long before people hear of it. */
const tellAfterMillis = 60_000
const key = "headStray"

/** Calls people where no head fits for long. It asks the store and the clock alone. */
export const watchHead = Effect.fn("Overdue.head")(function* () {
  const { chainId } = yield* SubmitterOptions
  const trouble = makeTrouble(yield* Settings, key, tellAfterMillis)
  const { stray } = yield* (yield* AcceptedHead).of(chainId)
  const round = Effect.gen(function* () {
    if (stray === undefined) {
      const over = yield* trouble.end
      return over?.isTold === true ? yield* raiseOver(over) : false
    }
    // Its halt pages, and names what ends it.
    if (stray.kind === "changed") return false
    const noted = yield* trouble.note(stray.why)
    return noted?.isTold === true ? yield* raise(noted, stray) : false
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

/** What people do about it. */
export const strayRemedy = ({ kind }: Pick<Stray, "kind">): string => {
  if (kind === "first") return "it ends by itself once a gateway tells a second block that fits the first"
  const look = "compare the newest block with another source, and replace the gateway that is wrong"
  return kind === "higher" ? `${look}; told for five minutes without one that fits, it is accepted` : look
}

const raise = Effect.fnUntraced(function* ({ since, detail }: Noted, stray: Stray) {
  return yield* (yield* AlertQueue).raise({
    dedup: `head-stray/${since}`,
    severity: "page",
    kind: "head",
    subject: "newest block",
    detail: `nothing is signed, sent or counted as over: ${detail}; ${strayRemedy(stray)}`,
    fields: { since: new Date(since).toISOString() },
  })
})

const raiseOver = Effect.fnUntraced(function* ({ since }: Noted) {
  const from = new Date(since).toISOString()
  return yield* (yield* AlertQueue).raise({
    dedup: `head-stray/${since}/over`,
    severity: "info",
    kind: "head",
    subject: "newest block",
    detail: `a newest block fits again; none did since ${from}`,
    fields: { since: from, over: true },
    resolves: [`head-stray/${since}`],
  })
})
