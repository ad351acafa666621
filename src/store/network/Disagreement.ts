import { Context, Effect, Layer } from "effect"
import { makeTrouble, type Noted } from "../alerts/makeTrouble.ts"
import { Settings } from "../database/Settings.ts"
import type { StoreError } from "../database/StoreError.ts"

/** Whether too few gateways agree on the balances: no money moves meanwhile. It outlives the process. */
export class Disagreement extends Context.Service<
  Disagreement,
  {
    readonly now: Effect.Effect<Noted | undefined, StoreError>
    /** Keeps since when. */
    readonly note: (detail: string) => Effect.Effect<void, StoreError>
    readonly end: Effect.Effect<void, StoreError>
  }
>()("cofferer/store/Disagreement") {
  static readonly layerNoDeps: Layer.Layer<Disagreement, never, Settings> = Layer.effect(
    Disagreement,
    Effect.map(Settings, (settings) => {
      const trouble = makeTrouble(settings, "disagreement")
      return Disagreement.of({
        now: trouble.now,
        note: Effect.fn("Disagreement.note")((detail: string) => Effect.asVoid(trouble.note(detail))),
        end: Effect.asVoid(trouble.end),
      })
    }),
  )
}
