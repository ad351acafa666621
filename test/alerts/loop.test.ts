import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { alertLoop, deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Signals } from "../../src/store/database/Signals.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { it } from "../support/it.ts"
import { noReminders } from "../support/noReminders.ts"
import { testStore } from "../support/TestStore.ts"
import { soon } from "../support/until.ts"

type Severity = "page" | "ticket" | "info"

/** A log whose lines can be read: level, subject and id of each alert. */
const memoryLog = (event = "alert raised") => {
  const lines: Array<{ readonly level: string; readonly subject: string; readonly id: string }> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    const [word, fields] = message as readonly [string, { readonly subject: string; readonly id: string }]
    if (word === event) lines.push({ level: logLevel, subject: fields.subject, id: fields.id })
  })
  return { lines, layer: Logger.layer([logger]) }
}

const layers = (desk: string, log: Layer.Layer<never>) => {
  const store = testStore()
  const names = { gateways: [], rules: [], receivers: ["desk", "log"], version: "", revision: "" }
  return Metrics.layer({ treasury: "t", mode: "live", ...names }).pipe(
    Layer.provideMerge(store.layer()),
    Layer.provideMerge(
      Notifier.layerReceivers([
        { name: "desk", webhook: { url: Redacted.make(desk) } },
        { name: "log", log: {} },
      ]),
    ),
    Layer.provideMerge(log),
    Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove)))),
  )
}

const raise = Effect.fnUntraced(function* (severity: Severity, subject: string) {
  yield* (yield* AlertQueue).raise({ dedup: subject, severity, kind: "intent", subject, detail: "stuck", fields: {} })
  yield* (yield* Signals).wake("alerts")
})

/** A receiver that accepts every connection and never answers. */
const hanging = Effect.acquireRelease(
  Effect.gen(function* () {
    const server = createServer(() => {}).listen(0, "127.0.0.1")
    yield* soon(
      "the server",
      Effect.promise(() => once(server, "listening")),
    )
    return server
  }),
  (server) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    }),
)

describe("the loop of alerts", () => {
  it.effect("delivers each of fifty pages within 2 s beside a receiver that hangs", function* () {
    const server = yield* hanging
    const log = memoryLog()
    yield* Effect.gen(function* () {
      yield* Effect.forkScoped(alertLoop("t", noReminders))
      for (let n = 0; n < 50; n++) {
        yield* raise("page", `page ${n}`)
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(log.lines.at(-1)?.subject, `page ${n}`)
      }
      const [waiting] = yield* (yield* AlertQueue).pending
      assert.deepInclude(waiting, { receiver: "desk", n: 50 }, "they are kept for who hangs")
    }).pipe(Effect.provide(layers(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, log.layer)))
  })

  it.effect("delivers pages before older tickets, each logged by its severity", function* () {
    const log = memoryLog()
    yield* Effect.gen(function* () {
      for (const severity of ["info", "ticket", "page"] as const) yield* raise(severity, severity)
      yield* deliverOnce("t", noReminders)
      assert.deepStrictEqual(
        log.lines.map(({ level, subject }) => [level, subject]),
        [
          ["Error", "page"],
          ["Info", "info"],
          ["Warn", "ticket"],
        ],
      )
    }).pipe(Effect.provide(layers("http://127.0.0.1:1", log.layer)))
  })

  it.effect("logs the end of an alert as an event of its own", function* () {
    const log = memoryLog("alert resolved")
    yield* Effect.gen(function* () {
      yield* raise("page", "stuck")
      yield* deliverOnce("t", noReminders)
      assert.lengthOf(log.lines, 0)
      const over = { dedup: "stuck/over", severity: "info", kind: "intent", subject: "stuck", detail: "over" } as const
      yield* (yield* AlertQueue).allClear({ ...over, fields: {}, resolves: ["stuck"] })
      yield* deliverOnce("t", noReminders)
      assert.deepStrictEqual(
        log.lines.map(({ level, subject }) => [level, subject]),
        [["Info", "stuck"]],
      )
    }).pipe(Effect.provide(layers("http://127.0.0.1:1", log.layer)))
  })

  it.effect("gives no alert an id that a lost or restored store gave", function* () {
    const log = memoryLog()
    for (let life = 0; life < 20; life++) {
      // Every other life is the same installation, put back to before its first alert.
      const installation = `0000000${Math.floor(life / 2)}`
      yield* Effect.gen(function* () {
        yield* (yield* Settings).set("installation", installation)
        yield* raise("page", "stuck")
        yield* deliverOnce("t", noReminders)
      }).pipe(Effect.provide(layers("http://127.0.0.1:1", log.layer), { local: true }))
      yield* TestClock.adjust("1 second")
    }
    assert.strictEqual(new Set(log.lines.map(({ id }) => id)).size, 20)
  })
})
