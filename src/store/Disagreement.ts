import { Clock, Context, Effect, Layer, Schema } from "effect"
import { Settings } from "./Settings.ts"
import type { StoreError } from "./StoreError.ts"

const Noted = Schema.fromJsonString(Schema.Struct({ since: Schema.Finite, detail: Schema.String }))
const decode = Schema.decodeUnknownOption(Noted)
const key = "disagreement"

export interface Disagreeing {
  /** Unix milliseconds. */
  readonly since: number
  readonly detail: string
}

/** Whether too few gateways agree on the balances: no money moves meanwhile. It outlives the process. */
export class Disagreement extends Context.Service<
  Disagreement,
  {
    readonly now: Effect.Effect<Disagreeing | undefined, StoreError>
    /** Keeps since when. */
    readonly note: (detail: string) => Effect.Effect<void, StoreError>
    readonly end: Effect.Effect<void, StoreError>
  }
>()("cofferer/store/Disagreement") {
  static readonly layerNoDeps: Layer.Layer<Disagreement, never, Settings> = Layer.effect(
    Disagreement,
    Effect.gen(function* () {
      const settings = yield* Settings
      const now = Effect.map(settings.get(key), (text) => {
        const noted = decode(text ?? "")
        return noted._tag === "Some" ? noted.value : undefined
      })
      return Disagreement.of({
        now,
        note: Effect.fn("Disagreement.note")(function* (detail) {
          const known = yield* now
          if (known?.detail === detail) return
          const since = known?.since ?? (yield* Clock.currentTimeMillis)
          yield* settings.set(key, JSON.stringify({ since, detail }))
        }),
        end: Effect.gen(function* () {
          if ((yield* now) !== undefined) yield* settings.set(key, "")
        }),
      })
    }),
  )
}
