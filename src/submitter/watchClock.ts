import { Clock, Effect, Option } from "effect"
import { bansText, Health } from "../gateway/Health.ts"
import { clockGap } from "../rules/clockGap.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { makeTrouble, type Noted } from "../store/makeTrouble.ts"
import { Observations } from "../store/Observations.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/** Clock and newest block may be apart for so long before people hear of it. */
const tellAfterMillis = 60_000
const key = "clockGap"
/** The newest block, in Unix milliseconds, when it began. */
const blockKey = "clockGapBlock"

/**
 * Calls people where clock and newest trusted block are apart, so that nothing is signed: for the clock where newer
 * blocks keep coming, else for balances that grow old. It asks the store and the clock alone; which gateways have shut
 * us out is known in memory.
 */
export const watchClock = Effect.fn("Overdue.clock")(function* () {
  const { maxAgeMillis } = yield* SubmitterOptions
  const settings = yield* Settings
  const trouble = makeTrouble(settings, key, tellAfterMillis)
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* (yield* Observations).watermark
  const block = watermark && Number(watermark.timestamp / 1_000_000n)
  const gap = clockGap(now, block, maxAgeMillis)
  const round = Effect.gen(function* () {
    if (gap === undefined) {
      const over = yield* trouble.end
      return over?.isTold === true ? yield* raiseOver(over) : false
    }
    if ((yield* trouble.now) === undefined) yield* settings.set(blockKey, String(block ?? 0))
    const noted = yield* trouble.note(gap.detail)
    if (noted?.isTold !== true) return false
    const came = (block ?? 0) - Number((yield* settings.get(blockKey)) ?? 0)
    // What moves much faster than time is history that is being read after an outage.
    return yield* raiseGap(noted, came > 0 && came < 2 * (now - noted.since))
  })
  if (yield* (yield* Database).atomically(round)) yield* (yield* Signals).wake("alerts")
})

const raiseGap = Effect.fnUntraced(function* ({ since, detail }: Noted, isSkew: boolean) {
  const [subject, what] = isSkew
    ? ["clock skew", "newer blocks keep coming: this machine's clock is wrong, or the gateways' times are; check NTP"]
    : ["stale balances", `no newer block was read: ${yield* lookAfter}`]
  return yield* (yield* AlertQueue).raise({
    dedup: `clock-gap/${since}`,
    severity: "page",
    kind: "clock",
    subject,
    detail: `nothing is signed: ${detail}; ${what}`,
    fields: { since: new Date(since).toISOString(), skew: isSkew },
  })
})

const lookAfter = Effect.gen(function* () {
  const health = Option.getOrUndefined(yield* Effect.serviceOption(Health))
  const bans = health === undefined ? "" : bansText(yield* health.all)
  return bans === "" ? "look at the gateways and the network" : bans
})

const raiseOver = Effect.fnUntraced(function* ({ since }: Noted) {
  return yield* (yield* AlertQueue).raise({
    dedup: `clock-gap/${since}/over`,
    severity: "page",
    kind: "clock",
    subject: "clock and blocks agree",
    detail: `clock and newest final block agree again; they were apart since ${new Date(since).toISOString()}`,
    fields: { since: new Date(since).toISOString(), over: true },
  })
})
