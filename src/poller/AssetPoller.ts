import { Clock, Effect } from "effect"
import { type Asset, statusText } from "../domain/Asset.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { NetworkParameters } from "../gateway/NetworkParameters.ts"
import { Listings } from "../store/Listings.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { Cycle } from "../telemetry/Cycle.ts"
import { say } from "../telemetry/say.ts"

/** Pages of one listing: 200 000 assets, far beyond any network; more is a gateway that never ends. */
const pagesMax = 200
const pageRows = 1_000
/** Governance changes parameters with days of notice. */
const parametersMillis = 60_000

/**
 * Reads the whole asset listing by pages, oldest id first, and stores it: each change of status is seen once. Cursors
 * of assets are exact. A listing that does not end, or comes back empty after one that was not, changes nothing.
 */
export const pollAssets = Effect.fn("AssetPoller.poll")(function* () {
  const reader = yield* GatewayReader
  const listings = yield* Listings
  const signals = yield* Signals
  const assets: Array<Asset> = []
  const cursors = new Set<string>()
  let after: string | undefined
  for (let pages = 0; ; pages++) {
    if (pages === pagesMax) return yield* Effect.logWarning("the asset listing does not end", { pages })
    const page = yield* reader.assets({
      first: pageRows,
      newestFirst: false,
      ...(after === undefined ? {} : { after }),
    })
    for (const { node } of page.rows) assets.push(node)
    if (!page.pageInfo.hasNextPage) break
    after = page.pageInfo.endCursor
    if (after === "" || cursors.has(after)) {
      return yield* Effect.logWarning("the asset listing runs in a circle", { rows: assets.length })
    }
    cursors.add(after)
  }
  if (assets.length === 0 && (yield* listings.assets).length > 0) {
    return yield* Effect.logWarning("the asset listing came back empty")
  }
  const transitions = yield* listings.replace(assets)
  for (const { symbol, from, to } of transitions) {
    const before = from === undefined ? "" : `${statusText(from)} -> `
    yield* say("asset", { subject: symbol, detail: `${before}${statusText(to)}`, status: to })
  }
  yield* signals.wake("engine")
})

/** Reads the network's parameters where the gateway has them: fees and minimums are judged by them. */
const pollParameters = Effect.fn("AssetPoller.parameters")(function* () {
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

export const assetLoop = (options: { readonly pollMillis: number }) =>
  Effect.gen(function* () {
    const cycle = yield* Cycle
    yield* cycle
      .counted("assets", Effect.andThen(pollAssets(), pollParameters()))
      .pipe(
        Effect.catchTag("GatewayError", (error) =>
          Effect.logWarning("assets could not be read", { reason: error.message }),
        ),
      )
    yield* Effect.sleep(options.pollMillis)
  }).pipe(Effect.forever)
