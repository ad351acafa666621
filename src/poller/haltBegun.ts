import { Clock, Effect } from "effect"
import { ChainContext } from "../gateway/ChainContext.ts"
import { Health } from "../gateway/Health.ts"
import { begunAnew } from "../rules/headBelief.ts"
import { Brake } from "../store/Brake.ts"
import { Database } from "../store/Database.ts"
import { Drifts } from "../store/Drifts.ts"
import { Journal } from "../store/Journal.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { TrustedHead } from "../store/TrustedHead.ts"
import { trip } from "../store/trip.ts"
import { say } from "../telemetry/say.ts"
import { anewKey } from "./beginAnew.ts"
import { leaveBehind } from "./leaveBehind.ts"

/** What is told of a chain that begins again. `since` names the doubt, Unix milliseconds. */
export interface Begun {
  readonly chainId: string
  readonly detail: string
  readonly since: number
}

/** Setting that names the doubt which a halt told people of. */
const toldKey = (chainId: string): string => `begunAgain/${chainId}`

const halted = Effect.map(
  Effect.flatMap(Brake, (brake) => brake.halts),
  (all) => all.find(({ reason }) => reason === "chain_changed"),
)

/**
 * Halts where the chain begins again below a block that was known. Once people have ended the very halt that told them
 * so, while it is still so, the chain is accepted as it is now: `resume` is their word that the network was reset.
 */
export const haltBegun = Effect.fn("Poller.begun")(function* (gateway: string, begun: Begun) {
  const { chainId, detail, since } = begun
  const settings = yield* Settings
  const isTold = (yield* settings.get(toldKey(chainId))) === String(since)
  if (isTold && (yield* halted) === undefined) return yield* accept(begun)
  const who = gateway === "quorum" ? "of as many gateways as must agree" : `of gateway ${gateway}`
  const remedy =
    "nothing is read there; correct the address, or wait until the right chain is back; where operators know that " +
    "the network was reset, to resume accepts the new chain, and balances begin anew as they are there"
  const words = `the chain ${who} ${detail}: ${remedy}`
  yield* trip("chain_changed", words)
  // A halt that was in force for another reason told nobody of this one: after its end this one comes.
  if (!isTold && (yield* halted)?.detail === words) yield* settings.set(toldKey(chainId), String(since))
})

/**
 * Believes the chain as it begins now. That balances begin anew is durable before any answer of it is believed: no row
 * of it is read on top of those of the chain before. So is that payments of the chain before are for people.
 */
const accept = Effect.fnUntraced(function* ({ chainId, detail }: Begun) {
  const trusted = yield* TrustedHead
  const settings = yield* Settings
  const health = yield* Health
  const belief = yield* trusted.of(chainId)
  if (belief.doubt === undefined) return
  const { height } = belief.doubt
  const words = `operators resumed: the chain ${detail}, and is believed from block ${height} on`
  yield* (yield* Database).atomically(
    Effect.gen(function* () {
      yield* settings.set(anewKey, "pending")
      yield* settings.set(toldKey(chainId), "")
      const body = { detail: words, trusted: String(height), before: String(belief.trusted?.height ?? "none") }
      yield* (yield* Journal).append({ kind: "config", subject: chainId, body })
      yield* leaveBehind(chainId, height)
    }),
  )
  yield* (yield* Drifts).uncheck
  yield* say("trusted", { subject: chainId, detail: words })
  yield* trusted.keep(chainId, begunAnew(belief, height, yield* Clock.currentTimeMillis))
  for (const { name, begunAgain } of yield* health.all) if (begunAgain !== undefined) yield* health.readmit(name)
  // From this one on answers are judged by the new chain; where it cannot be had, from the next.
  yield* Effect.result((yield* ChainContext).head)
  const signals = yield* Signals
  for (const loop of ["balances", "submitter", "confirm", "reconcile"] as const) yield* signals.wake(loop)
})
