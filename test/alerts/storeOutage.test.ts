import { mkdtempSync, renameSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { endEarlierOutage, outlastOutages } from "../../src/cli/run/storeOutage.ts"
import { realMachine } from "../../src/layers.ts"
import { NotifyError } from "../../src/notify/Channel.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { layerHttpHere } from "../support/InProcess.ts"
import { tempDir } from "../support/tempDir.ts"
import { treasuryFrom } from "../support/treasury.ts"
import { turn, waitUntil } from "../support/until.ts"

const dir = tempDir("outage")
const errorOf = (message: string, errcode: number) =>
  new StoreError({ operation: "a test", cause: Object.assign(new Error(message), { errcode }) })
const full = errorOf("full", 13)

/**
 * A process whose store is full in each life that does not go on, what it sends to two receivers, and a receiver that
 * refuses ends.
 */
const outage = Effect.fnUntraced(function* (error = full) {
  const sent: Array<string> = []
  const details: Array<string> = []
  const refusing = { ends: false, partly: false }
  const notifier = Notifier.of({
    receivers: ["chat", "oncall"],
    send: (receiver, { key, resolves, detail }) =>
      Effect.suspend(() => {
        if (resolves !== undefined && refusing.ends) return Effect.fail(new NotifyError({ receiver, detail: "503" }))
        details.push(detail)
        sent.push(resolves === undefined ? `${receiver} ${key}` : `${receiver} ends ${resolves.map((one) => one.key)}`)
        return refusing.partly ? Effect.succeed("550") : Effect.void
      }),
  })
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
  const options = { treasury, mode: "observe", dataDir: mkdtempSync(join(dir, "data-")) } as const
  const machine = { ...realMachine(options), http: layerHttpHere, notifier: Layer.succeed(Notifier, notifier) }
  const surface = { serve: () => Effect.succeed({ url: "", announce: Effect.void }) }
  const run = (goesOn: () => boolean, lifeMillis = 0) =>
    outlastOutages(options, { surface, machineOf: () => machine }, () =>
      Effect.suspend(() => (goesOn() ? Effect.never : Effect.delay(Effect.fail(error), lifeMillis))),
    ).pipe(Effect.scoped, Effect.provide(machine.metrics), Effect.forkChild)
  return { sent, details, refusing, options, run, notifier: Layer.succeed(Notifier, notifier) }
})
const second = Effect.andThen(TestClock.adjust("1 second"), turn)

describe("the page of a store without writes", () => {
  it.effect("asks for space where the disk is full, and for a backup where the file is damaged", () =>
    Effect.gen(function* () {
      for (const [error, asked, not] of [
        [full, "free space", "backup"],
        [errorOf("database disk image is malformed", 11), "restore a backup", "free space"],
      ] as const) {
        const { details, run } = yield* outage(error)
        const process = yield* run(() => false)
        yield* waitUntil("the page", () => details.length === 2)
        yield* Fiber.interrupt(process)
        assert.include(details[0], asked)
        assert.notInclude(details[0], not)
      }
    }).pipe(Effect.provide(Logger.layer([]))),
  )

  it.effect("is ended by the next process where its own was killed, at receivers that show it until then", () =>
    Effect.gen(function* () {
      const { sent, options, run, notifier } = yield* outage()
      const process = yield* run(() => false)
      yield* waitUntil("the page", () => sent.length === 2)
      yield* Fiber.interrupt(process)
      yield* Effect.provide(endEarlierOutage(options), notifier)
      assert.sameMembers(sent, ["chat t/unwritable", "oncall t/unwritable", "oncall ends t/unwritable"])
    }).pipe(Effect.provide(Logger.layer([]))),
  )

  it.effect("is ended at receivers that were down for two hours after it", () =>
    Effect.gen(function* () {
      const { sent, refusing, run } = yield* outage()
      refusing.ends = true
      let lives = 0
      const process = yield* run(() => ++lives > 1)
      yield* waitUntil("the second life", () => lives === 2, second)
      for (let n = 0; n < 240; n++) yield* TestClock.adjust("30 seconds")
      assert.lengthOf(sent, 2)
      refusing.ends = false
      for (let n = 0; n < 10; n++) yield* TestClock.adjust("30 seconds")
      assert.sameMembers(sent.slice(2), ["chat ends t/unwritable", "oncall ends t/unwritable"])
      yield* Fiber.interrupt(process)
    }).pipe(Effect.provide(Logger.layer([]))),
  )

  it.effect("goes once, and its end once, to a receiver of which one address refuses it", () =>
    Effect.gen(function* () {
      const { sent, refusing, run } = yield* outage()
      refusing.partly = true
      let lives = 0
      const process = yield* run(() => ++lives > 1)
      yield* waitUntil("the second life", () => lives === 2, second)
      for (let n = 0; n < 10; n++) yield* TestClock.adjust("30 seconds")
      const names = ["chat t", "oncall t", "chat ends t", "oncall ends t"]
      assert.sameMembers(
        sent,
        names.map((name) => `${name}/unwritable`),
      )
      yield* Fiber.interrupt(process)
    }).pipe(Effect.provide(Logger.layer([]))),
  )

  it.effect("has no end while the store is full again within a minute", () =>
    Effect.gen(function* () {
      const { sent, run } = yield* outage()
      let lives = 0
      const process = yield* run(() => ++lives > 20, 2_000)
      yield* waitUntil("twenty lives", () => lives > 20, second)
      assert.sameMembers(sent, ["chat t/unwritable", "oncall t/unwritable"])
      yield* TestClock.adjust("2 minutes")
      assert.sameMembers(sent.slice(2), ["chat ends t/unwritable", "oncall ends t/unwritable"])
      yield* Fiber.interrupt(process)
    }).pipe(Effect.provide(Logger.layer([]))),
  )

  it.effect("comes again where a further outage lasts for a minute, which no late end of the first one ends", () =>
    Effect.gen(function* () {
      const { sent, refusing, options, run } = yield* outage()
      refusing.ends = true
      const away = `${options.dataDir}-away`
      let lives = 0
      const process = yield* run(() => {
        lives += 1
        // From its second life on the store is gone.
        if (lives > 1) renameSync(options.dataDir, away)
        return false
      })
      yield* waitUntil("the second life", () => lives === 2, second)
      assert.lengthOf(sent, 2)
      refusing.ends = false
      const began = yield* Clock.currentTimeMillis
      yield* waitUntil("another page", () => sent.length > 2, second)
      assert.isAtMost((yield* Clock.currentTimeMillis) - began, 62_000)
      assert.notInclude(sent.join(), "ends")
      yield* Fiber.interrupt(process)
    }).pipe(Effect.provide(Logger.layer([]))),
  )
})
