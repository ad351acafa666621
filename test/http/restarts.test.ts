import { cpSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Layer, Logger } from "effect"
import { prepare } from "../../src/daemon.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { daemonLayer, realMachine } from "../../src/layers.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { flow } from "../support/Flow.ts"
import { layerHttpHere } from "../support/InProcess.ts"
import { it } from "../support/it.ts"
import { folder } from "../support/Lives.ts"

const allClears = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(50)),
  (due) => due.filter(({ dedup }) => dedup.endsWith("/over")).map(({ dedup }) => dedup.split("/")[1]),
)

describe("a process that starts while its gateway is down", () => {
  it.effect("gives no all-clear before it has heard the gateway", () =>
    flow(function* (outer) {
      const dataDir = folder()
      cpSync(join(outer.dataDir, "sandbox"), join(dataDir, "sandbox"), { recursive: true })
      const options = { ...outer, dataDir }
      yield* Effect.gen(function* () {
        yield* prepare(options)
        const noted = { since: yield* Clock.currentTimeMillis, detail: "bad", isTold: true }
        yield* (yield* Settings).set("health/gateway_down", JSON.stringify(noted))
        yield* watchHealth()
        assert.deepStrictEqual(yield* allClears, [])
        yield* pollBalances(options.treasury)
        yield* watchHealth()
        assert.deepStrictEqual(yield* allClears, ["gateway_down"])
      }).pipe(
        Effect.provide(
          daemonLayer(options, { ...realMachine(options), http: layerHttpHere }).pipe(
            Layer.provideMerge(Logger.layer([])),
          ),
          { local: true },
        ),
      )
      rmSync(dataDir, { recursive: true, force: true })
    }),
  )
})
