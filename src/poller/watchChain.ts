import { Clock, Effect, Result } from "effect"
import { ChainContext } from "../gateway/ChainContext.ts"
import { Gateways } from "../gateway/Gateways.ts"
import { Health } from "../gateway/Health.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { trip } from "../store/trip.ts"
import { acceptChain } from "./acceptChain.ts"

/**
 * Asks on which chain the gateways are. Where a quorum is on another one all signing halts: a signature would mean
 * something else there, and that a payment is missing there proves nothing. It halts alike where their chain has begun
 * again below a block that was known. One of several that is elsewhere is left out, and told. What a gateway says of
 * another chain is believed nowhere, so that nothing is to be taken back; why a head cannot be had otherwise is told by
 * who needs it.
 */
export const watchChain = Effect.fn("Poller.chain")(function* () {
  const head = yield* Effect.result((yield* ChainContext).head)
  yield* tellOthers
  if (Result.isSuccess(head)) return
  const { gateway, reason } = head.failure
  if (reason._tag === "BegunAgain") return yield* acceptChain(gateway, reason)
  if (reason._tag !== "OtherChain") return
  const who = gateway === "quorum" ? "as many gateways as must agree are" : `gateway ${gateway} is`
  const remedy = "nothing is read there; correct the address, or wait until the right chain is back"
  yield* trip("chain_changed", `${who} ${reason.detail}: ${remedy}`)
})

const keyOf = (gateway: string): string => `otherChain/${gateway}`

/** Tickets about single gateways of several: begun, and over. */
const tellOthers = Effect.gen(function* () {
  if ((yield* Gateways).all.length === 1) return
  const settings = yield* Settings
  for (const { name, detail, otherChain: elsewhere = "" } of yield* (yield* Health).all) {
    if (((yield* settings.get(keyOf(name))) ?? "") === elsewhere) continue
    yield* (yield* Database).atomically(
      Effect.andThen(settings.set(keyOf(name), elsewhere), tell(name, detail, elsewhere)),
    )
    yield* (yield* Signals).wake("alerts")
  }
})

const tell = Effect.fnUntraced(function* (gateway: string, detail: string, elsewhere: string) {
  const isOver = elsewhere === ""
  yield* (yield* AlertQueue).raise({
    dedup: `chain/${gateway}/${yield* Clock.currentTimeMillis}`,
    severity: isOver ? "info" : "ticket",
    kind: "gateway",
    subject: gateway,
    detail: isOver
      ? "it is on this treasury's chain again, and counts"
      : `${detail}: its answers count for nothing until it is back; correct its address`,
    fields: { gateway, chain: elsewhere },
    ...(isOver ? { resolves: [`chain/${gateway}`] } : {}),
  })
})

/** The loop: a look at each of the usual times, and the first one at once. */
export const chainLoop = (options: { readonly pollMillis: number }) =>
  Effect.suspend(() => Effect.andThen(watchChain(), Effect.sleep(options.pollMillis))).pipe(Effect.forever)
