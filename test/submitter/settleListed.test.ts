import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { isFinalAttempt } from "../../src/domain/Attempt.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { referenceText } from "../../src/domain/Reference.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { endPayment } from "../../src/http/controlVerbs.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { Tags } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt } from "../../src/submitter/audit/adopt.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { alice, flow, paid, pass, round } from "../support/Flow.ts"
import { altered, type Front, honest, type Manner, startFront, threeFronts } from "../support/Fronts.ts"
import { dueDetails, rounds } from "../support/Intents.ts"
import { deskFields } from "../support/Operators.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { arm } from "../support/TestFaults.ts"
import { powOf, usdt } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"
import { waitUntil } from "../support/until.ts"

/** Takes nothing that is handed in, and tells heads that are so many blocks too high. */
const liarBy = (by: bigint): Manner => {
  const higher = altered(
    ({ url }) => url.pathname === "/blockchain/height",
    (answer) => ({ ...answer, text: answer.text.replace(/\d+/, (height) => String(BigInt(height) + by)) }),
  )
  return async (request, ask) =>
    request.method === "POST" ? { status: 503, headers: {}, text: "" } : higher(request, ask)
}

const newest = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  const [attempt] = intent === undefined ? [] : yield* outbox.attempts(intent.id)
  return { intent, attempt }
})

/** Nobody's rule decides anything. */
const blind = new Set(["decide"])
const isListing = ({ url }: { readonly url: URL }) => url.pathname === "/api/v2/transfers"
const adopting = adopt([alice], { reason: "the lost store", author: "ana" }, () => Effect.void)

/** A payment by hand that is decided and not signed. */
const rentOf = Effect.fnUntraced(function* (options: DaemonOptions, world: Sandbox["Service"]) {
  yield* rounds(options, world, 3, blind)
  const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "30" }
  yield* submitPayment(options.treasury, "live", { idempotencyKey: "rent", transfer })
  return (yield* newest).intent ?? assert.fail()
})

/** What another copy of the database signs for the payment. */
const payAsAnother = Effect.fnUntraced(function* (
  { id, payment: { fromKey, to, amount } }: Intent,
  client: TestClient,
  world: Sandbox["Service"],
) {
  const tag = (yield* Tags).of(fromKey, id) ?? assert.fail("the key is held here")
  const reference = referenceText({ installation: "0badcafe", seq: 7, hash: "ab".repeat(32), tag })
  const command = payment(client, to, amount, { asset: usdt, reference })
  yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
  yield* world.stepBlock
})

const fronts: Array<Front> = []
const front = (url: string) =>
  Effect.map(startFront("sandbox", url), (one) => {
    fronts.push(one)
    return one.server.url
  })

describe("a payment that another copy of the database made as well", () => {
  it.effect("does not end, by a head that is too high for a moment, while bytes of this one may execute", () =>
    flow(
      function* (options, world, client) {
        const front = fronts.at(-1) ?? assert.fail()
        front.manner = liarBy(0n)
        const live = Effect.map(newest, ({ attempt }) => attempt !== undefined && attempt.sends > 0)
        yield* waitUntil("a payment that is sent", live, round(options, world))
        const { intent = assert.fail() } = yield* newest
        yield* (yield* Outbox).move(intent, "manual", { detail: "handed over" })
        yield* payAsAnother(intent, client, world)
        const see = round(options, world, new Set(["submit", "confirm"]))
        yield* pass(world, 20, see)
        front.manner = liarBy(150n)
        yield* Effect.ignore(see)
        yield* reconcileOnce()
        const { intent: now, attempt = assert.fail() } = yield* newest
        assert.strictEqual(now?.state, "manual", now?.detail)
        assert.isFalse(isFinalAttempt(attempt.state), attempt.state)
        front.manner = liarBy(0n)
        const ended = Effect.map(newest, (one) => one.intent?.state === "confirmed")
        yield* waitUntil("the end of the window", ended, pass(world, 5, see))
      },
      {
        scenario: { pow: powOf(100) },
        network: { framing: "bare" },
        front,
      },
    ),
  )

  for (const [which, isFirst] of [
    ["", false],
    [", before the others list it,", true],
  ] as const) {
    it.effect(`is not made again where one gateway of three lists it${which} without its name`, () =>
      Effect.suspend(() => {
        const { fronts, gateways } = threeFronts()
        return flow(
          function* (options, world, client) {
            const intent = yield* rentOf(options, world)
            const [liar, ...others] = fronts
            liar!.manner = altered(isListing, (answer) => ({
              ...answer,
              text: answer.text.replaceAll(/"reference":"[^"]*"/g, '"reference":""'),
            }))
            const empty = '{"transfers":{"edges":[],"pageInfo":{"hasNextPage":false}}}'
            if (isFirst) for (const one of others) one.manner = altered(isListing, (a) => ({ ...a, text: empty }))
            yield* payAsAnother(intent, client, world)
            for (let i = 0; i < 4; i++) yield* ticking(round(options, world, new Set(["decide", "submit"])))
            for (const one of others) one.manner = honest
            yield* ticking(adopting)
            yield* pass(world, 100, ticking(round(options, world, blind)))
            assert.lengthOf(yield* paid(world), 1)
            const { intent: now } = yield* newest
            assert.strictEqual(now?.state, "confirmed", now?.detail)
          },
          { scenario: { pow: powOf(20) }, gateways },
        )
      }),
    )
  }

  it.effect("is not made again where of two gateways that list it one names it otherwise", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* (options, world, client) {
          const intent = yield* rentOf(options, world)
          const [liar, , silent] = fronts
          liar!.manner = altered(isListing, (answer) => ({
            ...answer,
            text: answer.text.replaceAll(/"reference":"([^"]*)"/g, '"reference":"rent of $1"'),
          }))
          silent!.manner = altered(isListing, (answer) => ({ ...answer, status: 503, text: "" }))
          yield* payAsAnother(intent, client, world)
          const look = ticking(round(options, world, new Set(["decide", "submit"])))
          for (let i = 0; i < 4; i++) yield* look
          yield* ticking(Effect.exit(adopting))
          yield* pass(world, 100, ticking(round(options, world, blind)))
          assert.lengthOf(yield* paid(world), 1)
          silent!.manner = honest
          yield* ticking(adopting)
          yield* pass(world, 100, ticking(round(options, world, blind)))
          assert.lengthOf(yield* paid(world), 1)
          const { intent: now } = yield* newest
          assert.strictEqual(now?.state, "confirmed", now?.detail)
        },
        { scenario: { pow: powOf(20) }, gateways },
      )
    }),
  )

  it.effect("is not ended by what one gateway of three lists under its name", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* (options, world) {
          yield* rounds(options, world, 3, new Set(["decide"]))
          const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "30" }
          yield* submitPayment(options.treasury, "live", { idempotencyKey: "rent", transfer })
          const { intent = assert.fail() } = yield* newest
          const { fromKey, toKey } = intent.payment
          const tag = (yield* Tags).of(fromKey, intent.id) ?? assert.fail("the key is held here")
          fronts[2]!.manner = altered(
            ({ url }) => url.pathname === "/api/v2/transfers",
            (answer) => {
              const told = JSON.parse(answer.text)
              const general = "ACCOUNT_TYPE_GENERAL"
              const ends = { from: fromKey, fromAccountType: general, to: toKey, toAccountType: general, asset: usdt }
              const reference = referenceText({ installation: "0badcafe", seq: 7, hash: "ab".repeat(32), tag })
              const timestamp = answer.headers["x-block-timestamp"] ?? "1"
              const made = { id: "ab".repeat(32), ...ends, amount: "31", reference, status: "STATUS_DONE", timestamp }
              told.transfers.edges.push({ cursor: "made-up", node: { transfer: made, fees: [] } })
              return { ...answer, text: JSON.stringify(told) }
            },
          )
          yield* TestClock.adjust("30 seconds")
          for (let i = 0; i < 9; i++) yield* ticking(round(options, world, new Set(["decide", "submit"])))
          yield* ticking(round(options, world, new Set(["decide"])))
          for (let i = 0; i < 9; i++) yield* ticking(round(options, world, new Set(["decide"])))
          const { intent: now } = yield* newest
          assert.strictEqual(now?.state, "reserved", now?.detail)
          assert.match(now?.detail ?? "", /^waits: the ledger lists it already/)
        },
        { gateways },
      )
    }),
  )

  const wage = { from: "alice", to: "eve", asset: "USDT", amount: "30" }
  const skipped = { cron: "1 8 * * *", missed: "skip", late: "2m" }
  for (const asked of [false, true]) {
    const how = asked ? ", though people are asked about it" : ""
    it.effect(`waits for a person where no quorum shows it as done, and its planned time is over${how}`, () =>
      flow(
        function* (options, world, client) {
          const skip = new Set(["submit", "confirm"])
          yield* TestClock.adjust("50 seconds")
          const wages = Effect.map(
            Effect.flatMap(Outbox, ({ recent }) => recent(10)),
            (all) => all.filter(({ rule }) => rule === "wage"),
          )
          const decided = Effect.map(wages, (all) => all.length > 0)
          yield* waitUntil("the wage", decided, round(options, world, skip))
          yield* arm(client, { operation: "submit", kind: "execution_failure", count: 1 })
          yield* payAsAnother((yield* wages)[0] ?? assert.fail(), client, world)
          yield* rounds(options, world, 3)
          yield* TestClock.adjust("4 minutes")
          yield* rounds(options, world, 5)
          const [intent = assert.fail()] = yield* wages
          assert.include(["reserved", "awaiting_approval"], intent.state, intent.detail)
          const told = yield* dueDetails
          assert.lengthOf(
            told.filter((one) => one.includes("cofferer intents cancel")),
            1,
            told.join("; "),
          )
          assert.deepStrictEqual(
            told.filter((one) => one.includes("cofferer submit")),
            [],
          )
          const done = yield* endPayment(options.treasury, intent.id, "cancel", { author: "ana", reason: "looked" })
          const { after } = "ended" in done ? done.ended : assert.fail()
          assert.match(after ?? "", /^the ledger lists it as transfer \w{64} .*: pay it by no other name/)
          assert.strictEqual((yield* wages)[0]?.state, "cancelled")
          const [end] = (yield* dueDetails).filter((one) => one.includes("ends unpaid"))
          assert.match(end ?? "", /lists it already, as transfer [0-9a-f]{64} of another copy of this database/)
        },
        {
          rules: [{ name: "wage", payout: wage, schedule: skipped }],
          ...(asked ? { line: { approval: "desk" }, more: deskFields(2, "2m") } : {}),
        },
      ),
    )
  }
})
