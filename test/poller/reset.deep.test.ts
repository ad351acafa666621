import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { shortId } from "../../src/domain/Hex.ts"
import { Health } from "../../src/gateway/Health.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { endIntent } from "../../src/submitter/endIntent.ts"
import { alerts, beginNetwork, behindOneAddress, contents, elsewhere, resume, steps } from "../support/Exchanged.ts"
import { alice, type Flow, lives, paid, states } from "../support/Flow.ts"
import { honest, rewritten, threeFronts } from "../support/Fronts.ts"
import { halts, newestAttempts } from "../support/Intents.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { chainId, one, powOf, usdt } from "../support/TestSandbox.ts"

const pow = powOf(40)

/** The same chain id from its first block on, later than the one that was known. */
const resetNetwork = beginNetwork(chainId)
const resetAlike = beginNetwork(chainId, { pow })

/** Blocks of a chain that has been there for a while. */
const grow = (sandbox: Sandbox["Service"]) => Effect.repeat(sandbox.stepBlock, { times: 150 })

const untilConfirmed = Effect.fnUntraced(function* (args: Parameters<Flow>, other?: Sandbox["Service"]) {
  for (let i = 0; i < 40 && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 3, other)
})

/** Until bytes of a payment are out, of which nobody looks for the end. */
const untilSent = Effect.fnUntraced(function* (args: Parameters<Flow>) {
  yield* (yield* Settings).rememberFraming(chainId, "bare")
  yield* steps(args, 30, undefined, (name) => name !== "decide")
  for (let i = 0; i < 20; i++) {
    yield* steps(args, 1, undefined, (name) => name !== "confirm")
    if ((yield* states)[0] === "in_flight" && (yield* newestAttempts)[0]?.sends !== 0) return
  }
})

/** Lets bob spend, so that the rule pays again on the right chain. */
const spend = Effect.fnUntraced(function* ([, , client]: Parameters<Flow>) {
  const command = payment(client, "eve", 120n * one, { asset: usdt })
  yield* submit(client, signed(client, { from: "bob", command, ...(yield* head(client)) }))
})

const drifts = Effect.flatMap(Drifts, (store) => store.all)
const haltWords = Effect.map(
  Effect.flatMap(Controls, (controls) => controls.halts),
  (all) => all[0]?.detail ?? "",
)

describe("a node that was reset behind the same address", () => {
  it.effect("halts an idle daemon within 45 seconds, and continues on the right chain", () =>
    behindOneAddress([
      (front, ...args) =>
        Effect.gen(function* () {
          yield* untilConfirmed(args)
          yield* grow(args[1])
          yield* steps(args, 30)
          const told = yield* alerts
          const before = yield* contents
          const other = yield* resetNetwork
          front.manner = elsewhere(other.url)
          yield* steps(args, 45, other)
          assert.deepStrictEqual(yield* halts, ["chain_changed"])
          assert.match(
            yield* haltWords,
            /gateway sandbox begins again below block [12][0-9]{2}, which was known: .*resume/,
          )
          yield* steps(args, 30, other)
          assert.deepStrictEqual(yield* contents, before, "not one row of it")
          assert.deepStrictEqual((yield* alerts).slice(told.length), ["page halt chain_changed"])
          front.manner = honest
          yield* steps(args, 3)
          assert.deepStrictEqual(yield* halts, ["chain_changed"], "people end it")
          yield* resume
          yield* spend(args)
          yield* steps(args, 30)
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          assert.lengthOf(yield* paid(args[1]), 2)
          assert.lengthOf(yield* paid(other), 0)
          assert.deepStrictEqual([yield* halts, yield* drifts], [[], []])
          assert.deepStrictEqual((yield* alerts).slice(told.length), ["page halt chain_changed"])
        }).pipe(Effect.scoped, Effect.orDie),
    ]),
  )

  it.effect("signs nothing and takes no open payment for dead, which is executed once", () =>
    behindOneAddress(
      [
        (front, ...args) =>
          Effect.gen(function* () {
            yield* grow(args[1])
            yield* untilSent(args)
            assert.deepStrictEqual(yield* states, ["in_flight"])
            const other = yield* resetAlike
            front.manner = elsewhere(other.url)
            yield* steps(args, 90, other)
            assert.deepStrictEqual(yield* halts, ["chain_changed"])
            assert.include(["in_flight", "unknown"], (yield* states)[0])
            assert.lengthOf(yield* newestAttempts, 1)
            front.manner = honest
            yield* resume
            yield* steps(args, 20)
            assert.deepStrictEqual(yield* states, ["confirmed"])
            assert.lengthOf(yield* newestAttempts, 1)
            assert.lengthOf(yield* paid(args[1]), 1)
            assert.lengthOf(yield* paid(other), 0)
            assert.deepStrictEqual([yield* halts, yield* drifts], [[], []])
          }).pipe(Effect.scoped, Effect.orDie),
      ],
      { scenario: { pow } },
    ),
  )

  it.effect("was never reset: a false height is refused after five minutes of true ones, and a resume ends it", () =>
    behindOneAddress([
      (front, ...args) =>
        Effect.gen(function* () {
          yield* untilConfirmed(args)
          let ahead = 0
          front.manner = rewritten("height", (height) => String(Number(height) + ahead), "/blockchain/height")
          for (let i = 0; i < 60; i++) {
            ahead += 15
            yield* steps(args, 1)
          }
          front.manner = honest
          yield* steps(args, 200)
          assert.deepStrictEqual(yield* halts, [], "one that lags looks alike at first")
          yield* steps(args, 160)
          assert.deepStrictEqual(yield* halts, ["chain_changed"])
          assert.match(yield* haltWords, /below block [0-9]+, which was known: .*or never had that block, to resume/)
          yield* resume
          yield* spend(args)
          yield* steps(args, 40)
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          assert.lengthOf(yield* paid(args[1]), 2)
          assert.deepStrictEqual([yield* halts, yield* drifts], [[], []])
        }).pipe(Effect.scoped, Effect.orDie),
    ]),
  )

  it.effect("is accepted by a resume: rows are read, and a payment is made there", () =>
    behindOneAddress([
      (front, ...args) =>
        Effect.gen(function* () {
          yield* untilConfirmed(args)
          yield* grow(args[1])
          yield* steps(args, 30)
          const other = yield* resetNetwork
          front.manner = elsewhere(other.url)
          yield* steps(args, 45, other)
          assert.deepStrictEqual(yield* halts, ["chain_changed"])
          const told = yield* alerts
          yield* resume
          yield* untilConfirmed(args, other)
          yield* steps(args, 40, other)
          assert.deepStrictEqual(yield* halts, [])
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          assert.lengthOf(yield* paid(other), 1)
          assert.lengthOf(yield* paid(args[1]), 1)
          assert.strictEqual(yield* other.ledger.balance("bob", "USDT"), 200n * one)
          const { accounts, watermark } = yield* Observations
          const own = (yield* accounts).find(({ party, asset }) => party === alice && asset === usdt)
          assert.strictEqual(own?.balance, yield* other.ledger.balance("alice", "USDT"))
          assert.isBelow(Number((yield* watermark)?.height), 150)
          assert.deepStrictEqual(yield* drifts, [])
          assert.deepStrictEqual((yield* alerts).slice(told.length).toSorted(), [
            "ticket asset NEWC",
            "ticket balances gap",
          ])
        }).pipe(Effect.scoped, Effect.orDie),
    ]),
  )

  it.effect("is accepted by a resume, and its open payment is decided again", () =>
    behindOneAddress(
      [
        (front, ...args) =>
          Effect.gen(function* () {
            yield* grow(args[1])
            yield* untilSent(args)
            const other = yield* resetAlike
            front.manner = elsewhere(other.url)
            yield* steps(args, 45, other)
            const told = yield* alerts
            yield* resume
            yield* steps(args, 40, other)
            assert.deepStrictEqual([yield* halts, yield* states], [[], ["manual"]])
            assert.lengthOf(yield* newestAttempts, 1)
            assert.lengthOf(yield* paid(other), 0)
            const [intent] = yield* (yield* Outbox).recent(1)
            assert.match(intent?.detail ?? "", /^signed on block [12][0-9]{2} of the chain before the reset, /)
            const pages = (yield* alerts).slice(told.length).filter((one) => one.startsWith("page"))
            assert.deepStrictEqual(pages, [`page intent ${shortId(intent!.id).slice(0, 4)}`])
            assert.isNull((yield* verifyStore()).problem, "it is in the journal")
            const asked = { verb: { verb: "never_executed" }, author: "ana", reason: "that chain is gone" } as const
            yield* endIntent({ intentId: intent!.id, ...asked }, () => Effect.void)
            assert.deepStrictEqual(yield* states, ["abandoned"])
            yield* untilConfirmed(args, other)
            assert.deepStrictEqual([yield* halts, yield* states], [[], ["confirmed", "abandoned"]])
            assert.lengthOf(yield* paid(other), 1)
          }).pipe(Effect.scoped, Effect.orDie),
      ],
      { scenario: { pow } },
    ),
  )

  it.effect("is not read by a new process either", () => {
    let kept: ReadonlyArray<string> = []
    let url = ""
    return Effect.gen(function* () {
      const other = yield* resetNetwork
      url = other.url
      yield* behindOneAddress(
        [
          (front, ...args) =>
            Effect.gen(function* () {
              yield* untilConfirmed(args)
              yield* grow(args[1])
              yield* steps(args, 30)
              kept = yield* contents
              // What a start asks for first has answers; then there is nothing but the new chain.
              const there = elsewhere(url)
              front.manner = (request, ask) =>
                request.url.pathname.includes("parameters") ? ask() : there(request, ask)
            }).pipe(Effect.orDie),
          (_, ...args) =>
            Effect.gen(function* () {
              yield* steps(args, 45, other)
              assert.deepStrictEqual(yield* halts, ["chain_changed"])
              assert.deepStrictEqual(yield* contents, kept)
            }).pipe(Effect.orDie),
        ],
        { unlisted: true },
      )
    }).pipe(Effect.scoped)
  })

  it.effect("of one of three gateways is left out and told of, and others continue", () => {
    const { fronts, gateways } = threeFronts()
    const use: Flow = (...args) =>
      Effect.gen(function* () {
        yield* grow(args[1])
        yield* steps(args, 30, undefined, (name) => name !== "decide")
        const other = yield* resetAlike
        fronts[1]!.manner = elsewhere(other.url)
        yield* untilConfirmed(args, other)
        yield* steps(args, 40, other)
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
        const second = Effect.flatMap(Health, ({ all }) => Effect.map(all, (views) => views[1]))
        const { state, detail } = (yield* second) ?? assert.fail("no gateway b")
        assert.strictEqual(state, "quarantined")
        assert.match(detail, /^its block \d+ cannot be the newest$/)
        yield* watchHealth()
        yield* TestClock.adjust("5 minutes")
        yield* steps(args, 3, other)
        yield* watchHealth()
        const ofGateways = Effect.map(alerts, (all) => all.filter((one) => one.includes("gateway")))
        assert.deepStrictEqual(yield* ofGateways, ["ticket health gateway down"])
        fronts[1]!.manner = honest
        yield* steps(args, 3, other)
        yield* watchHealth()
        assert.deepStrictEqual(yield* ofGateways, ["ticket health gateway down", "info health gateway down"])
        assert.deepStrictEqual(yield* drifts, [])
      }).pipe(Effect.scoped, Effect.orDie)
    return lives([use], { gateways, scenario: { pow } })
  })

  it.effect("of two of three gateways halts, and a resume accepts it", () => {
    const { fronts, gateways } = threeFronts()
    const use: Flow = (...args) =>
      Effect.gen(function* () {
        yield* untilConfirmed(args)
        yield* grow(args[1])
        yield* steps(args, 30)
        const before = yield* contents
        const other = yield* resetAlike
        for (const front of fronts.slice(0, 2)) front.manner = elsewhere(other.url)
        yield* steps(args, 45, other)
        assert.deepStrictEqual(yield* halts, ["chain_changed"])
        assert.include(yield* haltWords, "as many gateways as must agree begins again below block")
        assert.deepStrictEqual(yield* contents, before)
        yield* resume
        yield* untilConfirmed(args, other)
        yield* steps(args, 40, other)
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed", "confirmed"], []])
        assert.lengthOf(yield* paid(other), 1)
      }).pipe(Effect.scoped, Effect.orDie)
    return lives([use], { gateways, scenario: { pow } })
  })
})
