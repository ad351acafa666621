import { rmSync } from "node:fs"
import { join } from "node:path"
import { type Context, Effect, Layer } from "effect"
import type { DaemonOptions } from "../../src/layers.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { installCrashPoints } from "../simulation/CrashPoints.ts"
import { oneGateway, threeGateways } from "../simulation/Replica.ts"
import { emptyDir } from "../support/emptyDir.ts"
import type { Setting } from "./LieCase.ts"
import { lieTreasury } from "./LieTreasury.ts"

/** What a thread prepares once for all of its cases. */
export interface LieBench {
  readonly treasuries: Readonly<Record<Setting, DaemonOptions["treasury"]>>
  readonly metrics: Context.Context<Metrics>
  /** Holds the store of one case after the other. */
  readonly dir: string
  readonly close: () => void
}

/** Call once in a thread, since it puts crash points under every database of it. */
export const makeLieBench = async (): Promise<LieBench> => {
  installCrashPoints()
  const dir = emptyDir("cofferer-lies-")
  const treasuryOf = (gateways: string) => Effect.runPromise(lieTreasury(join(dir, "keys-of-all"), gateways))
  const treasuries = { alone: await treasuryOf(oneGateway), "one of three": await treasuryOf(threeGateways) }
  const metrics = await Effect.runPromise(
    Effect.scoped(
      Layer.build(
        Metrics.layer({
          treasury: "simulation",
          mode: "live",
          gateways: ["only", "a", "b", "c"],
          rules: ["keep"],
          receivers: [],
          version: "0",
          revision: "",
        }),
      ),
    ),
  )
  return { treasuries, metrics, dir, close: () => rmSync(dir, { recursive: true, force: true }) }
}
