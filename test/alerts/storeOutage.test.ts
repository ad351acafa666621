import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { endEarlierOutage, outlastOutages } from "../../src/cli/run/storeOutage.ts"
import { realMachine } from "../../src/layers.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { layerHttpHere } from "../support/InProcess.ts"
import { tempDir } from "../support/tempDir.ts"
import { treasuryFrom } from "../support/treasury.ts"
import { waitUntil } from "../support/until.ts"

const dir = tempDir("outage")

describe("the page of a store without writes", () => {
  it.live("is ended by the next process where its own was killed, at receivers that show it until then", () => {
    const firing = new Set<string>()
    const ends: Array<string> = []
    const notifier = Layer.succeed(
      Notifier,
      Notifier.of({
        receivers: ["chat", "oncall"],
        send: (receiver, { key, resolves }) =>
          Effect.sync(() => {
            if (resolves === undefined) firing.add(`${receiver} ${key}`)
            else ends.push(...resolves.map((one) => `${receiver} ${one.key}`))
          }),
      }),
    )
    return Effect.gen(function* () {
      const treasury = yield* treasuryFrom({
        name: "t",
        mode: "observe",
        network: { chainId: "c", gateways: { main: "http://127.0.0.1:1" } },
        alerts: {
          receivers: {
            chat: { webhook: { url: "http://127.0.0.1:1" } },
            oncall: { alertmanager: { url: "http://127.0.0.1:1" } },
          },
          routes: [{ severity: ["page", "ticket", "info"], to: ["chat", "oncall"] }],
        },
      })
      const options = { treasury, mode: "observe", dataDir: dir } as const
      const machine = { ...realMachine(options), http: layerHttpHere, notifier }
      const surface = { serve: () => Effect.succeed({ url: "", announce: Effect.void }) }
      const full = new StoreError({ operation: "a test", cause: Object.assign(new Error("full"), { errcode: 13 }) })
      const process = yield* outlastOutages(options, { surface, machineOf: () => machine }, () =>
        Effect.fail(full),
      ).pipe(Effect.scoped, Effect.provide(machine.metrics), Effect.forkChild)
      yield* waitUntil("the page", () => firing.size === 2)
      yield* Fiber.interrupt(process)
      assert.isEmpty(ends)
      yield* endEarlierOutage(options)
      assert.deepStrictEqual(
        ends,
        [...firing].filter((one) => one.startsWith("oncall ")),
      )
    }).pipe(Effect.provide([notifier, Logger.layer([])]))
  })
})
