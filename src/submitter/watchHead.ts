import { Clock, Effect } from "effect"
import type { Doubt } from "../rules/headBelief.ts"
import { lowForLong } from "../rules/lowHeads.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Brake } from "../store/Brake.ts"
import { Database } from "../store/Database.ts"
import { makeTrouble, type Noted } from "../store/makeTrouble.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { TrustedHead } from "../store/TrustedHead.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"
import { lowRemedy } from "./verbs.ts"

/** The newest block may be doubted for so long before people hear of it. */
const tellAfterMillis = 60_000
const key = "headDoubted"

/** The doubt as people are told of it; undefined while the newest block is believed. */
export const headTrouble = Effect.map(Settings, (settings) => makeTrouble(settings, key, tellAfterMillis))

/** Calls people where the newest block is doubted for long, or flaps. It asks the store and the clock alone. */
export const watchHead = Effect.fn("Overdue.head")(function* () {
  const { chainId } = yield* SubmitterOptions
  const trouble = yield* headTrouble
  const { doubt, low, trusted } = yield* (yield* TrustedHead).of(chainId)
  const flapping = lowForLong(low, trusted?.at, yield* Clock.currentTimeMillis)
  const doubted = Effect.gen(function* () {
    if (doubt === undefined) {
      const over = yield* trouble.end
      return over?.isTold === true ? yield* raiseOver(over) : false
    }
    // The halt has paged people, and names what ends it.
    if (doubt.begunBelow !== undefined && (yield* isHalted)) return false
    const noted = yield* trouble.note(doubt.why)
    return noted?.isTold === true ? yield* raiseDoubt(noted, doubt) : false
  })
  const round = Effect.gen(function* () {
    const isTold = flapping !== undefined && low !== undefined && (yield* raiseLow(low.first, flapping))
    return (yield* doubted) || isTold
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

const isHalted = Effect.map(
  Effect.flatMap(Brake, (brake) => brake.halts),
  (all) => all.some(({ reason }) => reason === "chain_changed"),
)

/** What people do about it. A height is named where the verb takes it now. */
export const headRemedyOf = ({ trustable }: Doubt): string =>
  trustable === undefined
    ? "the gateways or their row headers contradict each other: compare with another source, and replace what is wrong"
    : "compare with another source: where the gateway is wrong, replace it; " +
      `where it is right, "cofferer trust head ${trustable}"`

/** Once, however long it lasts. */
const raiseLow = Effect.fnUntraced(function* (since: number, height: bigint) {
  return yield* (yield* AlertQueue).raise({
    dedup: `head-low/${since}`,
    severity: "ticket",
    kind: "head",
    subject: "newest block flaps",
    detail: `no payment counts as never executed by a block above ${height}: ${lowRemedy(height)}`,
    fields: { since: new Date(since).toISOString() },
  })
})

const raiseDoubt = Effect.fnUntraced(function* ({ since, detail }: Noted, doubt: Doubt) {
  return yield* (yield* AlertQueue).raise({
    dedup: `head-doubted/${since}`,
    severity: "page",
    kind: "head",
    subject: "newest block doubted",
    detail: `nothing is signed, sent or counted as over: ${detail}; ${headRemedyOf(doubt)}`,
    fields: { since: new Date(since).toISOString() },
  })
})

const raiseOver = Effect.fnUntraced(function* ({ since }: Noted) {
  return yield* (yield* AlertQueue).raise({
    dedup: `head-doubted/${since}/over`,
    severity: "info",
    kind: "head",
    subject: "newest block believed",
    detail: `the newest block is believed again; it was doubted since ${new Date(since).toISOString()}`,
    fields: { since: new Date(since).toISOString(), over: true },
    resolves: [`head-doubted/${since}`],
  })
})
