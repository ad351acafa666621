import { Context, Effect, Layer } from "effect"
import { AlertQueue } from "../alerts/AlertQueue.ts"
import { makeTrouble, type Noted } from "../alerts/makeTrouble.ts"
import { Database } from "../database/Database.ts"
import { Settings } from "../database/Settings.ts"
import { Signals } from "../database/Signals.ts"
import type { StoreError } from "../database/StoreError.ts"

/** A comparison that does not come to its end for so long is a matter for people. */
const uncomparedMillisMax = 300_000

/**
 * Whether balances cannot be compared with those that the gateway itself tells, since when and why: after a start no
 * rule pays meanwhile. People are told after five minutes, and when it is over. It outlives the process.
 */
export class Comparisons extends Context.Service<
  Comparisons,
  {
    /** Undefined while comparisons come to their end, and in the first five minutes in which they do not. */
    readonly failing: Effect.Effect<Noted | undefined, StoreError>
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
        const alerts = yield* AlertQueue
        const signals = yield* Signals
        const database = yield* Database
        const trouble = makeTrouble(yield* Settings, "uncompared", uncomparedMillisMax)
        const tell = Effect.fnUntraced(function* (since: number, words: string, isOver: boolean) {
          yield* alerts.raise({
            dedup: `uncompared/${since}${isOver ? "/over" : ""}`,
            severity: isOver ? "info" : "ticket",
            kind: "balances",
            subject: "comparison",
            detail: words,
            fields: {},
            ...(isOver ? { resolves: [`uncompared/${since}`] } : {}),
          })
          yield* signals.wake("alerts")
        })
        const failed = Effect.fnUntraced(function* (sentence: string) {
          const noted = yield* trouble.note(sentence)
          if (noted === undefined || !noted.isTold) return
          const { since, detail } = noted
          const at = new Date(since).toISOString()
          const words = `balances could not be compared with the gateway's own since ${at}: ${detail}; no rule pays after a start before they are`
          yield* tell(since, words, false)
        })
        const ended = Effect.gen(function* () {
          const noted = yield* trouble.end
          if (noted?.isTold) yield* tell(noted.since, "balances are compared with the gateway's own again", true)
        })
        return Comparisons.of({
          failing: Effect.map(trouble.now, (noted) => (noted?.isTold ? noted : undefined)),
          failed: Effect.fn("Comparisons.failed")((detail: string) => database.atomically(failed(detail))),
          ended: database.atomically(ended),
        })
      }),
    )
}
