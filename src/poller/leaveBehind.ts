import { Effect } from "effect"
import { shortId } from "../domain/Hex.ts"
import { sumText } from "../domain/sumText.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Findings } from "../store/Findings.ts"
import { Outbox } from "../store/Outbox.ts"
import { Signals } from "../store/Signals.ts"

/**
 * Hands payments over to people that were signed on a block above the newest one of a chain which people have just
 * accepted. No block of that chain is their anchor. Nor does its coming to those heights bring one back: the proof of
 * work in their bytes is of the old block's hash, which its nodes do not have at that height, so they refuse the bytes.
 * So people may resolve them as never executed, and their rules decide anew (submitter/verbs.ts says until when). One
 * that is signed on a block below waits as ever, for a proof by its window. Call it in the transaction that accepts the
 * chain.
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
    const { payment, rule, decimals } = intent
    yield* (yield* AlertQueue).raise({
      dedup: `manual/${intent.id}/left-behind/${attempt.k}`,
      severity: "page",
      kind: "intent",
      subject: shortId(intent.id).slice(0, 4),
      detail:
        `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to} is manual: ${detail}; the money ` +
        'stays reserved until a person resolves it: "intents resolve" with --never-executed, after which its rule ' +
        "decides anew",
      fields: { intent: intent.id, state: "manual" },
    })
    yield* (yield* Signals).wake("alerts")
  }
  yield* letGo(chainId, height)
})

/** The chain before will not show their movements, and the window of the new one ends nothing before it comes there. */
const letGo = Effect.fnUntraced(function* (chainId: string, height: bigint) {
  const outbox = yield* Outbox
  for (const { id, payment, rule, decimals } of yield* outbox.unmoved) {
    const attempt = (yield* outbox.attempts(id)).find(({ state }) => state === "confirmed")
    if (attempt === undefined || attempt.chainId !== chainId || attempt.anchorHeight <= height) continue
    yield* (yield* Findings).endWatch(attempt)
    yield* (yield* AlertQueue).raise({
      dedup: `left-behind/${id}`,
      severity: "ticket",
      kind: "intent",
      subject: shortId(id).slice(0, 4),
      detail:
        `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to} is recorded as paid on the chain ` +
        "before the reset, and its movement was not seen there; where it is still owed and its rule does not decide " +
        'it anew, hand it in with "cofferer submit"',
      fields: { intent: id, state: "confirmed" },
    })
    yield* (yield* Signals).wake("alerts")
  }
})
