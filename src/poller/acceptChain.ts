import { Clock, Effect } from "effect"
import { ChainContext } from "../gateway/ChainContext.ts"
import { acceptAnew } from "../rules/saneHead.ts"
import { AcceptedHead } from "../store/AcceptedHead.ts"
import { Brake } from "../store/Brake.ts"
import { Database } from "../store/Database.ts"
import { Drifts } from "../store/Drifts.ts"
import { Journal } from "../store/Journal.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { trip } from "../store/trip.ts"
import { say } from "../telemetry/say.ts"
import { anewKey } from "./beginAnew.ts"
import { leaveBehind } from "./leaveBehind.ts"

/** What is told of a chain that begins again. */
interface Begun {
  readonly chainId: string
  readonly detail: string
}

const halted = Effect.map(
  Effect.flatMap(Brake, (brake) => brake.halts),
  (all) => all.find(({ reason }) => reason === "chain_changed"),
)

/**
 * Halts where the chain begins again below a block that was known. Once people have ended the very halt that told them
 * so, while it is still so, the chain is accepted as it is now: `resume` is their word that the network was reset.
 */
export const acceptChain = Effect.fn("Poller.begun")(function* (gateway: string, begun: Begun) {
  const { chainId, detail } = begun
  const heads = yield* AcceptedHead
  const known = yield* heads.of(chainId)
  const { stray } = known
  if (stray === undefined) return
  if (stray.isTold === true && (yield* halted) === undefined) return yield* accept(begun, stray.height)
  const who = gateway === "quorum" ? "of as many gateways as must agree" : `of gateway ${gateway}`
  const remedy =
    "nothing is read there; correct the address, or wait until the right chain is back; where operators know that " +
    "the network was reset, to resume accepts the new chain, and balances begin anew as they are there"
  const words = `the chain ${who} ${detail}: ${remedy}`
  yield* trip("chain_changed", words)
  // A halt that was in force for another reason told nobody of this one: after its end this one comes.
  if (stray.isTold !== true && (yield* halted)?.detail === words)
    yield* heads.keep(chainId, { ...known, stray: { ...stray, isTold: true } })
})

/**
 * Accepts the chain as it is now. That balances begin anew is durable with it: no row of the new chain is read on top
 * of those of the chain before. So is that payments of the chain before are for people.
 */
const accept = Effect.fnUntraced(function* ({ chainId, detail }: Begun, height: bigint) {
  const settings = yield* Settings
  const heads = yield* AcceptedHead
  const now = yield* Clock.currentTimeMillis
  const words = `operators resumed: the chain ${detail}, and is accepted from block ${height} on`
  yield* (yield* Database).atomically(
    Effect.gen(function* () {
      yield* settings.set(anewKey, "pending")
      yield* (yield* Journal).append({
        kind: "config",
        subject: chainId,
        body: { detail: words, accepted: String(height) },
      })
      yield* leaveBehind(chainId, height)
      yield* heads.keep(chainId, acceptAnew(height, now))
    }),
  )
  yield* (yield* Drifts).uncheck
  yield* say("trusted", { subject: chainId, detail: words })
  // From this one on answers are judged by the new chain; where it cannot be had, from the next.
  yield* Effect.result((yield* ChainContext).head)
  const signals = yield* Signals
  for (const loop of ["balances", "submitter", "confirm", "reconcile"] as const) yield* signals.wake(loop)
})
