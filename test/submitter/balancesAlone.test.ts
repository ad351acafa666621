import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Attempt } from "../../src/domain/Attempt.ts"
import { shortId } from "../../src/domain/Hex.ts"
import { pruneHourly } from "../../src/poller/BalancePoller.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { endIntent, type Verb } from "../../src/submitter/endIntent.ts"
import { alice, type FlowServices, paid, pass, round } from "../support/Flow.ts"
import { type Front, honest } from "../support/Fronts.ts"
import { behind, deposits, keepEve, pages, pow, wage, wageAt } from "../support/LoneLiar.ts"
import { attemptOf } from "../support/Payments.ts"
import { ticking } from "../support/ticking.ts"
import { waitUntil } from "../support/until.ts"

const setup = {
  scenario: { profile: "specification", ...pow(30), deposits },
  network: { framing: "prefixed" },
  rules: [keepEve],
} as const

const payments = Effect.flatMap(Outbox, (outbox) => outbox.recent(20))
const rich = (party: string) => ({ party, asset: "USDT", amount: "1_000" })
/** Nothing has to be topped up. */
const calm = { ...setup.scenario, deposits: ["alice", "bob", "eve"].map(rich) }
/** Nobody has ever paid eve. */
const unknownEve = { ...setup.scenario, deposits: ["alice", "bob"].map(rich) }
/** Two payments of the same amount to the same receiver. */
const equal = [wage, { ...wageAt("1 8 * * *"), name: "rent" }]

/** The network loses all submissions of the first payment, until it is manual; nothing else is signed meanwhile. */
const firstIsLost = Effect.fnUntraced(function* (liar: Front, next: Effect.Effect<void, never, FlowServices>) {
  let lost: string | undefined
  liar.manner = async (request, ask) => {
    if (request.method !== "POST") return ask()
    lost ??= request.body
    return request.body === lost ? { status: 503, headers: {}, text: "" } : ask()
  }
  const isManual = Effect.map(payments, (all) => all.some(({ state }) => state === "manual"))
  yield* waitUntil("the lost one to be manual", isManual, next)
  assert.lengthOf(yield* (yield* Outbox).live, 1)
})

describe("payments of one account on a network that shows balances alone", () => {
  it.effect("are confirmed also where it rested for longer than its rows are kept", () =>
    behind({ ...setup, scenario: calm, rules: [wageAt("0 12 24 2 *")] }, function* (_, __, options, sandbox) {
      const step = Effect.ignore(ticking(round(options, sandbox)))
      for (let i = 0; i < 3; i++) yield* step
      yield* TestClock.adjust("40 days")
      for (let i = 0; i < 3; i++) yield* step
      yield* (yield* Settings).set("prunedAt", "0")
      yield* pruneHourly({ ...options.treasury, keepMillis: 30 * 86_400_000 })
      yield* TestClock.adjust("4 hours")
      yield* pass(sandbox, 75, step)
      assert.deepStrictEqual(
        (yield* payments).map(({ state }) => state),
        ["confirmed"],
      )
    }),
  )

  it.effect("are under way one after the other, and each is confirmed by its own movement", () =>
    behind(setup, function* (_, __, options, sandbox) {
      const signed = new Set<number>()
      const next = Effect.gen(function* () {
        yield* round(options, sandbox)
        signed.add((yield* (yield* Outbox).live).length)
      })
      const isPaid = Effect.map(payments, (all) => all.length === 2 && all.every(({ state }) => state === "confirmed"))
      yield* waitUntil("both payments to be confirmed", isPaid, next)
      assert.deepStrictEqual([...signed].toSorted(), [0, 1])
      assert.lengthOf(yield* paid(sandbox), 2)
    }),
  )

  it.effect("are under way one after the other also where only the receiver is common", () =>
    behind(
      {
        ...setup,
        rules: [wage, { ...wage, name: "rent", payout: { from: "carol", to: "eve", asset: "USDT", amount: "40" } }],
        scenario: {
          ...setup.scenario,
          parties: ["alice", "bob", "carol", "eve"],
          deposits: ["alice", "bob", "carol", "eve"].map(rich),
        },
        allow: [{ from: "carol", to: ["eve"], asset: "USDT", perTransfer: "200", per24h: "400", transfersPer24h: 4 }],
      },
      function* (_, __, options, sandbox) {
        const isPaid = Effect.map(
          payments,
          (all) => all.length === 2 && all.every(({ state }) => state === "confirmed"),
        )
        yield* waitUntil("both payments to be confirmed", isPaid, round(options, sandbox))
      },
    ),
  )

  it.effect("are confirmed also where the receiver had no balance before", () =>
    behind({ ...setup, rules: [wage], scenario: unknownEve }, function* (_, __, options, sandbox) {
      const isPaid = Effect.map(payments, ([one]) => one?.state === "confirmed")
      yield* waitUntil("the payment to be confirmed", isPaid, round(options, sandbox))
    }),
  )

  it.effect("wait for a lost one until its window is surely over, and are paid beside it then", () =>
    behind(setup, function* (liar, _, options, sandbox) {
      const next = Effect.ignore(round(options, sandbox))
      yield* firstIsLost(liar, next)
      const isPaid = Effect.map(payments, (all) => all.some(({ state }) => state === "confirmed"))
      yield* waitUntil("the other one to be confirmed", isPaid, next)
      const [other] = (yield* payments).filter(({ state }) => state === "confirmed")
      assert.include(other?.detail, "seen in the balances")
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.lengthOf(yield* pages, 1)
    }),
  )

  it.effect.each([
    ["never executed", () => ({ verb: "never_executed" })],
    ["executed", ({ transferId }) => ({ verb: "executed", hash: transferId })],
  ] satisfies ReadonlyArray<readonly [string, (attempt: Attempt) => Verb]>)(
    "wait for a lost one that is equal until people resolve it: %s",
    ([, verbOf]) =>
      behind({ ...setup, rules: equal, scenario: calm }, function* (liar, _, options, sandbox) {
        const outbox = yield* Outbox
        const next = Effect.ignore(pass(sandbox, 5, round(options, sandbox)))
        yield* firstIsLost(liar, next)
        for (let i = 0; i < 4; i++) yield* next
        const [attempt] = yield* outbox.live
        const [lost] = (yield* payments).filter(({ state }) => state === "manual")
        const [other] = (yield* payments).filter(({ state }) => state === "reserved")
        assert.include(other?.detail, `payment ${shortId(lost?.id ?? "")} of alice is manual`)
        if (lost === undefined || attempt === undefined) return assert.fail("nothing was signed")
        yield* endIntent({ intentId: lost.id, verb: verbOf(attempt), author: "ann", reason: "seen" }, () => Effect.void)
        const ended = (yield* payments).find(({ id }) => id === lost.id)
        const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
        assert.strictEqual(ended?.settledAt, ended?.state === "confirmed" ? now : undefined)
        const isPaid = Effect.map(payments, (all) =>
          all.some(({ id, state }) => id === other?.id && state === "confirmed"),
        )
        yield* waitUntil("the other one to be confirmed", isPaid, next)
        assert.lengthOf(yield* paid(sandbox), 1)
      }),
  )

  it.effect("tell people where the payer's balance fell by one, and the receiver's moved by more in that block", () => {
    const spenders = [{ from: "bob", to: "eve", asset: "USDT", every: { blocks: 1, amount: "1" } }]
    return behind({ ...setup, rules: [wage], scenario: { ...calm, spenders } }, function* (_, __, options, sandbox) {
      const isManual = Effect.map(payments, (all) =>
        all.some(({ rule, state }) => rule === "wage" && state === "manual"),
      )
      yield* waitUntil("it to be manual", isManual, Effect.ignore(pass(sandbox, 5, round(options, sandbox))))
      const manual = (yield* payments).find(({ rule }) => rule === "wage")
      assert.match(manual?.detail ?? "", /nothing proves whether it executed: the payer's balance fell by its amount/)
    })
  })

  it.effect("are under way together once its transfers are listed, where the start found no listing of them", () =>
    behind({ ...setup, scenario: { ...pow(30), deposits } }, function* (liar, _, options, sandbox) {
      liar.manner = async ({ url }, ask) =>
        url.pathname === "/api/v2/transfers"
          ? { status: 404, headers: {}, text: JSON.stringify({ code: 5, message: "Not Found", details: [] }) }
          : ask()
      yield* round(options, sandbox, new Set(["decide"]))
      const clearance = yield* Clearance
      assert.deepStrictEqual([yield* clearance.isGranted(alice), yield* clearance.isListed(alice)], [true, false])
      liar.manner = honest
      yield* TestClock.adjust("30 seconds")
      for (let i = 0; i < 5; i++) yield* round(options, sandbox, new Set(["confirm"]))
      assert.lengthOf(yield* (yield* Outbox).live, 2)
    }),
  )

  it.effect("do not wait for one of another chain", () =>
    behind({ ...setup, rules: equal, scenario: calm }, function* (_, __, options, sandbox) {
      const outbox = yield* Outbox
      const unsigned = Effect.map(payments, (all) => all.filter(({ state }) => state === "proposed"))
      const isDecided = Effect.map(unsigned, (all) => all.length === 2)
      yield* waitUntil("both to be decided", isDecided, round(options, sandbox, new Set(["submit"])))
      const [old] = yield* unsigned
      if (old === undefined) return assert.fail("nothing was decided")
      const reserved = yield* outbox.move(old, "reserved", { detail: "" })
      const attempt = attemptOf(old, 1, { chainId: "before", anchorHeight: 5_000_000n, party: old.payment.fromKey })
      yield* outbox.persist(reserved, attempt)
      yield* outbox.beginSend({ attempt, gateway: "liar", framing: "prefixed", first: true, txHash: "11".repeat(32) })
      const isPaid = Effect.map(payments, (all) => all.some(({ state }) => state === "confirmed"))
      yield* waitUntil("the other one to be confirmed", isPaid, Effect.ignore(round(options, sandbox)))
    }),
  )
})
