import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { emptyDir } from "../support/emptyDir.ts"
import { bookFile } from "./Book.ts"
import { installCrashPoints } from "./CrashPoints.ts"
import { codeRule, inCode } from "./inCode.ts"
import { sister } from "./Plan.ts"
import { oneGateway, threeGateways, treasuryIn } from "./Replica.ts"
import type { Bench, Place } from "./runSeed.ts"

/** Treasuries that are kept read: runs begin with many, and go on with few. */
const keptTreasuries = 50

/** Prepares a worker: call once in a thread of its own, since it puts crash points under every database of it. */
export const makeBench = async (): Promise<Bench & { readonly close: () => void }> => {
  installCrashPoints()
  const dir = emptyDir("cofferer-simulation-")
  const metrics = await Effect.runPromise(
    Effect.scoped(
      Layer.build(
        Metrics.layer({
          treasury: "simulation",
          mode: "live",
          gateways: ["only", "a", "b", "c"],
          rules: ["keep", codeRule],
          receivers: [],
          version: "0",
          revision: "",
        }),
      ),
    ),
  )
  return {
    ...(await placeIn(join(dir, "keys-of-all"))),
    sister: await placeIn(join(dir, "keys-of-sister"), sister),
    metrics,
    dir,
    close: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** The files of one treasury, in a folder with its keys. */
const placeIn = async (place: string, who = ""): Promise<Place> => {
  const treasuryOf = (network: string) => Effect.runPromise(treasuryIn(place, network, who))
  const treasury = await treasuryOf(oneGateway)
  const amongThree = await treasuryOf(threeGateways)
  const file = bookFile(place)
  const known = new Map<string, Place["treasury"]>()
  const write: Place["write"] = (text) => {
    writeFileSync(file, text)
    return file
  }
  const read: Place["read"] = (isCoded) => {
    const name = `${isCoded} ${readFileSync(file, "utf8")}`
    const before = known.get(name)
    if (before !== undefined) return before
    // Files without code are read at once.
    const loaded = Effect.runSync(Effect.result(loadTreasury(file)))
    if (loaded._tag === "Failure") throw new Error(loaded.failure.message)
    const treasury = isCoded ? inCode(loaded.success) : loaded.success
    if (known.size >= keptTreasuries) known.clear()
    known.set(name, treasury)
    return treasury
  }
  return {
    treasury,
    amongThree,
    inCode: { treasury: inCode(treasury), amongThree: inCode(amongThree) },
    read,
    write,
  }
}
