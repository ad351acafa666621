import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { readView } from "../../src/http/StatusView.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { Database } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { adopt } from "../../src/submitter/audit/adopt.ts"
import { beginQuarantine, keepQuarantine, quarantineKey } from "../../src/submitter/audit/quarantine.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { ChainHeadCache } from "../../src/submitter/ChainHeadCache.ts"
import { alice, flow, pass, round } from "../support/Flow.ts"
import { altered, type Front, honest, type Manner, startFront } from "../support/Fronts.ts"
import { headPath } from "../support/HistoryServer.ts"
import { halts, rounds } from "../support/Intents.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"
import { turn, waitUntil } from "../support/until.ts"

/** Keeps back the answers to a path until it is released. */
const gate = (path: RegExp) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let arrived = 0
  const manner: Manner = async (request, ask) => {
    if (!path.test(request.url.pathname)) return ask()
    arrived++
    await held
    return ask()
  }
  return { manner, release: () => release(), arrived: () => arrived }
}

const fronted = (fronts: Array<Front>) => ({
  front: (url: string) =>
    Effect.map(startFront("sandbox", url), (front) => {
      fronts.push(front)
      return front.server.url
    }),
})

const begin = Effect.flatMap(Database, (database) => database.write(beginQuarantine()))

describe("a quarantine that begins", () => {
  it.effect("clears no key that was about to be cleared", () =>
    flow(function* (options, world) {
      const clearance = yield* Clearance
      yield* rounds(options, world, 12)
      assert.isTrue(yield* clearance.isGranted(alice))
      const begun = yield* Deferred.make<void>()
      const granting = yield* Effect.forkChild(Effect.andThen(Deferred.await(begun), clearance.grant(alice, true)))
      const beginning = Effect.gen(function* () {
        yield* Deferred.succeed(begun, undefined)
        yield* turn
        yield* beginQuarantine()
      })
      yield* (yield* Database).write(beginning)
      yield* Fiber.join(granting)
      assert.isFalse(yield* clearance.isGranted(alice))
    }),
  )

  const fronts: Array<Front> = []
  it.effect("says until when nothing is signed, and nothing of it once it is over", () =>
    flow(function* (options, world) {
      const waits = Effect.map(readView(), ({ conditions, sentence }) => ({
        text: conditions.find(({ condition }) => condition === "signing_waits")?.text,
        sentence: sentence.text,
      }))
      yield* rounds(options, world, 12)
      assert.match((yield* waits).sentence, /^All in band/)
      yield* begin
      assert.match(
        (yield* waits).sentence,
        /^Nothing is signed until one window of the network and 10 blocks have been passed for/,
      )
      yield* rounds(options, world, 1)
      const until = BigInt((yield* Effect.flatMap(Settings, ({ get }) => get(quarantineKey)))!.split(" ")[0]!)
      const end = `nothing is signed until block ${until} has been passed for 30 s`
      assert.match((yield* waits).text ?? "", new RegExp(`^${end}, in less than 1 min`, "i"))
      assert.include(yield* (yield* Clearance).lacking(alice), end)
      yield* waitUntil("its end", (yield* Clearance).isGranted(alice), pass(world, 5, round(options, world)))
      assert.deepStrictEqual((yield* waits).text, undefined)
    }),
  )

  it.effect("lasts for the larger window where the network's grows in it", () =>
    flow(function* (options, world) {
      const [front, settings] = [fronts.at(-1)!, yield* Settings]
      const until = Effect.map(settings.get(quarantineKey), (stored = "") => Number(stored.split(" ")[0]))
      const windowNow = Effect.map(
        Effect.flatMap(ChainHeadCache, ({ head }) => head),
        ({ pow }) => pow.pastBlocks,
      )
      yield* rounds(options, world, 3)
      yield* begin
      yield* rounds(options, world, 3)
      const [before, window] = [yield* until, yield* windowNow]
      front.manner = altered(
        ({ url }) => url.pathname === headPath,
        (answer) => ({
          ...answer,
          text: JSON.stringify({ ...JSON.parse(answer.text), spamPowNumberOfPastBlocks: 400 }),
        }),
      )
      yield* rounds(options, world, 3)
      assert.strictEqual(yield* windowNow, 400)
      assert.strictEqual(yield* until, before + 400 - window)
    }, fronted(fronts)),
  )

  it.effect("while an earlier one ends is not ended with it", () =>
    flow(function* (options, world, client) {
      const [front, settings, clearance] = [fronts.at(-1)!, yield* Settings, yield* Clearance]
      yield* rounds(options, world, 3)
      yield* begin
      const isLast = Effect.gen(function* () {
        const [until = ""] = ((yield* settings.get(quarantineKey)) ?? "").split(" ")
        return until !== "pending" && until !== "" && (yield* head(client)).height > Number(until) + 5
      })
      for (let i = 0; i < 300 && !(yield* isLast); i++) yield* round(options, world)
      assert.notStrictEqual(yield* settings.get(quarantineKey), "")
      // The look that ends it waits for the newest block.
      yield* TestClock.adjust("40 seconds")
      const slow = gate(/./)
      front.manner = slow.manner
      const look = yield* Effect.forkChild(keepQuarantine())
      yield* waitUntil("the question", () => slow.arrived() > 0, Effect.andThen(turn, TestClock.adjust("2 millis")))
      yield* begin
      front.manner = honest
      slow.release()
      yield* ticking(Fiber.join(look))
      assert.isFalse(yield* clearance.isOpen)
      assert.notStrictEqual(yield* settings.get(quarantineKey), "")
    }, fronted(fronts)),
  )

  it.effect("goes on where its end is not stored", () =>
    flow(function* (options, world) {
      const [settings, clearance, database] = [yield* Settings, yield* Clearance, yield* Database]
      yield* rounds(options, world, 3)
      yield* begin
      yield* rounds(options, world, 2)
      let failed = 0
      const isEnded = Effect.map(settings.get(quarantineKey), (stored) => stored === undefined)
      const failing = Effect.suspend(() => {
        failed++
        return new StoreError({ operation: "commit", cause: "disk I/O error" })
      })
      const write: typeof database.write = (effect, takenBack) =>
        database.write(
          Effect.tap(effect, () =>
            Effect.flatMap(Effect.orDie(isEnded), (is) => (is ? Effect.orDie(failing) : Effect.void)),
          ),
          takenBack,
        )
      const look = Effect.exit(Effect.provideService(keepQuarantine(), Database, { ...database, write }))
      const unseen = Effect.andThen(round(options, world, new Set(["reconcile"])), look)
      yield* waitUntil("a failure", () => failed > 0, pass(world, 5, unseen))
      assert.strictEqual(failed, 1)
      assert.isFalse(yield* isEnded)
      assert.isFalse(yield* clearance.isOpen)
      yield* waitUntil("its end", clearance.isGranted(alice), pass(world, 5, round(options, world)))
      assert.isTrue(yield* isEnded, "its end is stored before a key is cleared")
    }),
  )

  it.effect("while a key is cleared takes that back too", () =>
    flow(function* (options, world) {
      const [front, clearance] = [fronts.at(-1)!, yield* Clearance]
      yield* rounds(options, world, 3)
      yield* clearance.revoke
      yield* TestClock.adjust("40 seconds")
      yield* round(options, world, new Set(["reconcile"]))
      const slow = gate(/withdrawals/)
      front.manner = slow.manner
      const look = yield* Effect.forkChild(reconcileOnce())
      yield* waitUntil("the question", () => slow.arrived() > 0, Effect.andThen(turn, TestClock.adjust("2 millis")))
      yield* begin
      front.manner = honest
      slow.release()
      yield* ticking(Fiber.join(look))
      assert.isFalse(yield* clearance.isGranted(alice))
    }, fronted(fronts)),
  )
})

/** Leaves a transfer out of listings. */
const without = (id: string): Manner =>
  altered(
    ({ url }) => url.pathname === "/api/v2/transfers",
    (answer) => {
      const told = JSON.parse(answer.text)
      const edges = told.transfers.edges.filter((edge: unknown) => !JSON.stringify(edge).includes(id))
      return { ...answer, text: JSON.stringify({ transfers: { ...told.transfers, edges } }) }
    },
  )

describe("a transfer that is not listed at first", () => {
  const fronts: Array<Front> = []
  it.effect("though a later one was, is seen before the quarantine after adoption ends", () =>
    flow(function* (options, world, client) {
      const clearance = yield* Clearance
      const sent = Effect.fnUntraced(function* (amount: bigint) {
        const command = payment(client, "eve", amount * one, { asset: usdt })
        const { transferId, ...tx } = signed(client, { from: "alice", command, ...(yield* head(client)) })
        yield* submit(client, { transferId, ...tx })
        yield* world.stepBlock
        return transferId
      })
      const [front, first] = [fronts.at(-1)!, yield* sent(3n)]
      yield* sent(4n)
      front.manner = without(first)
      yield* rounds(options, world, 3)
      assert.deepStrictEqual(yield* halts, ["foreign_payment"])
      yield* ticking(adopt([alice], { reason: "ours", author: "ana" }, () => Effect.void))
      yield* rounds(options, world, 8)
      front.manner = honest
      for (let i = 0; i < 60 && (yield* halts).length === 0; i++) {
        assert.isFalse(yield* clearance.isGranted(alice), "nothing is signed before it is seen")
        yield* pass(world, 5, round(options, world))
      }
      assert.deepStrictEqual(yield* halts, ["foreign_payment"])
    }, fronted(fronts)),
  )
})

describe("keys that are new, where nothing is listed", () => {
  it.effect("wait together", () =>
    flow(
      function* (options, world) {
        const clearance = yield* Clearance
        let begun = 0
        let told: string | undefined
        yield* pass(world, 500, Effect.void)
        for (let i = 0; i < 80; i++) {
          yield* pass(world, 5, round(options, world))
          if ((yield* (yield* Settings).get(quarantineKey)) === "pending") begun++
          const lacking = yield* Effect.forEach([alice, publicKeyOf("test", "carol")], clearance.lacking)
          if (lacking.every((why) => why === undefined)) break
          const { conditions } = yield* readView()
          told = conditions.find(({ condition }) => condition === "signing_waits")?.text
        }
        assert.strictEqual(begun, 1)
        // The rows name no block here: the head does.
        assert.include(told, "has been passed for 30 s, in less than 1 min")
      },
      { scenario: { profile: "specification" }, isNew: true },
    ),
  )
})
