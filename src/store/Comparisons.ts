import { Clock, Context, Effect, Layer, Schema } from "effect"
import { AlertQueue } from "./AlertQueue.ts"
import { Database } from "./Database.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import type { StoreError } from "./StoreError.ts"

const Noted = Schema.fromJsonString(
  Schema.Struct({ since: Schema.Finite, detail: Schema.String, isTold: Schema.Boolean }),
)
const decode = Schema.decodeUnknownOption(Noted)
const key = "uncompared"

/** A comparison that does not come to its end for so long is a matter for people. */
export const uncomparedMillisMax = 300_000

export interface Uncompared {
  /** Unix milliseconds since which comparisons fail. */
  readonly since: number
  readonly detail: string
}

/**
 * Whether balances cannot be compared with those that the gateway itself tells, since when and why: after a start no
 * rule pays meanwhile. People are told after five minutes, and when it is over. It outlives the process.
 */
export class Comparisons extends Context.Service<
  Comparisons,
  {
    /** Undefined while comparisons come to their end, and in the first five minutes in which they do not. */
    readonly failing: Effect.Effect<Uncompared | undefined, StoreError>
    /** A comparison came to nothing; keeps since when. */
    readonly failed: (detail: string) => Effect.Effect<void, StoreError>
    /** One came to its end. */
    readonly ended: Effect.Effect<void, StoreError>
  }
>()("cofferer/store/Comparisons") {
  static readonly layerNoDeps: Layer.Layer<Comparisons, never, Settings | AlertQueue | Signals | Database> =
    Layer.effect(
      Comparisons,
      Effect.gen(function* () {
        const settings = yield* Settings
        const alerts = yield* AlertQueue
        const signals = yield* Signals
        const database = yield* Database
        const noted = Effect.map(settings.get(key), (text) => {
          const found = decode(text ?? "")
          return found._tag === "Some" ? found.value : undefined
        })
        const tell = Effect.fnUntraced(function* (since: number, words: string, isOver: boolean) {
          yield* alerts.raise({
            dedup: `uncompared/${since}${isOver ? "/over" : ""}`,
            severity: isOver ? "info" : "ticket",
            kind: "balances",
            subject: "comparison",
            detail: words,
            fields: {},
          })
          yield* signals.wake("alerts")
        })
        const failed = Effect.fnUntraced(function* (detail: string) {
          const now = yield* Clock.currentTimeMillis
          const known = yield* noted
          const since = known?.since ?? now
          const isTold = now - since >= uncomparedMillisMax
          if (known?.detail === detail && known.isTold === isTold) return
          yield* settings.set(key, JSON.stringify({ since, detail, isTold }))
          if (!isTold) return
          const at = new Date(since).toISOString()
          const words = `balances could not be compared with the gateway's own since ${at}: ${detail}; no rule pays after a start before they are`
          yield* tell(since, words, false)
        })
        const ended = Effect.gen(function* () {
          const known = yield* noted
          if (known === undefined) return
          yield* settings.set(key, "")
          if (known.isTold) yield* tell(known.since, "balances are compared with the gateway's own again", true)
        })
        return Comparisons.of({
          failing: Effect.map(noted, (known) => (known?.isTold === true ? known : undefined)),
          failed: Effect.fn("Comparisons.failed")((detail: string) => database.atomically(failed(detail))),
          ended: database.atomically(ended),
        })
      }),
    )
}
