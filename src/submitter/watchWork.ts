import { Effect } from "effect"
import type { WorkDoubt } from "../rules/workTerms.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { ChainRules, workDoubtKey } from "../store/ChainRules.ts"
import { Database } from "../store/Database.ts"
import { makeTrouble, type Noted } from "../store/makeTrouble.ts"
import { Observations } from "../store/Observations.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/** Milliseconds for which people are not called: a lie passes, a wait ends by itself, a first look takes its time. */
const boundMillis = { odd: 60_000, first: 300_000, unknown: 600_000, changed: 1_800_000 }
/** For each block of the wait after a change. */
const blockMillisMax = 10_000

const boundOf = ({ kind, blocks }: WorkDoubt): number => Math.max(boundMillis[kind], blocks * blockMillisMax)

/**
 * Calls people where the terms of work are not to be relied on for long, so that nothing is signed. It asks the store
 * and the clock alone.
 */
export const watchWork = Effect.fn("Overdue.work")(function* () {
  const { mode, parties } = yield* SubmitterOptions
  const pays = mode === "live" && [...parties.values()].some(({ signer }) => signer !== undefined)
  const settings = yield* Settings
  const height = (yield* (yield* Observations).watermark)?.height ?? 0n
  const doubt = pays ? yield* (yield* ChainRules).doubt(height) : undefined
  const round = Effect.gen(function* () {
    const before = yield* makeTrouble(settings, workDoubtKey).now
    if (doubt === undefined) {
      if (before !== undefined) yield* settings.set(workDoubtKey, "")
      return before?.isTold === true ? yield* raiseOver(before) : false
    }
    // Who was told stays told, whatever follows the first reason.
    const trouble = makeTrouble(settings, workDoubtKey, before?.isTold === true ? 0 : boundOf(doubt))
    const noted = yield* trouble.note(doubt.detail)
    return noted?.isTold === true ? yield* raise(noted, doubt) : false
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

const raise = Effect.fnUntraced(function* ({ since, detail }: Noted, { kind, remedy }: WorkDoubt) {
  return yield* (yield* AlertQueue).raise({
    dedup: `work-terms/${since}`,
    severity: "page",
    kind: "chain",
    subject: "work terms",
    detail: `nothing is signed since ${new Date(since).toISOString()}: ${detail}; ${remedy}`,
    fields: { since: new Date(since).toISOString(), doubt: kind },
  })
})

const raiseOver = Effect.fnUntraced(function* ({ since }: Noted) {
  return yield* (yield* AlertQueue).raise({
    dedup: `work-terms/${since}/over`,
    severity: "info",
    kind: "chain",
    subject: "work terms",
    detail: `the network's terms of work are settled again; they were not since ${new Date(since).toISOString()}`,
    fields: { since: new Date(since).toISOString(), over: true },
    resolves: [`work-terms/${since}`],
  })
})
