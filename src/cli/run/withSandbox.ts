import { join } from "node:path"
import { Effect } from "effect"
import { Sandbox } from "../../sandbox/Sandbox.ts"
import { decodeScenario } from "../../sandbox/Scenario.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { sandboxDir } from "../common/sandboxClient.ts"
import type { Setup } from "../common/setup.ts"

/** Runs `use` beside the embedded network, once that listens on its port or, if it is taken, on a free one. */
export const withSandbox = Effect.fnUntraced(function* <A, E, R>(
  { treasury, dataDir }: Setup,
  use: (sandbox: Sandbox["Service"]) => Effect.Effect<A, E, R>,
) {
  const scenario = yield* decodeScenario(treasury.document, treasury.network.chainId)
  const layer = Sandbox.layer({ scenario, dir: join(dataDir, sandboxDir), portBusy: "free", clock: "real" })
  yield* Effect.gen(function* () {
    const sandbox = yield* Sandbox
    const { port } = scenario.listen
    if (port !== 0 && sandbox.port !== port) {
      const elsewhere = `port ${port} is taken: the network is at ${sandbox.url} for as long as it runs`
      yield* logEvent("sandbox port taken", { reason: `${elsewhere}, and other programs do not find it there` })
    }
    yield* Effect.raceFirst(use(sandbox), sandbox.join)
  }).pipe(Effect.provide(layer))
})
