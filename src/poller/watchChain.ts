import { Clock, Effect, Result } from "effect"
import { paymentFacts } from "../domain/alerts/Alert.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { acceptAfterResume } from "../rules/saneHead.ts"
import { raise } from "../store/alerts/raise.ts"
import { Drifts } from "../store/balances/Drifts.ts"
import { Controls, haltSigning } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import { Journal } from "../store/journal/Journal.ts"
import { ChainState } from "../store/network/ChainState.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { anewKey } from "./bridgeGap.ts"

/**
 * Hands payments over to people that were signed on a block above the newest one of a chain which people have just
 * accepted. No block of that chain is their anchor. Nor does its coming to those heights bring one back: the proof of
 * work in their bytes is of the old block's hash, which its nodes do not have at that height, so they refuse the bytes.
 * People may resolve them as never executed, and their rules decide again (until when: submitter/endIntent.ts).
 * A payment signed on a block below waits for a proof by its window. Call it in the transaction that accepts the chain.
 */
export const leaveBehind = Effect.fn("Poller.leaveBehind")(function* (chainId: string, height: bigint) {
  const outbox = yield* Outbox
  const open = yield* outbox.open
  for (const attempt of yield* outbox.live) {
    const intent = open.find(({ id }) => id === attempt.intentId)
    if (intent === undefined || attempt.chainId !== chainId || attempt.anchorHeight <= height) continue
    const detail =
      `signed on block ${attempt.anchorHeight} of the chain before the reset, which operators said is gone: no block ` +
      "of the chain that begins again at its place can include it"
    yield* outbox.addEvidence(attempt, "left_behind", { gateway: "operators", height, detail })
    yield* outbox.move(intent, "manual", { detail })
    yield* raise("payment_left_behind", { ...paymentFacts(intent), state: "manual", k: attempt.k, why: detail })
  }
  yield* endWatches(chainId, height)
})

/** Ends the watch of confirmed payments without a known movement: the old chain will never show it. */
const endWatches = Effect.fnUntraced(function* (chainId: string, height: bigint) {
  const outbox = yield* Outbox
  for (const intent of yield* outbox.unmoved) {
    const attempt = (yield* outbox.attempts(intent.id)).find(({ state }) => state === "confirmed")
    if (attempt === undefined || attempt.chainId !== chainId || attempt.anchorHeight <= height) continue
    yield* (yield* LedgerAudit).endWatch(attempt)
    yield* raise("payment_left_paid", { ...paymentFacts(intent), state: "confirmed" })
  }
})

/** Report of a chain that begins again. */
interface Begun {
  readonly chainId: string
  readonly detail: string
}

const chainHalt = Effect.map(
  Effect.flatMap(Controls, (controls) => controls.halts),
  (all) => all.find(({ reason }) => reason === "chain_changed"),
)

/**
 * Halts if the chain begins again below a known block. Once people have ended that very halt while the condition lasts,
 * the chain is accepted as it is now: `resume` confirms that the network was reset.
 */
const acceptChain = Effect.fn("Poller.begun")(function* (gateway: string, begun: Begun) {
  const { chainId, detail } = begun
  const state = yield* ChainState
  const known = yield* state.acceptedHead(chainId)
  const { stray } = known
  if (stray === undefined) return
  if (stray.isTold === true && (yield* chainHalt) === undefined) return yield* accept(begun, stray.height)
  const who = gateway === "quorum" ? "of as many gateways as must agree" : `of gateway ${gateway}`
  const remedy =
    "nothing is read there; correct the address, or wait until the right chain is back; where operators know that " +
    "the network was reset, or never had that block, to resume accepts its chain, and balances begin again as they are " +
    "there"
  const words = `the chain ${who} ${detail}: ${remedy}`
  yield* haltSigning("chain_changed", words)
  // If a halt for another reason was in force, nobody was alerted to this one: it comes after that one ends.
  if (stray.isTold !== true && (yield* chainHalt)?.detail === words)
    yield* state.keepHead(chainId, { ...known, stray: { ...stray, isTold: true } })
})

/**
 * Accepts the chain as it is now. Durable with it: balances start again, so that no row of the new chain is added to
 * those of the old one, and payments of the old chain are left to people.
 */
const accept = Effect.fnUntraced(function* ({ chainId, detail }: Begun, height: bigint) {
  const settings = yield* Settings
  const state = yield* ChainState
  const now = yield* Clock.currentTimeMillis
  const words = `operators resumed: the chain ${detail}, and is accepted from block ${height} on`
  yield* (yield* Database).write(
    Effect.gen(function* () {
      yield* settings.set(anewKey, "pending")
      yield* (yield* Journal).append({
        kind: "config",
        subject: chainId,
        body: { detail: words, accepted: String(height) },
      })
      yield* leaveBehind(chainId, height)
      yield* state.keepHead(chainId, acceptAfterResume(height, now))
    }),
    state.forgetHead(chainId),
  )
  yield* (yield* Drifts).uncheck
  yield* logEvent("chain accepted again", { chainId, detail: words })
  // From this one on answers are judged by the new chain; where it cannot be had, from the next.
  yield* Effect.result((yield* GatewayReader).head)
  yield* (yield* Signals).wake("balances", "submitter", "confirm", "reconcile")
})

/**
 * Checks the gateways' chain. If a quorum is on another one all signing halts: a signature would mean something else
 * there, and a missing payment proves nothing. It halts as well if their chain has begun again below a known block. A
 * single gateway elsewhere is left out, which is a condition of health. Data of another chain is used nowhere, so
 * nothing has to be undone; other reasons for a missing head are reported by the caller that needs it.
 */
export const watchChain = Effect.fn("Poller.chain")(function* () {
  const head = yield* Effect.result((yield* GatewayReader).head)
  if (Result.isSuccess(head)) return
  const { gateway, reason } = head.failure
  if (reason._tag === "BegunAgain") return yield* acceptChain(gateway, reason)
  if (reason._tag !== "OtherChain") return
  const who = gateway === "quorum" ? "as many gateways as must agree are" : `gateway ${gateway} is`
  const remedy = "nothing is read there; correct the address, or wait until the right chain is back"
  yield* haltSigning("chain_changed", `${who} ${reason.detail}: ${remedy}`)
})
