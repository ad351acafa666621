import { Effect } from "effect"
import { AlertQueue } from "../store/AlertQueue.ts"
import { ChainRules } from "../store/ChainRules.ts"
import { Database } from "../store/Database.ts"
import { makeTrouble, type Noted } from "../store/makeTrouble.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/** A wrong answer passes: only what lasts so long is told. */
const tellAfterMillis = 60_000
const key = "oddWork"

/** Since when nothing is signed by what the network asks for, and whether people were told. */
export const workTrouble = Effect.map(Settings, (settings) => makeTrouble(settings, key, tellAfterMillis))

export const workRemedy = "compare it with another node or gateway of the network; it ends with the next legal answer"

/** Calls people where the network asks for work that is not legal. It asks the store and the clock alone. */
export const watchWork = Effect.fn("Overdue.work")(function* () {
  const { mode, parties } = yield* SubmitterOptions
  const pays = mode === "live" && [...parties.values()].some(({ signer }) => signer !== undefined)
  const odd = pays ? yield* (yield* ChainRules).odd : undefined
  const trouble = yield* workTrouble
  const round = Effect.gen(function* () {
    if (odd === undefined) {
      const over = yield* trouble.end
      return over?.isTold === true ? yield* raiseOver(over) : false
    }
    const noted = yield* trouble.note(odd)
    return noted?.isTold === true ? yield* raise(noted) : false
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

const raise = Effect.fnUntraced(function* ({ since, detail }: Noted) {
  return yield* (yield* AlertQueue).raise({
    dedup: `odd-work/${since}`,
    severity: "page",
    kind: "chain",
    subject: "work parameters",
    detail: `nothing is signed since ${new Date(since).toISOString()}: ${detail}; ${workRemedy}`,
    fields: { since: new Date(since).toISOString() },
  })
})

const raiseOver = Effect.fnUntraced(function* ({ since }: Noted) {
  return yield* (yield* AlertQueue).raise({
    dedup: `odd-work/${since}/over`,
    severity: "info",
    kind: "chain",
    subject: "work parameters",
    detail: `the network asks for legal work again; it did not since ${new Date(since).toISOString()}`,
    fields: { since: new Date(since).toISOString(), over: true },
    resolves: [`odd-work/${since}`],
  })
})
