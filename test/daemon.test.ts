import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { treasuryOf } from "../src/config/Treasury.ts"
import { drain, prepare } from "../src/daemon.ts"
import { AlertQueue } from "../src/store/alerts/AlertQueue.ts"
import { Controls } from "../src/store/controls/Controls.ts"
import { Settings } from "../src/store/database/Settings.ts"
import { Journal } from "../src/store/journal/Journal.ts"
import { Outbox } from "../src/store/payments/Outbox.ts"
import { InFlight } from "../src/submitter/InFlight.ts"
import { submitOnce } from "../src/submitter/Submitter.ts"
import { flow, paid, round, states } from "./support/Flow.ts"
import { deskFields } from "./support/Operators.ts"
import { at, request } from "./support/TestClient.ts"
import { chainId } from "./support/TestSandbox.ts"
import { waitUntil } from "./support/until.ts"

const halts = Effect.map(
  Effect.flatMap(Controls, (controls) => controls.halts),
  (all) => all.map((h) => `${h.reason}: ${h.detail}`),
)
const proposed = new Set(["submit", "confirm"])
const sends = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return (yield* outbox.sends(intent?.id ?? "")).map((s) => s.outcome)
})

describe("the daemon at its start", () => {
  it.effect("refuses a database of a treasury with another name, whose payments it would not know", () =>
    flow(function* (options) {
      const { document } = options.treasury
      const value = { ...(document.value as object), name: "other" }
      const treasury = yield* treasuryOf({ ...document, value })
      const refused = yield* Effect.flip(prepare({ ...options, treasury }))
      assert.match(refused.message, /database is of the treasury "flow".*write "name: flow"/s)
      yield* prepare(options)
    }),
  )

  it.effect("keeps the name of its installation, and notes each start", () =>
    flow(function* (options) {
      const settings = yield* Settings
      const journal = yield* Journal
      const name = yield* settings.get("installation")
      assert.match(name ?? "", /^[0-9a-f]{8}$/)
      const before = (yield* journal.head).seq
      yield* prepare(options)
      assert.strictEqual(yield* settings.get("installation"), name)
      assert.strictEqual((yield* journal.head).seq, before + 1)
    }),
  )

  it.effect("halts while a HALT file exists, and ends that halt alone", () =>
    flow(function* (options) {
      const file = join(options.dataDir, "HALT")
      writeFileSync(file, "ana: audit\n")
      yield* prepare(options)
      yield* prepare(options)
      assert.deepStrictEqual(yield* halts, ["halt_file: ana: audit"])
      yield* (yield* Controls).halt("chain_changed", "elsewhere")
      rmSync(file)
      yield* prepare(options)
      assert.deepStrictEqual(yield* halts, ["chain_changed: elsewhere"])
    }),
  )

  it.effect("pages people once for a HALT file, however often it is seen", () =>
    flow(function* (options) {
      writeFileSync(join(options.dataDir, "HALT"), "ana: audit\n")
      for (let i = 0; i < 3; i++) yield* prepare(options)
      const due = (yield* (yield* AlertQueue).due(10)).filter(({ kind }) => kind === "halt")
      assert.deepStrictEqual(
        due.map(({ severity, subject }) => [severity, subject]),
        [["page", "halt_file"]],
      )
      assert.include(due[0]?.detail ?? "", "ana: audit")
      assert.include(due[0]?.detail ?? "", "cofferer resume")
    }),
  )

  it.effect("halts ten times for a HALT file whose text changes, and no more often", () =>
    flow(function* (options) {
      for (let i = 1; i <= 12; i++) {
        writeFileSync(join(options.dataDir, "HALT"), `the probe failed ${i} times\n`)
        yield* prepare(options)
      }
      assert.lengthOf(yield* halts, 10)
      const due = (yield* (yield* AlertQueue).due(100)).filter(({ kind }) => kind === "halt")
      assert.lengthOf(due, 10)
    }),
  )

  it.effect("keeps a halt that operators must end when its HALT file goes", () =>
    flow(
      function* (options) {
        const file = join(options.dataDir, "HALT")
        writeFileSync(file, "ana: audit\n")
        yield* prepare(options)
        rmSync(file)
        yield* prepare(options)
        assert.deepStrictEqual(yield* halts, ["halt_file: ana: audit"])
      },
      { more: deskFields() },
    ),
  )
})

describe("the daemon at its end", () => {
  it.effect("begins no send any more", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      yield* drain(1_000)
      yield* submitOnce()
      assert.deepStrictEqual(yield* states, ["proposed"])
      assert.deepStrictEqual(yield* sends, [])
      assert.deepStrictEqual(yield* paid(sandbox), [])
    }),
  )

  it.effect("waits for an answer that is awaited, but not for ever", () =>
    flow(function* (options, sandbox, client) {
      yield* (yield* Settings).rememberFraming(chainId, "bare")
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, proposed)
      const fault = { operation: "submit", kind: "accept_drop_answer", count: 1 }
      yield* request(client, "/sandbox/faults", { body: JSON.stringify(fault) })
      const sending = yield* Effect.forkChild(submitOnce())
      const mempool = Effect.map(request(client, "/sandbox/ledger"), (reply) => at(reply, "mempool.0"))
      yield* waitUntil(
        "a transaction in the mempool",
        Effect.map(mempool, (first) => first !== undefined),
      )
      const draining = yield* InFlight
      assert.strictEqual(yield* draining.sending, 1)
      const patient = yield* Effect.forkChild(drain(3_600_000))
      const hasty = yield* Effect.forkChild(drain(500))
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(hasty)
      assert.strictEqual(yield* draining.sending, 1, "it gave up waiting, the answer is still awaited")
      yield* TestClock.adjust(options.treasury.network.requestDeadlineMillis)
      yield* Fiber.join(sending)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(patient)
      assert.deepStrictEqual(yield* sends, ["ambiguous"])
    }),
  )
})
