import { Effect } from "effect"
import type { Stray } from "../rules/saneHead.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { makeTrouble, type Noted } from "../store/alerts/makeTrouble.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import { AcceptedHead } from "../store/network/AcceptedHead.ts"
import { ChainRules } from "../store/network/ChainRules.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/** No head may fit for so long before people hear of it. */
const headTellAfterMillis = 60_000
const headKey = "headStray"

/** Calls people where no head fits for long. It asks the store and the clock alone. */
export const watchHead = Effect.fn("Overdue.head")(function* () {
  const { chainId } = yield* SubmitterOptions
  const trouble = makeTrouble(yield* Settings, headKey, headTellAfterMillis)
  const { stray } = yield* (yield* AcceptedHead).of(chainId)
  const round = Effect.gen(function* () {
    if (stray === undefined) {
      const over = yield* trouble.end
      return over?.isTold === true ? yield* raiseFits(over) : false
    }
    // Its halt pages, and names what ends it.
    if (stray.kind === "changed") return false
    const noted = yield* trouble.note(stray.why)
    return noted?.isTold === true ? yield* raiseStray(noted, stray) : false
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

/** What people do about it. */
export const strayRemedy = ({ kind }: Pick<Stray, "kind">): string => {
  if (kind === "first") return "it ends by itself once a gateway tells a second block that fits the first"
  const look = "compare the newest block with another source, and replace the gateway that is wrong"
  return kind === "higher" ? `${look}; told for five minutes without one that fits, it is accepted` : look
}

const raiseStray = Effect.fnUntraced(function* ({ since, detail }: Noted, stray: Stray) {
  return yield* (yield* AlertQueue).raise({
    dedup: `head-stray/${since}`,
    severity: "page",
    kind: "head",
    subject: "newest block",
    detail: `nothing is signed, sent or counted as over: ${detail}; ${strayRemedy(stray)}`,
    fields: { since: new Date(since).toISOString() },
  })
})

const raiseFits = Effect.fnUntraced(function* ({ since }: Noted) {
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

/** A wrong answer passes: only what lasts so long is told. */
const tellAfterMillis = 60_000
const workKey = "oddWork"

/** Since when nothing is signed by what the network asks for, and whether people were told. */
export const workTrouble = Effect.map(Settings, (settings) => makeTrouble(settings, workKey, tellAfterMillis))

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
      return over?.isTold === true ? yield* raiseLegal(over) : false
    }
    const noted = yield* trouble.note(odd)
    return noted?.isTold === true ? yield* raiseOdd(noted) : false
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

const raiseOdd = Effect.fnUntraced(function* ({ since, detail }: Noted) {
  return yield* (yield* AlertQueue).raise({
    dedup: `odd-work/${since}`,
    severity: "page",
    kind: "chain",
    subject: "work parameters",
    detail: `nothing is signed since ${new Date(since).toISOString()}: ${detail}; ${workRemedy}`,
    fields: { since: new Date(since).toISOString() },
  })
})

const raiseLegal = Effect.fnUntraced(function* ({ since }: Noted) {
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
