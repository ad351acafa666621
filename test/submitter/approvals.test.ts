import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { byOneConfig, ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { treasuryOf } from "../../src/config/Treasury.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { approve, findApproval } from "../../src/http/approvals.ts"
import { endPayment } from "../../src/http/controlVerbs.ts"
import { receiptOf } from "../../src/http/stories.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { approvalOf } from "../../src/payments/approvalOf.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { makeAllClears } from "../../src/store/alerts/allClears.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { checkReceipt } from "../../src/store/journal/checkReceipt.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { type Flow, type FlowSetup, flow, paid, pass, round, states } from "../support/Flow.ts"
import { newestIntent, rounds } from "../support/Intents.ts"
import { inTransaction } from "../support/inTransaction.ts"
import { life, reborn } from "../support/Lives.ts"
import { deskFields, operatorKey, operatorSigns } from "../support/Operators.ts"
import type { TestClient } from "../support/TestClient.ts"
import { arm, disarm } from "../support/TestFaults.ts"

type Sandbox = Parameters<Flow>[1]
const desk: FlowSetup = { line: { approval: "desk" }, more: deskFields() }

const alerts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT severity, dedup FROM alerts WHERE kind IN ('approval', 'intent') ORDER BY seq`
  return rows.map((row) => `${row["severity"]} ${String(row["dedup"]).split("/")[0]}`)
})
/** Blocks are read and payments go on; nothing new is decided. */
const undecided = new Set(["decide"])

/** Rounds until the payment waits for approval. */
const proposed = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox) {
  yield* rounds(options, sandbox, 4)
  const intent = yield* newestIntent
  assert.strictEqual(intent.state, "awaiting_approval")
  return intent
})

const neededBy = ({ treasury }: DaemonOptions, intent: Intent) => approvalOf(treasury, intent) ?? assert.fail()
const textOf = (options: DaemonOptions, intent: Intent): string => neededBy(options, intent).text

/** As the loop does: by the configuration in force. */
const underConfig = byOneConfig

const signs = (options: DaemonOptions, intent: Intent, name: string) =>
  approve(options.treasury, intent.id, { signature: operatorSigns(name, textOf(options, intent)) })

const handIn = (options: DaemonOptions, key: string, author: string | undefined, amount = "100") =>
  submitPayment(options.treasury, "live", {
    idempotencyKey: key,
    ...(author === undefined ? {} : { author }),
    transfer: { from: "alice", to: "eve", asset: "USDT", amount },
  })

/** The same treasury with another text in place of one. */
const changed = (options: DaemonOptions, from: string, to: string) => {
  const { document } = options.treasury
  const value: unknown = JSON.parse(JSON.stringify(document.value).replace(from, to))
  return Effect.map(treasuryOf({ ...document, value }), (treasury) => ({ ...options, treasury }))
}

describe("a payment that people must approve", () => {
  it.effect("is paid once when two of three have signed, and logs each step", () =>
    flow(function* (options, sandbox) {
      const intent = yield* proposed(options, sandbox)
      assert.match(intent.detail, /^waits for 2 of ana, ben, chloe, until 20\d\d-\d\d-\d\d \d\d:\d\d UTC$/)
      assert.containSubset(yield* signs(options, intent, "ben"), { operator: "ben", isNew: true })
      assert.containSubset(yield* signs(options, intent, "ben"), { operator: "ben", isNew: false })
      yield* rounds(options, sandbox, 3)
      assert.match((yield* newestIntent).detail, /^ben approved; waits for 1 of ana, chloe/)
      assert.lengthOf(yield* paid(sandbox), 0)
      yield* signs(options, intent, "ana")
      yield* rounds(options, sandbox, 2, new Set(["confirm"]))
      assert.deepStrictEqual(yield* states, ["in_flight"])
      assert.containSubset(yield* signs(options, intent, "chloe"), { status: 409 })
      yield* rounds(options, sandbox, 6)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.lengthOf(yield* paid(sandbox), 1)
      yield* Effect.flatMap(makeAllClears, (raise) => raise(() => true))
      assert.deepStrictEqual(yield* alerts, ["ticket approval", "info approval"])
      assert.containSubset(yield* signs(options, intent, "chloe"), { status: 409 })
    }, desk),
  )

  it.effect("has its approvals in the receipt, checked offline, and in the whole store", () =>
    flow(function* (options, sandbox) {
      const intent = yield* proposed(options, sandbox)
      for (const name of ["ana", "chloe"]) yield* signs(options, intent, name)
      yield* rounds(options, sandbox, 6)
      const receipt = JSON.parse(JSON.stringify(yield* receiptOf(intent.id)))
      assert.isUndefined(checkReceipt(receipt).problem)
      const by = ["ana", "chloe"]
      assert.containSubset(receipt.proven.recorded, [{ k: 1, approval: { group: "desk", need: 2, by } }])
      assert.containSubset(receipt.claimed, {
        decision: { approval: "desk" },
        approvals: by.map((operator) => ({
          operator,
          key: operatorKey(operator).publicKey,
          text: neededBy(options, intent).text,
        })),
        attempts: [{ permit: { approval: { group: "desk", need: 2, by } } }],
      })
      assert.isNull((yield* verifyStore()).problem)
      const sql = yield* SqlClient.SqlClient
      const kept = yield* Effect.flip(sql`UPDATE approvals SET operator = 'eve'`)
      assert.include(String(kept.cause), "an approval never changes")
      yield* sql`DROP TRIGGER approvals_given`
      yield* sql`UPDATE approvals SET key = ${operatorKey("ben").publicKey} WHERE operator = 'ana'`
      assert.match((yield* verifyStore()).problem ?? "", /the approval of ana is not signed with their key/)
    }, desk),
  )

  it.effect("is reserved from the proposal on: the line's limits hold for the others", () =>
    flow(function* (options, sandbox) {
      yield* proposed(options, sandbox)
      for (const key of ["a", "b"]) yield* handIn(options, key, "zoe")
      const over = yield* Effect.flip(handIn(options, "c", "zoe"))
      assert.match(over.message, /: 350 USDT of 400 USDT in 24 h are used; /)
    }, desk),
  )

  it.effect("is logged from its submission on, with its possible approvers", () => {
    const lines: Array<string> = []
    const heard = Logger.make(({ message }) => {
      const [word, fields] = message as [string, Readonly<Record<string, unknown>> | undefined]
      lines.push(JSON.stringify([word, fields]))
    })
    return flow(
      (options, sandbox) =>
        Effect.gen(function* () {
          const { intentId } = yield* handIn(options, "rent", "ana")
          yield* rounds(options, sandbox, 2)
          const told = lines.filter((line) => line.includes(`"intent":"${intentId}"`))
          assert.match(told[0] ?? "", /^\["payment submitted",.*"from":"alice".*"idempotencyKey":"rent","author":"ana"/)
          assert.strictEqual(
            told[1],
            `["approval needed",{"intent":"${intentId}","need":2,"approvers":["ben","chloe"]}]`,
          )
        }).pipe(Effect.provide(Logger.layer([heard]))),
      desk,
    )
  })

  it.effect("ends when a person rejects it or it times out, after a warning", () =>
    flow(function* (options, sandbox) {
      const first = yield* proposed(options, sandbox)
      const body = { reason: "not today", author: "ana" }
      assert.containSubset(yield* endPayment(options.treasury, first.id, "reject", body), {
        ended: {
          state: "rejected",
          after: 'the rule decides again; "cofferer pause --scope rule:keep-bob --reason TEXT" stops that',
        },
      })
      const second = yield* proposed(options, sandbox)
      yield* signs(options, second, "ana")
      yield* TestClock.adjust("3 hours")
      yield* submitOnce()
      assert.match((yield* newestIntent).detail, /^ana approved; waits for 1 of ben, chloe, .*: the time ends soon$/)
      yield* TestClock.adjust("1 hour")
      assert.containSubset(yield* signs(options, second, "ben"), { problem: "the time to approve it is over" })
      yield* round(options, sandbox, undecided)
      assert.strictEqual((yield* newestIntent).detail, "the approval lapsed: 1 of 2 had signed")
      assert.deepStrictEqual(yield* states, ["rejected", "rejected"])
      const rejected = "info rejected"
      const told = ["ticket approval", rejected, "ticket approval", "ticket approval-late", "ticket rejected"]
      assert.deepStrictEqual(yield* alerts, told)
      assert.lengthOf(yield* paid(sandbox), 0)
    }, desk),
  )

  it.effect("needs nobody up to the amount that the line names", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 8)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.containSubset(yield* findApproval(options.treasury, (yield* newestIntent).id), { status: 409 })
      },
      { ...desk, line: { approval: "desk", approvalAbove: "150" } },
    ),
  )

  it.effect("is put to people and approved while payments are halted, and paid after", () =>
    flow(function* (options, sandbox) {
      yield* handIn(options, "a", "zoe")
      const controls = yield* Controls
      yield* controls.halt("operator", "stop")
      const intent = yield* proposed(options, sandbox)
      for (const name of ["ana", "chloe"]) yield* signs(options, intent, name)
      yield* rounds(options, sandbox, 3)
      assert.deepStrictEqual(yield* states, ["reserved"])
      yield* controls.resume({ scope: "all", reason: "fine", author: "ana" })
      yield* rounds(options, sandbox, 6)
      assert.include(yield* states, "confirmed")
    }, desk),
  )
})

describe("who hands a payment in", () => {
  it.effect("is named, does not approve it, and leaves enough others", () =>
    flow(function* (options, sandbox) {
      assert.match((yield* Effect.flip(handIn(options, "a", undefined))).message, /approval of 2 of ana, ben, chloe/)
      yield* handIn(options, "a", "ana")
      yield* rounds(options, sandbox, 3)
      const intent = (yield* (yield* Outbox).open).find(({ rule }) => rule === "submit")!
      assert.strictEqual(intent.submittedBy, "ana")
      assert.match(intent.detail, /waits for ben and chloe/)
      assert.containSubset(yield* signs(options, intent, "ana"), { status: 403 })
      for (const name of ["ben", "chloe"]) yield* signs(options, intent, name)
      yield* rounds(options, sandbox, 6)
      assert.lengthOf(yield* paid(sandbox), 1)
    }, desk),
  )

  it.effect("is refused where the others are too few", () =>
    flow(
      function* (options) {
        const refused = yield* Effect.flip(handIn(options, "a", "ana"))
        assert.match(refused.message, /3 others than ana must approve it: desk has 2/)
      },
      { ...desk, more: deskFields(3) },
    ),
  )
})

describe("approvals and another policy", () => {
  it.effect("outlive the process: what was approved before its end is paid once after it", () =>
    reborn(function* (options, sandbox) {
      yield* life(options, function* () {
        const intent = yield* proposed(options, sandbox)
        for (const name of ["ana", "ben"]) yield* signs(options, intent, name)
      })
      assert.lengthOf(yield* paid(sandbox), 0)
      yield* life(options, function* () {
        yield* rounds(options, sandbox, 8)
        assert.deepStrictEqual(yield* states, ["confirmed"])
      })
      assert.lengthOf(yield* paid(sandbox), 1)
    }, desk),
  )

  it.effect("say nothing under it: people must sign again", () =>
    reborn(function* (options, sandbox) {
      yield* life(options, function* () {
        const intent = yield* proposed(options, sandbox)
        for (const name of ["ana", "ben"]) yield* signs(options, intent, name)
      })
      const other = yield* changed(options, '"transfersPer24h":"4"', '"transfersPer24h":"3"')
      yield* life(other, function* () {
        yield* rounds(other, sandbox, 4)
        const intent = yield* newestIntent
        assert.match(intent.detail, /^waits for 2 of ana, ben, chloe/)
        assert.lengthOf(yield* (yield* Approvals).about(intent.id), 2)
        const old = operatorSigns("ana", textOf(options, intent))
        assert.containSubset(yield* approve(other.treasury, intent.id, { signature: old }), { status: 403 })
        for (const name of ["ana", "ben"]) yield* signs(other, intent, name)
        yield* rounds(other, sandbox, 6)
        assert.deepStrictEqual(yield* states, ["confirmed"])
      })
      assert.lengthOf(yield* paid(sandbox), 1)
    }, desk),
  )

  for (const before of ["waits", "is approved"] as const) {
    it.effect(`return a payment that ${before} to people when a reload changes its terms`, () =>
      flow(function* (options, sandbox) {
        const config = yield* ConfigInForce
        const intent = yield* proposed(options, sandbox)
        yield* (yield* Controls).pause({ scope: "party:alice", reason: "later", author: "ana", until: undefined })
        const signed = before === "waits" ? ["ana"] : ["ana", "ben"]
        for (const name of signed) yield* signs(options, intent, name)
        yield* underConfig(submitOnce())
        assert.strictEqual((yield* newestIntent).state, before === "waits" ? "awaiting_approval" : "reserved")
        const other = yield* changed(options, '"transfersPer24h":"4"', '"transfersPer24h":"5"')
        const reload = (to: DaemonOptions) => config.replace({ treasury: to.treasury, mode: "live" }, Effect.void)
        yield* reload(other)
        for (let i = 0; i < 3; i++) yield* underConfig(submitOnce())
        const back = yield* newestIntent
        assert.strictEqual(back.state, "awaiting_approval")
        const names = signed.join(", ")
        assert.match(
          back.detail,
          new RegExp(`^waits for 2 of .*; ${names} must sign again: what they signed has changed$`),
        )
        assert.containSubset(yield* findApproval(other.treasury, intent.id), { again: signed, missing: 2 })
        const kinds = yield* alerts
        assert.lengthOf(
          kinds.filter((kind) => /^ticket approval-(again|back)-[0-9]+$/.test(kind)),
          1,
          kinds.join(),
        )
        yield* (yield* Controls).resume({ scope: "party:alice", reason: "now", author: "ana" })
        for (const name of ["ana", "ben"]) yield* signs(other, back, name)
        for (let i = 0; i < 6; i++)
          yield* round(other, sandbox, new Set(["submit"])).pipe(Effect.andThen(underConfig(submitOnce())))
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.lengthOf(yield* paid(sandbox), 1)
      }, desk),
    )
  }

  for (const fee of ["0.1%", "1%"]) {
    it.effect(`pay under a reload to a maxFee of ${fee}, by what people sign then`, () =>
      flow(function* (options, sandbox) {
        yield* proposed(options, sandbox)
        const other = yield* changed(options, '"policy":{', `"policy":{"maxFee":"${fee}",`)
        yield* (yield* ConfigInForce).replace({ treasury: other.treasury, mode: "live" }, Effect.void)
        yield* underConfig(submitOnce())
        const intent = yield* newestIntent
        for (const name of ["ana", "ben"]) yield* signs(other, intent, name)
        for (let i = 0; i < 6; i++)
          yield* round(other, sandbox, new Set(["submit"])).pipe(Effect.andThen(underConfig(submitOnce())))
        assert.deepStrictEqual(yield* states, ["confirmed"], (yield* newestIntent).detail)
        assert.lengthOf(yield* paid(sandbox), 1)
        assert.isNull((yield* verifyStore()).problem)
        assert.isUndefined(checkReceipt(JSON.parse(JSON.stringify(yield* receiptOf(intent.id)))).problem)
      }, desk),
    )
  }

  it.effect("end an unsigned payment when they lapse, and say what to do", () =>
    flow(function* (options, sandbox) {
      const intent = yield* proposed(options, sandbox)
      for (const name of ["ana", "ben"]) yield* signs(options, intent, name)
      yield* (yield* Controls).halt("operator", "stop")
      yield* submitOnce()
      assert.deepStrictEqual(yield* states, ["reserved"])
      yield* TestClock.adjust("4 hours")
      yield* round(options, sandbox, undecided)
      assert.deepStrictEqual(yield* states, ["denied"])
      assert.strictEqual((yield* newestIntent).detail, "the approval lapsed before it was signed")
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT detail FROM alerts WHERE dedup LIKE 'denied/%'`
      const said = String(rows[0]?.["detail"])
      assert.match(
        said,
        /^keep-bob: 150\.00 USDT alice -> bob is denied: the approval lapsed.*; the rule decides again$/,
      )
    }, desk),
  )

  it.effect("that asks for nobody lets the payment go once it is in force", () =>
    flow(function* (options, sandbox) {
      yield* proposed(options, sandbox)
      const other = yield* changed(options, ',"approval":"desk"', "")
      yield* (yield* ConfigInForce).replace({ treasury: other.treasury, mode: "live" }, Effect.void)
      for (let i = 0; i < 6; i++) {
        yield* round(other, sandbox, new Set(["submit"]))
        yield* underConfig(submitOnce())
      }
      assert.lengthOf(yield* paid(sandbox), 1)
    }, desk),
  )

  it.effect("that removes its rule ends it unpaid before anybody approves it", () =>
    flow(function* (options, sandbox) {
      yield* proposed(options, sandbox)
      const { treasury } = options
      yield* (yield* ConfigInForce).replace({ treasury: { ...treasury, rules: [] }, mode: "live" }, Effect.void)
      yield* TestClock.adjust("6 minutes")
      yield* round(options, sandbox, new Set(["decide", "submit"]))
      yield* underConfig(submitOnce())
      const { state, detail } = yield* newestIntent
      assert.deepStrictEqual([state, detail], ["cancelled", "no rule in force pays it any more"])
    }, desk),
  )

  it.effect("that asks for nobody lets no planned payment go whose time is over", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* TestClock.adjust("1 minute")
        yield* rounds(options, sandbox, 3)
        assert.strictEqual((yield* newestIntent).state, "awaiting_approval")
        yield* TestClock.adjust("20 minutes")
        yield* rounds(options, sandbox, 3)
        const other = yield* changed(options, ',"approval":"desk"', "")
        yield* (yield* ConfigInForce).replace({ treasury: other.treasury, mode: "live" }, Effect.void)
        yield* rounds(other, sandbox, 3, undecided)
        assert.strictEqual((yield* newestIntent).state, "cancelled")
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      {
        ...desk,
        keepBob: {
          topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "0.000001", target: "1" }] },
        },
        rules: [
          {
            name: "wage",
            payout: { from: "alice", to: "eve", asset: "USDT", amount: "150" },
            schedule: { cron: "1 8 * * *", missed: "skip", late: "10m" },
          },
        ],
      },
    ),
  )
})

describe("a payment that was decided before its payer was compared with the ledger", () => {
  const unlisted = (client: TestClient) =>
    arm(client, { operation: "transfers", kind: "http_status", status: 503, rate: 1 })

  it.effect("is put to nobody, and decided again once it is", () =>
    flow(function* (options, sandbox, client) {
      yield* unlisted(client)
      yield* rounds(options, sandbox, 5)
      const before = yield* newestIntent
      assert.strictEqual(before.state, "proposed")
      assert.strictEqual(
        before.detail,
        "waits: the ledger is not yet compared with the journal: its payments could not be read",
      )
      assert.deepStrictEqual(yield* alerts, [])
      yield* disarm(client)
      yield* rounds(options, sandbox, 8)
      const after = yield* newestIntent
      assert.notStrictEqual(after.id, before.id)
      assert.deepStrictEqual(yield* states, ["awaiting_approval", "cancelled"])
      assert.deepStrictEqual(yield* alerts, ["ticket approval"])
      for (const name of ["ana", "ben"]) yield* signs(options, after, name)
      yield* rounds(options, sandbox, 6)
      assert.deepStrictEqual(yield* states, ["confirmed", "cancelled"])
      assert.lengthOf(yield* paid(sandbox), 1)
    }, desk),
  )

  it.effect("is dropped and alerted like others, if that takes long", () =>
    flow(function* (options, sandbox, client) {
      yield* unlisted(client)
      yield* rounds(options, sandbox, 4)
      for (let part = 0; part < 12; part++) {
        yield* TestClock.adjust("6 minutes")
        yield* rounds(options, sandbox, 3)
      }
      assert.include(yield* states, "cancelled")
      assert.notInclude(yield* states, "awaiting_approval")
      assert.deepStrictEqual(yield* alerts, ["ticket dropped"])
    }, desk),
  )

  it.effect("is put to operators at once if a person submitted it", () =>
    flow(function* (options, sandbox, client) {
      yield* unlisted(client)
      yield* handIn(options, "rent", "ana")
      yield* rounds(options, sandbox, 3)
      assert.include(yield* states, "awaiting_approval")
    }, desk),
  )
})

const divide = {
  name: "divide",
  split: { from: "alice", asset: "USDT", above: "700", target: "600", to: { bob: 50, eve: 50 } },
  onShort: "hold",
}
const bobInBand = { topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "1", target: "2" }] } }
const partOf = (to: string) =>
  Effect.map(
    Effect.flatMap(Outbox, (outbox) => outbox.recent(9)),
    (all) => all.filter(({ rule, payment }) => rule === "divide" && payment.to === to),
  )

describe("a part of a split that people must approve", () => {
  it.effect("stays owed after its deadline if another part is paid, and asks again", () =>
    flow(
      function* (options, sandbox) {
        const first = yield* proposed(options, sandbox)
        for (const name of ["ana", "ben"]) yield* signs(options, first, name)
        yield* rounds(options, sandbox, 9)
        const [bob] = yield* partOf("bob")
        const [eve] = yield* partOf("eve")
        for (const name of ["ana", "ben"]) yield* signs(options, bob!, name)
        yield* signs(options, eve!, "ana")
        yield* rounds(options, sandbox, 6)
        assert.deepStrictEqual(
          (yield* partOf("bob")).map(({ state }) => state),
          ["confirmed"],
        )
        for (let lapses = 0; lapses < 2; lapses++) {
          yield* TestClock.adjust("5 hours")
          yield* rounds(options, sandbox, 3)
          const [waiting, ...others] = yield* partOf("eve")
          assert.deepStrictEqual(others, [])
          assert.strictEqual(waiting?.state, "awaiting_approval")
          assert.match(waiting?.detail ?? "", /^waits for 2 of ana, ben, chloe, until .*; ana must sign again: /)
        }
        const sql = yield* SqlClient.SqlClient
        const told = yield* sql`SELECT detail FROM alerts WHERE dedup LIKE 'approval-back-%' ORDER BY seq`
        assert.lengthOf(told, 2)
        assert.match(
          String(told[0]?.["detail"]),
          /^divide: \S+ USDT alice -> eve was not approved in time and stays owed/,
        )
        const [asked] = yield* partOf("eve")
        for (const name of ["ben", "chloe"]) yield* signs(options, asked!, name)
        yield* rounds(options, sandbox, 6)
        assert.deepStrictEqual(
          (yield* partOf("eve")).map(({ state }) => state),
          ["confirmed"],
        )
        assert.isNull((yield* verifyStore()).problem)
        assert.isUndefined(checkReceipt(JSON.parse(JSON.stringify(yield* receiptOf(asked!.id)))).problem)
      },
      { ...desk, rules: [divide] },
    ),
  )

  for (const isApproved of [true, false]) {
    const how = isApproved ? "though it is approved" : "while people are asked"
    it.effect(`does not keep its rule from deciding again once another part is rejected, ${how}`, () =>
      flow(
        function* (options, sandbox) {
          yield* rounds(options, sandbox, 6)
          const [first, second] = yield* (yield* Outbox).recent(2)
          const by = { author: "ana", reason: "not now" }
          assert.containSubset(yield* endPayment(options.treasury, first!.id, "reject", by), { ended: {} })
          if (isApproved) for (const name of ["ana", "ben"]) yield* signs(options, second!, name)
          yield* rounds(options, sandbox, 3)
          yield* TestClock.adjust("6 minutes")
          yield* rounds(options, sandbox, 6)
          const again = ["awaiting_approval", "awaiting_approval"]
          assert.deepStrictEqual((yield* states).toSorted(), [...again, "cancelled", "rejected"])
        },
        { ...desk, rules: [divide], keepBob: bobInBand },
      ),
    )
  }

  it.effect("is not paid where another part was signed, never executed, and was given up", () =>
    flow(
      function* (options, sandbox, client) {
        for (let i = 0; i < 9 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox)
        yield* arm(client, { operation: "submit", kind: "http_status", status: 503, count: 1_000 })
        yield* rounds(options, sandbox, 6)
        assert.deepStrictEqual(
          [(yield* partOf("bob"))[0]?.state, (yield* partOf("eve"))[0]?.state],
          ["unknown", "awaiting_approval"],
        )
        yield* pass(sandbox, 90, round(options, sandbox, new Set(["submit"])))
        assert.strictEqual((yield* partOf("bob"))[0]?.state, "reserved", "proven dead")
        yield* TestClock.adjust("6 minutes")
        yield* rounds(options, sandbox, 1, new Set(["decide"]))
        assert.strictEqual((yield* partOf("bob"))[0]?.state, "abandoned")
        yield* disarm(client)
        const [eve] = yield* partOf("eve")
        for (const name of ["ana", "ben"]) yield* signs(options, eve!, name)
        yield* rounds(options, sandbox, 6)
        assert.deepStrictEqual(
          (yield* partOf("eve")).map(({ state, detail }) => `${state}: ${detail}`),
          ["cancelled: decided too long ago and never signed; the rule decides again"],
        )
      },
      {
        ...desk,
        line: { approval: "desk", approvalAbove: "150" },
        rules: [{ ...divide, split: { ...divide.split, to: { bob: 30, eve: 70 } } }],
        transfersPer24h: 9,
      },
    ),
  )
})

describe("a payment that waits for something else as a reload requires its approval", () => {
  for (const state of ["proposed", "reserved"] as const) {
    it.effect(`gives its approvers their whole time, however long ago it was decided: ${state}`, () =>
      flow(
        function* (options, sandbox) {
          const controls = yield* Controls
          if (state === "proposed") {
            yield* controls.pause({ scope: "party:alice", reason: "audit", author: "ana", until: undefined })
          }
          yield* handIn(options, "rent", "zoe")
          // Not compared with the listing: it waits for that.
          yield* rounds(options, sandbox, 3, undecided)
          assert.deepStrictEqual(yield* states, [state])
          if (state === "reserved") {
            yield* controls.pause({ scope: "party:alice", reason: "audit", author: "ana", until: undefined })
          }
          yield* TestClock.adjust("5 hours")
          yield* rounds(options, sandbox, 2, undecided)
          const other = yield* changed(options, '"transfersPer24h":"4"', '"transfersPer24h":"4","approval":"desk"')
          yield* (yield* ConfigInForce).replace({ treasury: other.treasury, mode: "live" }, Effect.void)
          const skip = new Set(["decide", "submit"])
          const turns = (count: number) =>
            Effect.repeat(Effect.andThen(round(other, sandbox, skip), underConfig(submitOnce())), { times: count - 1 })
          yield* turns(3)
          const asked = yield* newestIntent
          assert.match(asked.detail, /^waits for 2 of ana, ben, chloe, until 2027-01-15 17:/)
          for (const name of ["ana", "ben"]) yield* signs(other, asked, name)
          yield* controls.resume({ scope: "party:alice", reason: "done", author: "ana" })
          if (state === "reserved") yield* pollAssets()
          yield* turns(6)
          assert.deepStrictEqual(yield* states, ["confirmed"], (yield* newestIntent).detail)
          assert.lengthOf(yield* paid(sandbox), 1)
        },
        { more: deskFields(), unlisted: state === "reserved" },
      ),
    )
  }
})

describe("a payment whose approvers get less time by a reload", () => {
  for (const state of ["awaiting_approval", "reserved"] as const) {
    it.effect(`does not end before the time that they were told, but is put to them again: ${state}`, () =>
      flow(function* (options, sandbox) {
        const controls = yield* Controls
        const intent = yield* proposed(options, sandbox)
        yield* controls.pause({ scope: "party:alice", reason: "audit", author: "ana", until: undefined })
        for (const name of state === "reserved" ? ["ana", "ben"] : ["ana"]) yield* signs(options, intent, name)
        yield* submitOnce()
        assert.deepStrictEqual(yield* states, [state])
        yield* TestClock.adjust("2 hours")
        yield* rounds(options, sandbox, 2, undecided)
        const other = yield* changed(options, '"within":"4h"', '"within":"1h"')
        assert.notStrictEqual(textOf(other, intent), textOf(options, intent))
        yield* (yield* ConfigInForce).replace({ treasury: other.treasury, mode: "live" }, Effect.void)
        const skip = new Set(["decide", "submit"])
        const turns = (count: number) =>
          Effect.repeat(Effect.andThen(round(other, sandbox, skip), underConfig(submitOnce())), { times: count - 1 })
        yield* turns(2)
        assert.deepStrictEqual(yield* states, ["awaiting_approval"])
        assert.match((yield* newestIntent).detail, /^waits for 2 of ana, ben, chloe, until .* must sign again/)
        yield* TestClock.adjust("1 hour")
        yield* turns(2)
        assert.deepStrictEqual(yield* states, ["rejected"], "the new time ends it")
        assert.lengthOf(yield* paid(sandbox), 0)
      }, desk),
    )
  }
})

describe("a payment that people approve after a reload", () => {
  it.effect("ends unpaid where its rule pays the account by another party now", () =>
    flow(
      function* (options, sandbox) {
        const intent = yield* proposed(options, sandbox)
        const other = yield* changed(options, '"topUp":{"from":"alice"', '"topUp":{"from":"carol"')
        yield* (yield* ConfigInForce).replace(
          { treasury: other.treasury, mode: "live" },
          Effect.asVoid(
            inTransaction(
              (yield* Journal).append({ kind: "config", subject: "flow", body: { detail: "another payer" } }),
            ),
          ),
        )
        for (const name of ["ana", "ben"]) yield* signs(other, intent, name)
        const skip = new Set(["decide", "submit"])
        for (let i = 0; i < 6; i++) yield* Effect.andThen(round(other, sandbox, skip), underConfig(submitOnce()))
        assert.lengthOf(yield* paid(sandbox), 0)
        const [ended] = yield* (yield* Outbox).recent(1)
        assert.deepStrictEqual(
          [ended?.state, ended?.detail],
          ["cancelled", "is over: no rule in force pays it any more"],
        )
      },
      { ...desk, line: { from: ["alice", "carol"], approval: "desk" } },
    ),
  )
})
