import { Clock, Effect, Schema } from "effect"
import { jsonSetting, memoizeLast, Settings } from "../database/Settings.ts"

/** Something that is wrong, with a sentence about it. */
const Noted = Schema.Struct({
  /** Unix milliseconds. */
  since: Schema.Finite,
  detail: Schema.String,
  /** True once it lasted for `tellAfterMillis`: it counts as reported. */
  isTold: Schema.Boolean,
})
export type Noted = typeof Noted.Type
const { decode } = jsonSetting(Noted)

/** A lasting trouble, with one text from its beginning to its end. As a setting it outlives the process. */
export const makeTrouble = (settings: Settings["Service"], key: string, tellAfterMillis = Number.POSITIVE_INFINITY) => {
  const now = Effect.map(settings.get(key), memoizeLast(decode))
  return {
    now,
    /**
     * Records the trouble and its start. It counts as reported once it lasts for `tellAfterMillis`. Returns the record
     * if it changed; undefined otherwise.
     */
    note: Effect.fnUntraced(function* (detail: string) {
      const at = yield* Clock.currentTimeMillis
      const known = yield* now
      // A beginning later than now is of a clock that was wrong: it begins now. What is told keeps its beginning, by
      // which its all-clear finds the alert.
      const since = known?.isTold === true ? known.since : Math.min(known?.since ?? at, at)
      const isTold = known?.isTold === true || at - since >= tellAfterMillis
      if (known?.detail === detail && known.isTold === isTold && known.since === since) return undefined
      const noted = { since, detail, isTold }
      yield* settings.set(key, JSON.stringify(noted))
      return noted
    }),
    /** Returns what was noted. */
    end: Effect.tap(now, (known) => (known === undefined ? Effect.void : settings.forget(key))),
  }
}

/** Time during which too few gateways agree on the balances: no money moves. */
export const disagreement = Effect.map(Settings, (settings) => makeTrouble(settings, "disagreement"))

/**
 * Gateways that say that they have no listing of assets: nothing can be compared with it. It counts as told once they
 * say so again after this time: a proxy says it of a listing that is there.
 */
export const unlisted = Effect.map(Settings, (settings) => makeTrouble(settings, "assetsUnlisted", 300_000))

const uncomparedMillisMax = 300_000

/**
 * Since when balances cannot be compared with the gateway's own: after a start no rule pays then. It counts as told
 * once a later comparison fails too: on a quiet chain one waits long for the block that it needs.
 */
export const uncompared = Effect.map(Settings, (settings) => makeTrouble(settings, "uncompared", uncomparedMillisMax))
