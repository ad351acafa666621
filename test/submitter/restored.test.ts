import { cpSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { recover } from "../../src/submitter/audit/adopt.ts"
import { alice, bob, flow, paid, pass, round, states } from "../support/Flow.ts"
import { copyTo, folder, life, overwrite } from "../support/Lives.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { chainId, one, usdt } from "../support/TestSandbox.ts"

type World = Sandbox["Service"]
const attemptsOf = Effect.gen(function* () {
  const outbox = yield* Outbox
  const all = yield* Effect.forEach(yield* outbox.recent(100), ({ id }) => outbox.attempts(id))
  return all.flat()
})
const halts = Effect.map(
  Effect.flatMap(Controls, (controls) => controls.halts),
  (all) => all.map((halt) => halt.reason),
)

/** Somebody takes money out of the account that is kept filled. */
const spend = Effect.fnUntraced(function* (client: TestClient, amount: bigint) {
  const command = payment(client, "eve", amount * one, { asset: usdt })
  yield* submit(client, signed(client, { from: "bob", command, ...(yield* head(client)) }))
})

/** Pays twice, and copies the directory at each step before the second signature. */
const payTwice = Effect.fnUntraced(function* (options: DaemonOptions, world: World, client: TestClient) {
  const copies: Array<string> = []
  const keep = Effect.sync(() => {
    const copy = folder()
    copyTo(options.dataDir, copy)
    copies.push(copy)
  })
  const steps = ["reconcile", "decide", "submit", "confirm"]
  const signedBefore = Effect.map(attemptsOf, (all) => all.length < 2)
  yield* life(options, function* () {
    yield* keep
    for (let i = 0; yield* signedBefore; i++) {
      if (i === 7) yield* spend(client, 120n)
      for (let n = 0; n <= steps.length && (yield* signedBefore); n++) {
        yield* round(options, world, new Set(steps.slice(n)))
        if (yield* signedBefore) yield* keep
      }
    }
    for (let i = 0; i < 5; i++) yield* round(options, world)
    assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
    yield* spend(client, 110n)
    yield* world.stepBlock
  })
  return copies
})

/** Runs a copy for a while and returns why it halted. It signs nothing, and a plain resume changes nothing. */
const signsNothing = Effect.fnUntraced(function* (options: DaemonOptions, world: World, underWay = 0) {
  const before = (yield* paid(world)).length
  const reasons = yield* life(options, function* () {
    const had = (yield* attemptsOf).length
    for (let i = 0; i < 3; i++) yield* round(options, world)
    const reasons = yield* halts
    yield* (yield* Controls).resume({ scope: "all", reason: "hurry", author: "bo" })
    for (let i = 0; i < 2; i++) yield* round(options, world)
    assert.lengthOf(yield* attemptsOf, had, "no new signature")
    assert.include(yield* halts, "restored_store", "resume does not end it")
    const pages = (yield* (yield* AlertQueue).due(100)).filter(({ kind }) => kind === "halt")
    assert.includeMembers(
      pages.map(({ severity, subject }) => `${severity} ${subject}`),
      ["page restored_store"],
    )
    return reasons
  })
  assert.lengthOf(yield* paid(world), before + underWay)
  return reasons
})

describe("a data directory that was put back", () => {
  it.effect.each([0, 1])("at any of ten moments signs nothing before recovery, then pays once: %s", (first) =>
    flow(function* (outer, world, client) {
      const home = folder()
      cpSync(join(outer.dataDir, "sandbox"), join(home, "sandbox"), { recursive: true })
      const options = { ...outer, dataDir: home }
      const copies = yield* payTwice(options, world, client)
      assert.isAtLeast(copies.length, 20)
      const step = copies.length / 20
      const chosen = Array.from({ length: 10 }, (_, i) => copies[Math.floor((2 * i + first) * step)]!)
      for (const [i, copy] of chosen.entries()) {
        overwrite(copy, home)
        assert.include(yield* signsNothing(options, world), "restored_store", "over the old files")
        if (i % 4 > 0) continue
        assert.include(yield* signsNothing({ ...outer, dataDir: copy }, world), "restored_store", "as a new folder")
      }
      yield* life(options, function* () {
        const asked = { reason: "the disk died", author: "ana" }
        const done = yield* recover([alice], join(home, databaseFile), asked, () => Effect.void)
        assert.isAtLeast(done.lastOnLedger ?? 0, done.missing.length)
        assert.isAtLeast(done.missing.length, 1)
        assert.deepStrictEqual(yield* halts, [])
        const since = { since: 0, except: new Set<string>(), assetId: usdt }
        const used = yield* (yield* SpendLog).used({ ...since, from: new Set([alice]), to: new Set([bob]) })
        assert.strictEqual(used.count, 2, "what was spent counts, whoever remembers it")
        const had = (yield* paid(world)).length
        for (let i = 0; i < 14; i++) yield* round(options, world)
        assert.lengthOf(yield* paid(world), had, "a window and ten blocks are waited for")
        for (let i = 0; i < 9 && (yield* paid(world)).length === had; i++) yield* pass(world, 5, round(options, world))
        for (let i = 0; i < 3; i++) yield* round(options, world)
        assert.lengthOf(yield* paid(world), had + 1)
        assert.deepStrictEqual(yield* halts, [])
        assert.isNull((yield* verifyStore()).problem)
      })
      for (const dir of [home, ...copies]) rmSync(dir, { recursive: true, force: true })
    }),
  )
})

describe("a recovery", () => {
  it.effect("is refused where the ledger's listings take longer than its caller waits", () =>
    flow(function* (options) {
      const endless = Layer.mock(GatewayReader, { transfersFrom: () => Effect.never })
      const asked = { reason: "restored", author: "ana" }
      const file = join(options.dataDir, databaseFile)
      const refused = recover([alice], file, asked, () => Effect.void).pipe(Effect.provide(endless), Effect.flip)
      const fiber = yield* Effect.forkChild(refused)
      yield* TestClock.adjust("45 minutes")
      assert.isUndefined(fiber.pollUnsafe(), "hundreds of pages of several keys are read, however slowly")
      yield* TestClock.adjust("10 minutes")
      const error = yield* Fiber.join(fiber)
      assert.deepStrictEqual("reason" in error && error.reason, { _tag: "Timeout", afterMillis: 3_000_000 })
    }),
  )
})

describe("a watermark outside the data directory", () => {
  const mark = join(folder(), "watermark")

  it.effect("stops a store restored over its files while the last payment is pending", () =>
    flow(
      function* (outer, world) {
        const home = folder()
        const copy = folder()
        cpSync(join(outer.dataDir, "sandbox"), join(home, "sandbox"), { recursive: true })
        const options = { ...outer, dataDir: home }
        yield* life(options, function* () {
          yield* (yield* Settings).rememberFraming(chainId, "bare")
          const only = new Set(["submit", "confirm"])
          for (let i = 0; i < 3; i++) yield* round(options, world, only)
          copyTo(home, copy)
          yield* round(options, world, new Set(["confirm", "decide"]))
          assert.lengthOf(yield* attemptsOf, 1)
          assert.include(readFileSync(mark, "utf8"), '"seq"')
        })
        assert.deepStrictEqual(yield* life(options, halts), [], "nothing was put back yet")
        overwrite(copy, home)
        const [halt] = yield* life(
          options,
          Effect.flatMap(Controls, (controls) => controls.halts),
        )
        assert.match(halt?.detail ?? "", /^the watermark stands at entry/)
        assert.deepStrictEqual(yield* signsNothing(options, world, 1), ["restored_store"])
        for (const dir of [home, copy]) rmSync(dir, { recursive: true, force: true })
      },
      { more: { store: { watermark: mark } } },
    ),
  )

  it.effect("stops a store whose watermark is gone, as where its disk is not mounted", () =>
    flow(
      function* (outer, world) {
        const home = folder()
        cpSync(join(outer.dataDir, "sandbox"), join(home, "sandbox"), { recursive: true })
        const options = { ...outer, dataDir: home }
        const haltsOf = life(
          options,
          Effect.flatMap(Controls, (controls) => controls.halts),
        )
        rmSync(mark, { force: true })
        assert.deepStrictEqual(yield* haltsOf, [], "none was written yet")
        yield* life(options, function* () {
          yield* (yield* Settings).rememberFraming(chainId, "bare")
          for (let i = 0; i < 3; i++) yield* round(options, world, new Set(["confirm"]))
        })
        assert.deepStrictEqual(yield* haltsOf, [])
        rmSync(mark)
        const [halt] = yield* haltsOf
        assert.match(halt?.detail ?? "", /^the watermark \S+ is missing, and this store has written it$/)
        assert.deepStrictEqual(yield* signsNothing(options, world), ["restored_store"])
        rmSync(home, { recursive: true, force: true })
      },
      { more: { store: { watermark: mark } } },
    ),
  )
})
