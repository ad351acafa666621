import { Effect } from "effect"
import { ChainRules } from "../store/ChainRules.ts"
import { Database } from "../store/Database.ts"
import { Journal } from "../store/Journal.ts"
import { Observations } from "../store/Observations.ts"
import { Signals } from "../store/Signals.ts"
import { say } from "../telemetry/say.ts"
import { VerbRefused } from "./endIntent.ts"
import type { Agree, TrustedByPeople } from "./trustHead.ts"

/**
 * Takes the terms of work that are told now as in force, on people's word. Refused where nothing waits, and for terms
 * out of bounds.
 */
export const trustWork = Effect.fn("People.trustWork")(function* <E, R>(
  asked: Pick<TrustedByPeople, "treasury" | "author" | "reason">,
  agree: Agree<E, R>,
) {
  const trusted = yield* (yield* Database).atomically(trust(asked, agree))
  yield* (yield* Signals).wake("submitter")
  return { trusted }
})

const trust = Effect.fnUntraced(function* <E, R>(
  { treasury, author, reason }: Pick<TrustedByPeople, "treasury" | "author" | "reason">,
  agree: Agree<E, R>,
) {
  const height = (yield* (yield* Observations).watermark)?.height ?? 0n
  const done = yield* (yield* ChainRules).trust(height)
  if (done === undefined) return yield* refused("the work for transactions is believed", "nothing is left to do")
  if ("refused" in done) return yield* refused(done.refused, done.remedy)
  // Whoever has not agreed yet takes all of this back.
  yield* agree(`the work for transactions since block ${done.since}: ${done.trusted}`)
  const detail = `${author} trusts the work for transactions, ${done.trusted}: ${reason}`
  const body = { detail, trusted: done.trusted, reason, author }
  yield* (yield* Journal).append({ kind: "config", subject: treasury, body })
  yield* say("trusted", { subject: treasury, detail })
  return done.trusted
})

const refused = (message: string, remedy: string) => new VerbRefused({ message, remedy, isBusy: false })
