import { cpSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { BaseUnits } from "../../src/domain/Amount.ts"
import { Command } from "../../src/domain/Command.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { paymentRow } from "../../src/http/exports.ts"
import { ledgerVerb } from "../../src/http/ledgerVerbs.ts"
import { receiptOf } from "../../src/http/stories.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { haltSigning } from "../../src/store/controls/Controls.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt, recover } from "../../src/submitter/audit/adopt.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { signIntent } from "../../src/submitter/signIntent.ts"
import {
  alice,
  type FlowBody,
  type FlowServices,
  type FlowSetup,
  flow,
  paid,
  pass,
  round,
  states,
} from "../support/Flow.ts"
import { altered, type Front, rewritten, startFront, threeFronts } from "../support/Fronts.ts"
import { halts, rounds } from "../support/Intents.ts"
import { type Body, effectOf } from "../support/it.ts"
import { copyTo, folder, life, overwrite } from "../support/Lives.ts"
import { pow, wageAt } from "../support/LoneLiar.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { arm, disarm } from "../support/TestFaults.ts"
import { chainId, one, usdt } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"
import { waitUntil } from "../support/until.ts"

interface Story {
  /** What the store does before it is copied. */
  readonly before: FlowBody
  /** What it does before it is lost. */
  readonly after: FlowBody
  /** Blocks that pass once it is put back and recovered. */
  readonly blocks: number
  /** Put back with the whole disk, so that nothing shows it, and nobody recovers it. */
  readonly isUnseen?: boolean
  /** What is done once it is put back and before it is recovered. */
  readonly halted?: FlowBody
  /** Begin of alice's listing, as the recovery says it. */
  readonly listedSince?: RegExp
}

const asked = { reason: "the disk died", author: "ana" }
const wake = Effect.flatMap(Settings, (settings) => settings.rememberFraming(chainId, "bare"))
const alerts = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (all) => all.map(({ severity, dedup, detail }) => `${severity} ${dedup.split("/")[0]}: ${detail}`),
)

const attemptStates = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return (yield* outbox.attempts(intent?.id ?? "")).map(({ state }) => state)
})

/** Puts a copy over the store and recovers it; runs `then` in that life. */
const putBack = (
  { before, after, blocks, isUnseen = false, halted, listedSince = /^/ }: Story,
  then: FlowBody,
  setup: FlowSetup = {},
) =>
  flow(function* (outer, world, client) {
    const [home, copy] = [folder(), folder()]
    cpSync(join(outer.dataDir, "sandbox"), join(home, "sandbox"), { recursive: true })
    const options = { ...outer, dataDir: home }
    yield* life(options, function* () {
      yield* wake
      yield* effectOf(before(options, world, client))
    })
    copyTo(home, copy)
    yield* life(options, () => after(options, world, client))
    if (isUnseen) overwrite(copy, home)
    else {
      rmSync(home, { recursive: true })
      cpSync(copy, home, { recursive: true })
    }
    yield* life(options, function* () {
      if (halted !== undefined) yield* effectOf(halted(options, world, client))
      if (!isUnseen) {
        const said = yield* ledgerVerb("recover", options, asked)
        assert.match("reach" in said ? String(said.reach[0]?.since) : "no answer", listedSince)
      }
      yield* pass(world, blocks, round(options, world))
      yield* effectOf(then(options, world, client))
    })
    for (const dir of [home, copy]) rmSync(dir, { recursive: true, force: true })
  }, setup)

/** A person's payment of a lost store, and a gateway that forgot the days around it before the copy is recovered. */
const inForgottenTime = (story: {
  /** Payments of alice's key after all. */
  readonly paid: number
  readonly before?: FlowBody
  /** After the copy is put back, and before it is recovered. */
  readonly halted?: FlowBody
  readonly forgotten?: RegExp
}) => {
  const { forgotten = /transfers|withdrawals|balance|ledgerentry/ } = story
  const fronts: Array<Front> = []
  const forgetful = altered(
    ({ url }) => forgotten.test(url.pathname),
    (answer) => {
      const { edges, ...found } = Object.values(JSON.parse(answer.text))[0] as { edges: ReadonlyArray<unknown> }
      const isKept = (edge: unknown) => !JSON.stringify(edge).includes('"timestamp":"18000')
      const [key = ""] = Object.keys(JSON.parse(answer.text))
      return { ...answer, text: JSON.stringify({ [key]: { ...found, edges: edges.filter(isKept) } }) }
    },
  )
  return putBack(
    {
      before: function* (options, world, client) {
        if (story.before !== undefined) yield* effectOf(story.before(options, world, client))
        yield* ticking(rounds(options, world, 12))
        yield* handIn(options)
      },
      after: function* (options, world) {
        yield* ticking(rounds(options, world, 12))
        assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
        yield* TestClock.adjust("9 days")
        yield* ticking(rounds(options, world, 3))
        yield* handIn(options, "b")
        yield* ticking(rounds(options, world, 12))
        assert.deepStrictEqual(yield* states, ["confirmed", "confirmed", "confirmed"])
        fronts[0]!.manner = forgetful
      },
      blocks: 150,
      halted: function* (options, world, client) {
        yield* rounds(options, world, 3)
        if (story.halted !== undefined) yield* effectOf(story.halted(options, world, client))
      },
      listedSince: /^2027-01-24T/,
    },
    function* (_, world) {
      assert.lengthOf(yield* paid(world), story.paid)
      assert.deepStrictEqual(yield* states, ["cancelled", "confirmed"])
    },
    {
      transfersPer24h: 9,
      front: (url) =>
        Effect.map(startFront("forgetful", url), (front) => {
          fronts.push(front)
          return front.server.url
        }),
    },
  )
}

describe("what a store held open that was put back", () => {
  it.effect("is not paid again: a payment that was decided and not signed", () =>
    putBack(
      {
        before: function* (options, world) {
          for (let i = 0; i < 9 && (yield* states).length === 0; i++) {
            yield* round(options, world, new Set(["submit", "confirm"]))
          }
          assert.deepStrictEqual(yield* states, ["proposed"])
        },
        after: function* (options, world) {
          yield* rounds(options, world, 5)
          assert.deepStrictEqual(yield* states, ["confirmed"])
        },
        blocks: 60,
      },
      function* (_, world) {
        assert.lengthOf(yield* paid(world), 1)
        assert.deepStrictEqual(yield* states, ["cancelled"])
        const told = (yield* alerts).filter((alert) => alert.startsWith("ticket cancelled"))
        assert.lengthOf(told, 1)
        assert.match(
          told[0] ?? "",
          /is cancelled: the database is a restored backup, and the lost one may have paid it; the rule decides again$/,
        )
      },
    ),
  )

  it.effect("is not paid again: what was planned since, of which people hear", () =>
    putBack(
      {
        before: (options, world) => rounds(options, world, 12),
        after: function* (options, world) {
          yield* TestClock.adjust("47 seconds")
          yield* rounds(options, world, 8)
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
        },
        blocks: 60,
      },
      function* (options, world) {
        assert.lengthOf(yield* paid(world), 2)
        const told = (yield* alerts).filter((alert) => alert.includes("wage"))
        assert.lengthOf(told, 1)
        assert.match(
          told[0] ?? "",
          /^ticket listed: wage: 30.00 USDT alice -> eve, paid by another copy of this database as transfer [0-9a-f]{64} at /,
        )
        assert.deepStrictEqual((yield* states).toSorted(), ["confirmed", "confirmed"])
        yield* TestClock.adjust("110 seconds")
        yield* rounds(options, world, 20)
        assert.lengthOf(yield* paid(world), 3, "what is planned after that is paid")
      },
      {
        rules: [wageAt("1,4 8 * * *", { missed: "once" })],
        transfersPer24h: 9,
      },
    ),
  )

  it.effect("is not paid again: what was planned since, where the network lists no transfers", () => {
    const rich = (party: string) => ({ party, asset: "USDT", amount: "1_000" })
    const untilPaid = (wages: number, options: DaemonOptions, world: Sandbox["Service"]) =>
      waitUntil(
        `${wages} wages to be confirmed`,
        Effect.map(states, (all) => all.length === wages && all.every((state) => state === "confirmed")),
        Effect.ignore(ticking(round(options, world))),
      )
    return putBack(
      {
        before: function* (options, world) {
          yield* untilPaid(1, options, world)
          // Its window ends: a later payment of the same amount is not taken for another execution of it.
          yield* pass(world, 60, ticking(round(options, world)))
        },
        after: (options, world) => untilPaid(2, options, world),
        blocks: 60,
      },
      function* (options, world) {
        assert.lengthOf(yield* paid(world), 2)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        const [lost, ...more] = (yield* alerts).filter((alert) => alert.includes("alice -> eve"))
        assert.match(
          lost ?? "",
          /^ticket lost: .* planned for 2027-01-15T08:04Z is dropped: the database is a restored/,
        )
        assert.isEmpty(more)
        assert.deepStrictEqual(yield* halts, ["foreign_payment"], "nothing names who paid what the balances show")
        yield* ticking(adopt([alice], asked, () => Effect.void))
        yield* untilPaid(2, options, world)
        assert.lengthOf(yield* paid(world), 3, "the next planned time is paid")
      },
      {
        rules: [wageAt("1,4,9 8 * * *", { missed: "once" })],
        transfersPer24h: 9,
        scenario: { profile: "specification", ...pow(30), deposits: ["alice", "bob", "eve"].map(rich) },
        network: { framing: "prefixed" },
      },
    )
  })

  it.effect("is named where its planned time is dropped: what was paid is handed in by nobody", () =>
    putBack(
      {
        before: (options, world) => rounds(options, world, 12),
        after: function* (options, world) {
          yield* TestClock.adjust("47 seconds")
          yield* rounds(options, world, 8)
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          yield* TestClock.adjust("5 minutes")
        },
        blocks: 60,
      },
      function* (_, world) {
        assert.lengthOf(yield* paid(world), 2)
        const told = (yield* alerts).filter((alert) => alert.includes("alice -> eve planned"))
        assert.lengthOf(told, 1, told.join("; "))
        assert.match(told[0] ?? "", /is dropped.*; first look at transfer [0-9a-f]{64} \(done\), which another copy/)
      },
      {
        rules: [wageAt("1 8 15 * *", { missed: "skip", late: "1m" })],
        transfersPer24h: 9,
      },
    ),
  )

  it.effect("is not paid by another attempt if signed and unknown", () =>
    putBack(
      {
        before: function* (options, world, client) {
          yield* arm(client, { operation: "submit", kind: "drop_before", rate: 1 })
          for (let i = 0; i < 9 && (yield* states).length === 0; i++) yield* round(options, world)
          assert.lengthOf(yield* states, 1)
        },
        after: function* (options, world, client) {
          for (let i = 0; i < 40 && (yield* attemptStates).length < 2; i++) yield* pass(world, 5, round(options, world))
          yield* disarm(client)
          for (let i = 0; i < 200 && (yield* states)[0] !== "confirmed"; i++) yield* round(options, world)
          assert.deepStrictEqual((yield* attemptStates).slice(-2), ["expired", "confirmed"])
        },
        blocks: 55,
      },
      function* (_, world) {
        assert.lengthOf(yield* paid(world), 1)
        const [told] = (yield* alerts).filter((alert) => alert.startsWith("page manual"))
        assert.match(
          told ?? "",
          /is manual: the database is a restored backup.*"cofferer intents resolve \w{4} --reason TEXT"/,
        )
      },
    ),
  )

  it.effect("is no payment of its own attempt once another one paid it: neither in the export nor as a receipt", () =>
    putBack(
      {
        before: function* (options, world, client) {
          yield* arm(client, { operation: "submit", kind: "drop_before", rate: 1 })
          for (let i = 0; i < 9 && (yield* states).length === 0; i++) yield* round(options, world)
        },
        after: function* (options, world, client) {
          for (let i = 0; i < 40 && (yield* attemptStates).length < 2; i++) yield* pass(world, 5, round(options, world))
          yield* disarm(client)
          for (let i = 0; i < 200 && (yield* states)[0] !== "confirmed"; i++) yield* round(options, world)
        },
        blocks: 55,
      },
      function* (options, world) {
        for (let i = 0; i < 40 && (yield* states)[0] !== "confirmed"; i++) yield* pass(world, 5, round(options, world))
        const [intent] = yield* (yield* Outbox).recent(1)
        assert.include(intent?.detail ?? "", "paid by another copy of this database")
        const row = paymentRow(intent!, yield* (yield* Outbox).attempts(intent!.id))
        assert.deepStrictEqual([row.transferId, row.txHash], [null, null])
        const receipt = yield* receiptOf(intent!.id)
        assert.match("problem" in receipt ? receipt.problem : "a receipt", /another copy of the database paid it/)
        assert.isNull((yield* verifyStore()).problem)
      },
    ),
  )

  it.effect("is not paid again where the gateway forgot the time in which the lost store may have paid it", () =>
    inForgottenTime({ paid: 3 }),
  )

  it.effect("is not paid again where the gateway forgot that time, once newer payments of others are adopted", () =>
    inForgottenTime({
      paid: 4,
      halted: function* (options, world, client) {
        yield* by(client, payment(client, "eve", one, { asset: usdt }))
        yield* ticking(rounds(options, world, 3))
        assert.deepStrictEqual(yield* halts, ["restored_store", "foreign_payment"])
        yield* ticking(adopt([alice], asked, () => Effect.void))
      },
    }),
  )

  it.effect(
    "is not paid again where the gateway forgot that time, when a recovery is repeated before it took effect",
    () =>
      inForgottenTime({
        paid: 3,
        halted: function* (options) {
          yield* ticking(ledgerVerb("recover", options, asked))
          assert.deepStrictEqual(yield* halts, [])
          yield* haltSigning("restored_store", "the watermark stands at entry 99, the journal ends at 50")
        },
      }),
  )

  it.effect("is not paid again where the gateway forgot transfers of that time, and no withdrawal", () =>
    inForgottenTime({
      paid: 4,
      before: function* (options, world, client) {
        yield* ticking(rounds(options, world, 6))
        yield* by(client, Command.cases.Withdraw.make({ amount: BaseUnits.make(30n * one), asset: usdt }))
        yield* ticking(rounds(options, world, 10))
        assert.deepStrictEqual(yield* halts, ["foreign_payment"])
        yield* ticking(adopt([alice], asked, () => Effect.void))
        yield* pass(world, 150, round(options, world))
      },
      forgotten: /transfers|balance|ledgerentry/,
    }),
  )

  const farBehind = (more: FlowSetup = {}) =>
    putBack(
      {
        before: function* (options, world) {
          yield* ticking(rounds(options, world, 12))
          yield* handIn(options)
        },
        after: function* (options, world, client) {
          yield* pass(world, 100, ticking(round(options, world, new Set(["submit"]))))
          yield* arm(client, { operation: "submit", kind: "late_broadcast", rate: 1, blocks: 80 })
          yield* ticking(rounds(options, world, 2))
          assert.deepStrictEqual(yield* attemptStates, ["refused"])
          yield* disarm(client)
          yield* arm(client, { operation: "any", kind: "lagging_replica", rate: 1, blocks: 100 })
        },
        blocks: 0,
      },
      function* (options, world, client) {
        const { height } = yield* world.ledger.head
        yield* ticking(rounds(options, world, 3))
        yield* disarm(client)
        const isGranted = Effect.flatMap(Clearance, (clearance) => clearance.isGranted(alice))
        yield* waitUntil("the end of the quarantine", isGranted, ticking(pass(world, 5, round(options, world))))
        assert.isAbove((yield* world.ledger.head).height, height + 100, "until then bytes of before may execute")
        yield* ticking(rounds(options, world, 2))
        assert.lengthOf(yield* paid(world), 2)
        assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
      },
      { transfersPer24h: 9, scenario: pow(100), ...more },
    )

  it.effect("is not paid while bytes of the lost store may execute, though the gateway was far behind", () =>
    farBehind(),
  )

  it.effect("is not paid while bytes of the lost store may execute, though a gateway may be far behind", () =>
    farBehind({ network: { maxAge: "3m" } }),
  )

  it.effect("is not paid again where a gateway far behind showed the start less than the lost store paid", () =>
    putBack(
      {
        before: function* (options, world) {
          yield* ticking(rounds(options, world, 12))
          yield* handIn(options)
        },
        after: function* (options, world, client) {
          yield* ticking(rounds(options, world, 12))
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          yield* pass(world, 90, ticking(round(options, world)))
          yield* arm(client, { operation: "any", kind: "lagging_replica", rate: 1, blocks: 103 })
        },
        blocks: 0,
        isUnseen: true,
      },
      function* (options, world, client) {
        yield* ticking(rounds(options, world, 3))
        yield* disarm(client)
        yield* TestClock.adjust("9 seconds")
        yield* ticking(rounds(options, world, 4, new Set(["reconcile"])))
        yield* ticking(rounds(options, world, 4))
        assert.lengthOf(yield* paid(world), 2)
      },
      { transfersPer24h: 9 },
    ),
  )

  const unsent: Story = {
    before: Effect.fnUntraced(function* (options, world) {
      yield* rounds(options, world, 3, new Set(["submit", "confirm"]))
      const dying = yield* Effect.forkChild(submitOnce())
      yield* waitUntil(
        "an attempt",
        Effect.map(attemptStates, (all) => all.length > 0),
        Effect.yieldNow,
      )
      yield* Fiber.interrupt(dying)
      assert.deepStrictEqual(yield* attemptStates, ["signed"])
    }),
    after: Effect.fnUntraced(function* (options, world) {
      for (let i = 0; i < 20 && (yield* states)[0] !== "confirmed"; i++) yield* round(options, world)
      assert.deepStrictEqual(yield* attemptStates, ["confirmed"])
    }),
    blocks: 55,
  }

  for (const isUnseen of [false, true]) {
    const how = isUnseen ? ", where nothing shows that it was put back" : ""
    it.effect(`is looked up on the ledger if signed and apparently never sent${how}`, () =>
      putBack({ ...unsent, isUnseen }, function* (_, world) {
        assert.lengthOf(yield* paid(world), 1)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.deepStrictEqual(yield* halts, [])
      }),
    )
  }

  it.effect("is not taken for dead before the ledger is compared with the journal, if apparently never sent", () =>
    putBack({ ...unsent, isUnseen: true, blocks: 0 }, function* (options, world) {
      yield* pass(world, 55, round(options, world, new Set(["reconcile", "submit"])))
      assert.deepStrictEqual(yield* attemptStates, ["signed"])
      yield* rounds(options, world, 5)
      assert.deepStrictEqual(yield* attemptStates, ["confirmed"])
      assert.deepStrictEqual(yield* halts, [])
      assert.lengthOf(yield* paid(world), 1)
    }),
  )

  it.effect("is handed to a person if the ledger cannot be compared, if apparently never sent", () =>
    putBack({ ...unsent, isUnseen: true, blocks: 0 }, function* (options, world) {
      yield* pass(world, 130, round(options, world, new Set(["reconcile", "submit"])))
      const [intent] = yield* (yield* Outbox).open
      assert.match(`${intent?.state}: ${intent?.detail}`, /^manual: .* not yet compared with the journal$/)
    }),
  )

  it.effect("stays open in a store that nobody lost, whoever asks for recovery", () =>
    flow(function* (options, world) {
      for (let i = 0; i < 9 && (yield* states).length === 0; i++) {
        yield* round(options, world, new Set(["submit", "confirm"]))
      }
      yield* recover([alice], join(options.dataDir, databaseFile), asked, () => Effect.void)
      yield* rounds(options, world, 60)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.lengthOf(yield* paid(world), 1)
    }),
  )
})

/** A command that alice's key signs elsewhere. */
const by = Effect.fnUntraced(function* (client: TestClient, command: Command) {
  yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
})

/** A payment of a person, handed in under one key however often it is run. */
const handIn = (options: DaemonOptions, idempotencyKey = "a") => {
  const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "30" }
  return submitPayment(options.treasury, "live", { idempotencyKey, transfer })
}

/** Pays it beside the rule's own payment, deletes the store, and runs `next` in a new one. */
const afterLoss = (next: Body<[options: DaemonOptions, world: Sandbox["Service"]], FlowServices>, setup?: FlowSetup) =>
  flow(function* (outer, world) {
    const home = folder()
    cpSync(join(outer.dataDir, "sandbox"), join(home, "sandbox"), { recursive: true })
    const options = { ...outer, dataDir: home }
    const pays = Effect.gen(function* () {
      yield* wake
      yield* ticking(rounds(options, world, 12))
      yield* handIn(options)
      yield* ticking(rounds(options, world, 12))
      assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
    })
    yield* life(options, pays)
    for (const file of [databaseFile, `${databaseFile}-wal`, `${databaseFile}-shm`]) {
      rmSync(join(home, file), { force: true })
    }
    yield* life(options, () => next(options, world))
    assert.lengthOf(yield* paid(world), 2)
    rmSync(home, { recursive: true, force: true })
  }, setup)

describe("what a lost store paid and is handed in again", () => {
  it.effect("is told to be paid, where it fills the limit itself", () =>
    afterLoss(
      function* (options, world) {
        yield* rounds(options, world, 2)
        assert.deepStrictEqual(yield* halts, ["foreign_payment"])
        yield* ticking(adopt([alice], asked, () => Effect.void))
        const refused = yield* Effect.flip(handIn(options))
        assert.match(refused.message, /in 24 h are used/)
        assert.match(refused.message, /the ledger lists this very payment already, as transfer [0-9a-f]{64} \(done\)/)
      },
      { line: { per24h: "200" } },
    ),
  )

  it.effect("is not signed before the ledger was asked what became of it", () =>
    afterLoss(function* (options, world) {
      yield* rounds(options, world, 2)
      yield* ticking(adopt([alice], asked, () => Effect.void))
      const isGranted = Effect.flatMap(Clearance, (clearance) => clearance.isGranted(alice))
      yield* waitUntil("the end of the quarantine", isGranted, round(options, world))
      yield* handIn(options)
      for (let i = 0; i < 4; i++) yield* round(options, world, new Set(["reconcile", "decide"]))
      const [intent = assert.fail()] = yield* (yield* Outbox).recent(1)
      assert.deepStrictEqual([intent.state, yield* attemptStates], ["reserved", []])
      assert.isUndefined(yield* signIntent(intent), "nor where it is listed only just before its signature")
      assert.deepStrictEqual(yield* attemptStates, [])
      yield* rounds(options, world, 2)
      assert.deepStrictEqual([(yield* states)[0], yield* attemptStates], ["confirmed", []])
    }),
  )

  it.effect("is confirmed by the word of the quorum, whatever one gateway lists under its name", () => {
    const { fronts, gateways } = threeFronts()
    return afterLoss(
      function* (options, world) {
        fronts[0]!.manner = rewritten("amount", (old) => `${old}0`, "/api/v2/transfers")
        yield* ticking(rounds(options, world, 2))
        yield* ticking(adopt([alice], asked, () => Effect.void))
        yield* handIn(options)
        yield* ticking(rounds(options, world, 4))
        const [intent] = yield* (yield* Outbox).recent(1)
        assert.strictEqual(intent?.state, "confirmed", intent?.detail)
      },
      {
        line: { per24h: "5_000" },
        gateways,
      },
    )
  })
})
