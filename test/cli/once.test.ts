import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { runOnce } from "../../src/cli/run/once.ts"
import { byOneConfig, ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { writeHaltFile } from "../../src/config/files.ts"
import { listAlerts, showAlert } from "../../src/store/alerts/alertRecords.ts"
import { Controls, haltSigning } from "../../src/store/controls/Controls.ts"
import { flow, paid, round, states } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { turn, waitUntil } from "../support/until.ts"

const everything = new Set(["poll", "compare", "reconcile", "decide", "submit", "confirm"])

it.effect("one cycle pays by what is in force, which may have more receivers than the file", () =>
  flow(function* (options, sandbox) {
    const { now, replace } = yield* ConfigInForce
    // As a start does whose file no longer pages somebody.
    yield* replace({ ...now(), treasury: { ...now().treasury } }, Effect.void)
    for (let i = 0; i < 2; i++) yield* byOneConfig(round(options, sandbox, new Set(["submit"])))
    assert.deepStrictEqual(yield* states, ["proposed"])
    const cycle = yield* Effect.forkChild(runOnce(options))
    const ended = Effect.sync(() => cycle.pollUnsafe() !== undefined)
    yield* waitUntil("the end", ended, round(options, sandbox, everything))
    assert.deepStrictEqual(yield* states, ["confirmed"])
    yield* Fiber.join(cycle)
    assert.lengthOf(yield* paid(sandbox), 1)
  }),
)

it.effect("one cycle signs nothing any more once a HALT file comes, and ends", () =>
  flow(function* (options, sandbox) {
    for (let i = 0; i < 2; i++) yield* byOneConfig(round(options, sandbox, new Set(["submit"])))
    assert.deepStrictEqual(yield* states, ["proposed"])
    const cycle = yield* Effect.forkChild(runOnce(options))
    // As "cofferer halt" does, which finds no daemon and the store in use.
    yield* writeHaltFile(options.dataDir, "ana: stop")
    const ended = Effect.sync(() => cycle.pollUnsafe() !== undefined)
    yield* waitUntil("the end", ended, round(options, sandbox, everything))
    yield* Fiber.join(cycle)
    assert.lengthOf(yield* paid(sandbox), 0)
    const [halt] = yield* (yield* Controls).halts
    assert.containSubset(halt, { reason: "halt_file", detail: "ana: stop" })
  }),
)

it.effect("one cycle halts at SIGUSR2, as a daemon does", () =>
  flow(function* (options, sandbox) {
    for (let i = 0; i < 2; i++) yield* byOneConfig(round(options, sandbox, new Set(["submit"])))
    const before = process.listenerCount("SIGUSR2")
    const cycle = yield* Effect.forkChild(runOnce(options))
    yield* turn
    assert.isAbove(process.listenerCount("SIGUSR2"), before, "from its first request on")
    process.emit("SIGUSR2", "SIGUSR2")
    const halts = Effect.flatMap(Controls, (controls) => controls.halts)
    const isHalted = Effect.map(halts, ([halt]) => halt?.detail === "the signal SIGUSR2")
    yield* waitUntil("the halt", isHalted, round(options, sandbox, everything))
    yield* Fiber.interrupt(cycle)
    assert.strictEqual(process.listenerCount("SIGUSR2"), before)
  }),
)

it.effect("one cycle sends alerts again that last, by the routes in force", () =>
  flow(function* (options, sandbox) {
    const { now, replace } = yield* ConfigInForce
    const { treasury } = now()
    const alerting = { ...treasury.alerting, repeatMillis: 3_600_000 }
    yield* replace({ ...now(), treasury: { ...treasury, alerting } }, Effect.void)
    yield* haltSigning("operator", "ana: audit")
    const [{ seq } = { seq: 0 }] = yield* listAlerts(1, "standing")
    const once = Effect.gen(function* () {
      const cycle = yield* Effect.forkChild(runOnce(options))
      const ended = Effect.sync(() => cycle.pollUnsafe() !== undefined)
      yield* waitUntil("the end", ended, round(options, sandbox, everything))
      yield* Fiber.join(cycle)
      return (yield* showAlert(seq))?.deliveries.map(({ receiver, state, round: times }) => [receiver, state, times])
    })
    assert.deepStrictEqual(yield* once, [["log", "delivered", 0]])
    yield* TestClock.adjust("2 hours")
    assert.deepStrictEqual(yield* once, [["log", "delivered", 1]])
  }),
)
