import { Clock, Effect } from "effect"
import { CycleConfig } from "../config/ConfigInForce.ts"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { Settings } from "../store/database/Settings.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import type { Framing } from "../tx/Transaction.ts"

/** The form in which this chain is known to execute, or the configured one; undefined where it must be found out. */
export const knownFraming = Effect.gen(function* () {
  const { framing, chainId } = (yield* CycleConfig).treasury.network
  return framing === "auto" ? yield* (yield* Settings).framing(chainId) : framing
})

const refusedKey = (chainId: string): string => `refusedForm/${chainId}`

/**
 * The form that the chain refused last; undefined: none. Attempts begin with the other one: where answers are slow and
 * the window is short, there is no time within it to try both.
 */
export const refusedForm = Effect.fnUntraced(function* (chainId: string) {
  const stored = yield* (yield* Settings).get(refusedKey(chainId))
  return stored === "prefixed" || stored === "bare" ? stored : undefined
})

export const noteRefusedForm = Effect.fnUntraced(function* (chainId: string, form: Framing) {
  yield* (yield* Settings).set(refusedKey(chainId), form)
})

/** A payment that is under way for longer finds nothing out: the others try for themselves, as it did. */
const waitMillisMax = 30_000
/** One without its proof of work after this has nothing to send, and may not have for long. */
const unsolvedMillisMax = 2_000

/**
 * Reason to wait while another payment finds out which wire form the chain takes: only one does, so that not each of
 * several is refused once. Undefined if there is nothing to wait for. Call it in the transaction that signs.
 */
export const otherFindsForm = Effect.fnUntraced(function* (intent: Intent) {
  if ((yield* knownFraming) !== undefined) return undefined
  const now = yield* Clock.currentTimeMillis
  const others = (yield* (yield* Outbox).live).filter(
    ({ intentId, work, createdAt }) =>
      intentId !== intent.id && (work !== undefined || Math.abs(now - createdAt) < unsolvedMillisMax),
  )
  const [first] = others
  if (first === undefined || others.some(({ createdAt }) => Math.abs(now - createdAt) >= waitMillisMax))
    return undefined
  return `payment ${shortId(first.intentId).slice(0, 4)} finds out which wire form the network takes`
})
