import { Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { Settings } from "../store/database/Settings.ts"
import type { Framing } from "../tx/Transaction.ts"

/** The form in which this chain is known to execute, or the configured one; undefined where it must be found out. */
export const knownFraming = Effect.gen(function* () {
  const { framing, chainId } = (yield* CycleConfig).treasury.network
  return framing === "auto" ? yield* (yield* Settings).framing(chainId) : framing
})

const refusedKey = (chainId: string): string => `refusedForm/${chainId}`

/**
 * The form that the chain refused last; undefined: none. Attempts begin with the other one: where answers are slow and
 * the window is short, there is not a time within it to try both.
 */
export const refusedForm = Effect.fnUntraced(function* (chainId: string) {
  const stored = yield* (yield* Settings).get(refusedKey(chainId))
  return stored === "prefixed" || stored === "bare" ? stored : undefined
})

export const noteRefusedForm = Effect.fnUntraced(function* (chainId: string, form: Framing) {
  yield* (yield* Settings).set(refusedKey(chainId), form)
})
