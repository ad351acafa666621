import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { installCrashPoints } from "./CrashPoints.ts"
import { treasuryIn } from "./Replica.ts"
import type { Bench } from "./runSeed.ts"

const memory = "/dev/shm"

/** Prepares a worker: call once in a thread of its own, since it puts crash points under every database of it. */
export const makeBench = async (): Promise<Bench & { readonly close: () => void }> => {
  installCrashPoints()
  // A crash loses what is not committed, in memory as on a disk: a disk would only be slower.
  const dir = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), "cofferer-simulation-"))
  const treasury = await Effect.runPromise(treasuryIn(join(dir, "keys-of-all")))
  const metrics = await Effect.runPromise(
    Effect.scoped(
      Layer.build(
        Metrics.layer({
          treasury: "simulation",
          mode: "live",
          gateways: ["only"],
          rules: ["keep"],
          receivers: [],
          version: "0",
          revision: "",
        }),
      ),
    ),
  )
  return { treasury, metrics, dir, close: () => rmSync(dir, { recursive: true, force: true }) }
}
