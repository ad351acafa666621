import { Clock, Effect } from "effect"
import { NetworkParameters } from "../gateway/NetworkParameters.ts"
import { Listings } from "../store/Listings.ts"
import { Settings } from "../store/Settings.ts"

/** Governance changes parameters with days of notice. */
const parametersMillis = 60_000

/** Reads the network's parameters where the gateway has them: fees and minimums are judged by them. */
export const pollParameters = Effect.fn("AssetPoller.parameters")(function* () {
  const parameters = yield* NetworkParameters
  const listings = yield* Listings
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const last = Number((yield* settings.get("parametersReadAt")) ?? 0)
  if (now - last < parametersMillis) return
  const values = yield* parameters.parameters.pipe(
    Effect.catchReason("GatewayError", "Unsupported", () => Effect.succeed(new Map<string, string>())),
  )
  yield* listings.saveParameters(values)
  yield* settings.set("parametersReadAt", String(now))
})
