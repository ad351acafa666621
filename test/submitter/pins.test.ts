import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { alertRows } from "../support/alertRows.ts"
import { type Flow, flow, paid, reason, round, states } from "../support/Flow.ts"
import { altered, startFront } from "../support/Fronts.ts"
import { usdt, vega } from "../support/TestSandbox.ts"

/** A rule that nothing ever moves: people alone pay here. */
const still = { topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "0.000001", target: "1" }] } }

/** The file's pins with other decimals of USDT; the network has 6. */
const pinnedWith = (decimals: number) => ({
  assets: { USDT: { id: usdt, decimals }, VEGA: { id: vega, decimals: 18 } },
})

const missing = { status: 404, headers: {}, text: JSON.stringify({ code: 5, message: "Not Found", details: [] }) }
/** The network behind a gateway that answers so to the first requests for assets. */
const unlistedFor = (requests: number, answer = missing, listedBefore = 0) => {
  let asked = 0
  return (url: string) =>
    Effect.map(startFront("sandbox", url), (front) => {
      front.manner = altered(
        (request) => request.url.pathname.startsWith("/api/v2/assets"),
        (listed) => {
          asked++
          return asked > listedBefore && asked <= listedBefore + requests ? answer : listed
        },
      )
      return front.server.url
    })
}
const always = Number.POSITIVE_INFINITY

const transfer = { from: "alice", to: "bob", asset: "USDT", amount: "1" }
const submit = ({ treasury }: DaemonOptions) => submitPayment(treasury, "live", { idempotencyKey: "one", transfer })

const rounds: (count: number) => Flow = (count) => (options, sandbox) =>
  Effect.forEach(Array.from({ length: count }), () => round(options, sandbox), { discard: true })

const details = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(10)),
  (all) => all.map(({ detail }) => detail),
)
const scopes = Effect.map(
  Effect.flatMap(Controls, (controls) => controls.pauses),
  (all) => all.map(({ scope }) => scope),
)
const pages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly detail: string }>`SELECT detail FROM alerts WHERE severity = 'page'`
}).pipe(Effect.map((rows) => rows.map(({ detail }) => detail)))

describe("a pin whose decimals are wrong", () => {
  it.effect("signs nothing from the first round of a new store on", () =>
    flow(
      function* (options, sandbox, client) {
        yield* submit(options)
        yield* rounds(8)(options, sandbox, client)
        assert.deepStrictEqual(yield* details, ["waits: USDT is not compared with the asset listing yet"])
        yield* pollAssets([...options.treasury.assets.values()])
        yield* rounds(8)(options, sandbox, client)
        assert.deepStrictEqual(yield* scopes, ["pin:USDT"])
        assert.match((yield* pages).join(), /listed with 6 decimals, pinned with 8: no payment of USDT.*decimals: 6/)
        assert.deepStrictEqual(yield* paid(sandbox), [])
      },
      { unlisted: true, keepBob: still, more: pinnedWith(8) },
    ),
  )
})

describe("a payment that was handed in under wrong decimals", () => {
  it.effect("is not paid once the pin is right: its amount is another one", () =>
    flow(
      function* (options, sandbox, client) {
        yield* submit(options)
        yield* rounds(4)(options, sandbox, client)
        const { now, replace } = yield* ConfigInForce
        const assets = new Map([...options.treasury.assets].map(([name, pin]) => [name, { ...pin, decimals: 6 }]))
        yield* replace({ ...now(), treasury: { ...options.treasury, assets } }, Effect.void)
        yield* pollAssets([...assets.values()])
        yield* rounds(8)(options, sandbox, client)
        assert.deepStrictEqual(yield* paid(sandbox), [])
        assert.deepStrictEqual(yield* states, ["cancelled"])
        assert.match((yield* details).join(), /decided with 8 decimals of USDT, which has 6 now/)
      },
      { unlisted: true, keepBob: still, more: pinnedWith(8) },
    ),
  )
})

describe("a new store", () => {
  it.effect("waits for the listing, and pays once it agrees with the pin", () =>
    flow(
      function* (options, sandbox, client) {
        yield* submit(options)
        yield* rounds(4)(options, sandbox, client)
        assert.deepStrictEqual(yield* paid(sandbox), [], "before the listing")
        yield* pollAssets([...options.treasury.assets.values()])
        yield* rounds(6)(options, sandbox, client)
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { unlisted: true, keepBob: still },
    ),
  )
})

describe("a pin that a person resumed", () => {
  it.effect("stays unsigned while its decimals are wrong", () =>
    flow(
      function* (options, sandbox, client) {
        yield* pollAssets([...options.treasury.assets.values()])
        yield* (yield* Controls).resume({ scope: "pin:USDT", reason: "it is right", author: "ana" })
        yield* submit(options)
        yield* rounds(8)(options, sandbox, client)
        assert.match((yield* details).join(), /^waits: USDT is listed with 6 decimals, pinned with 8; /)
        assert.deepStrictEqual(yield* paid(sandbox), [])
      },
      { unlisted: true, keepBob: still, more: pinnedWith(8) },
    ),
  )
})

const poll = ({ treasury }: DaemonOptions) => Effect.ignore(pollAssets([...treasury.assets.values()]))
const tickets = Effect.map(alertRows, (all) => all.filter(({ subject }) => subject === "assets"))

describe("a gateway without an asset listing", () => {
  it.effect("lets what people submit be paid once it says so for minutes, since nothing can be compared", () =>
    flow(
      function* (options, sandbox, client) {
        yield* poll(options)
        yield* submit(options)
        yield* rounds(8)(options, sandbox, client)
        assert.deepStrictEqual(yield* paid(sandbox), [])
        assert.deepStrictEqual(yield* tickets, [])
        yield* TestClock.adjust("5 minutes")
        yield* poll(options)
        yield* rounds(8)(options, sandbox, client)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.match((yield* tickets).map(({ detail }) => detail).join(), /^no new asset listing counts since .*404/)
      },
      { unlisted: true, keepBob: still, front: unlistedFor(always) },
    ),
  )

  it.effect("is not one whose listing is missing for a moment: wrong decimals are seen before a signature", () =>
    flow(
      function* (options, sandbox, client) {
        yield* poll(options)
        yield* submit(options)
        yield* rounds(4)(options, sandbox, client)
        yield* poll(options)
        yield* rounds(4)(options, sandbox, client)
        assert.deepStrictEqual(yield* paid(sandbox), [])
        assert.deepStrictEqual(yield* scopes, ["pin:USDT"])
      },
      { unlisted: true, keepBob: still, more: pinnedWith(8), front: unlistedFor(1) },
    ),
  )
})

describe("a listing that is not read any more", () => {
  const failing = { ...missing, status: 500 }

  it.effect("is told after minutes of a gateway that answers all else: no change of it would be seen", () =>
    flow(
      function* (options) {
        yield* poll(options)
        yield* poll(options)
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(yield* tickets, [])
        yield* poll(options)
        const [ticket, ...others] = yield* tickets
        assert.match(ticket?.detail ?? "", /^no new asset listing counts since .*Z: gateway sandbox, assets: /)
        assert.deepStrictEqual(others, [])
        yield* poll(options)
        assert.match((yield* tickets).at(-1)?.detail ?? "", /counts again/)
      },
      { unlisted: true, front: unlistedFor(2, failing, 1) },
    ),
  )
})

describe("a rule whose assets no gateway ever listed", () => {
  for (const [what, answer] of [
    ["has no such operation", missing],
    ["fails", { ...missing, status: 500 }],
  ] as const) {
    it.effect(`holds, and people hear why after minutes: the gateway ${what}`, () =>
      flow(
        function* (options, sandbox, client) {
          yield* poll(options)
          yield* rounds(4)(options, sandbox, client)
          assert.strictEqual(yield* reason, "asset_status")
          yield* TestClock.adjust("5 minutes")
          yield* poll(options)
          const [ticket, ...others] = yield* tickets
          assert.match(ticket?.detail ?? "", /^no new asset listing counts since 2027-01-15 08:00Z: /)
          assert.deepStrictEqual(others, [])
        },
        { unlisted: true, front: unlistedFor(always, answer) },
      ),
    )
  }
})
