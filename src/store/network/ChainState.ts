import { Context, Effect, Layer } from "effect"
import { type AcceptedHeads, makeAcceptedHeads } from "./acceptedHeads.ts"
import { type Epochs, makeEpochs } from "./epochs.ts"
import { type KnownWork, makeKnownWork } from "./work.ts"

/** The chain as it is believed to be: its newest block, the work that it asks for, and its epoch. */
export class ChainState extends Context.Service<ChainState, AcceptedHeads & KnownWork & Epochs>()(
  "cofferer/store/ChainState",
) {
  static readonly layerNoDeps = Layer.effect(
    ChainState,
    Effect.gen(function* () {
      return ChainState.of({ ...(yield* makeAcceptedHeads), ...(yield* makeKnownWork), ...(yield* makeEpochs) })
    }),
  )
}
