import { Clock, Effect } from "effect"
import { hasElapsed } from "../domain/hasElapsed.ts"
import { parametersReadKey, parametersServedKey } from "../domain/readings.ts"
import { NetworkParameters } from "../gateway/NetworkParameters.ts"
import { Database } from "../store/Database.ts"
import { Listings } from "../store/Listings.ts"
import { Settings } from "../store/Settings.ts"

/** Governance changes parameters with days of notice. */
const parametersMillis = 60_000

/**
 * Reads the network's parameters where the gateway has them: fees and minimums are judged by them. Those of before are
 * forgotten where it has none: who told them may have been wrong.
 */
export const pollParameters = Effect.fn("AssetPoller.parameters")(function* () {
  const parameters = yield* NetworkParameters
  const listings = yield* Listings
  const settings = yield* Settings
  const database = yield* Database
  const now = yield* Clock.currentTimeMillis
  const last = Number((yield* settings.get(parametersReadKey)) ?? 0)
  if (!hasElapsed(last, now, parametersMillis)) return
  const values = yield* parameters.parameters.pipe(
    Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined),
  )
  yield* database.atomically(
    Effect.gen(function* () {
      const isTakenBack = values === undefined && (yield* listings.parameters).size > 0
      if (values !== undefined || isTakenBack) yield* listings.saveParameters(values ?? new Map())
      yield* settings.set(parametersServedKey, values === undefined ? "no" : "yes")
      // The answer that took them back may be the wrong one: the next call asks again.
      if (!isTakenBack) yield* settings.set(parametersReadKey, String(now))
    }),
  )
})

/** The same, where nobody waits for it: what cannot be read stays as it was, and says how old it is. */
export const readParameters = pollParameters().pipe(
  Effect.catchTag("GatewayError", (error) =>
    Effect.logWarning("the network's parameters could not be read", { reason: error.message }),
  ),
)
