import { Clock, Effect, Option, Schema } from "effect"
import { lastly } from "./lastly.ts"
import type { Settings } from "./Settings.ts"
import type { StoreError } from "./StoreError.ts"

const Stored = Schema.fromJsonString(
  Schema.Struct({ since: Schema.Finite, detail: Schema.String, isTold: Schema.optionalKey(Schema.Boolean) }),
)
const decode = Schema.decodeUnknownOption(Stored)

/** Something that is wrong, with a sentence about it. */
export interface Noted {
  /** Unix milliseconds. */
  readonly since: number
  readonly detail: string
  /** Whether people were told. */
  readonly isTold: boolean
}

/** A trouble of which a sentence is kept from its beginning to its end. It outlives the process. */
interface Trouble {
  readonly now: Effect.Effect<Noted | undefined, StoreError>
  /**
   * Keeps since when. It counts as told once it lasts for `tellAfterMillis`. Returns what is noted where that
   * changed; undefined where it is as it was.
   */
  readonly note: (detail: string) => Effect.Effect<Noted | undefined, StoreError>
  /** Returns what was noted. */
  readonly end: Effect.Effect<Noted | undefined, StoreError>
}

/** One kept under a key of the settings. */
export const makeTrouble = (
  settings: Settings["Service"],
  key: string,
  tellAfterMillis = Number.POSITIVE_INFINITY,
): Trouble => {
  const read = (text: string): Noted | undefined => {
    const stored = Option.getOrUndefined(decode(text))
    return stored === undefined ? undefined : { ...stored, isTold: stored.isTold === true }
  }
  const now = Effect.map(settings.get(key), lastly(read))
  return {
    now,
    note: Effect.fnUntraced(function* (detail: string) {
      const at = yield* Clock.currentTimeMillis
      const known = yield* now
      // A beginning later than now is of a clock that was wrong: it begins now.
      const since = Math.min(known?.since ?? at, at)
      const isTold = at - since >= tellAfterMillis
      if (known?.detail === detail && known.isTold === isTold && known.since === since) return undefined
      const noted = { since, detail, isTold }
      yield* settings.set(key, JSON.stringify(noted))
      return noted
    }),
    end: Effect.tap(now, (known) => (known === undefined ? Effect.void : settings.set(key, ""))),
  }
}
