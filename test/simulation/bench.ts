import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { installCrashPoints } from "./CrashPoints.ts"
import { codeRule, inCode } from "./inCode.ts"
import { cancelRule, orderTexts } from "./Orders.ts"
import { oneGateway, threeGateways, treasuryIn } from "./Replica.ts"
import type { Bench } from "./runSeed.ts"

const memory = "/dev/shm"

/** A new folder in memory, where there is such: a crash loses what is not committed as on a disk, which is slower. */
export const emptyDir = (prefix: string): string => mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), prefix))

/** Prepares a worker: call once in a thread of its own, since it puts crash points under every database of it. */
export const makeBench = async (): Promise<Bench & { readonly close: () => void }> => {
  installCrashPoints()
  const dir = emptyDir("cofferer-simulation-")
  const treasuryOf = (network: string, orders?: typeof orderTexts) =>
    Effect.runPromise(treasuryIn(join(dir, "keys-of-all"), network, orders))
  const treasury = await treasuryOf(oneGateway)
  const amongThree = await treasuryOf(threeGateways)
  const ending = {
    treasury: await treasuryOf(oneGateway, orderTexts),
    amongThree: await treasuryOf(threeGateways, orderTexts),
  }
  const metrics = await Effect.runPromise(
    Effect.scoped(
      Layer.build(
        Metrics.layer({
          treasury: "simulation",
          mode: "live",
          gateways: ["only", "a", "b", "c"],
          rules: ["keep", codeRule, cancelRule],
          receivers: [],
          version: "0",
          revision: "",
        }),
      ),
    ),
  )
  const both = (one: typeof ending) => ({ treasury: inCode(one.treasury), amongThree: inCode(one.amongThree) })
  const coded = { ...both({ treasury, amongThree }), ending: both(ending) }
  return {
    treasury,
    amongThree,
    ending,
    inCode: coded,
    metrics,
    dir,
    close: () => rmSync(dir, { recursive: true, force: true }),
  }
}
