import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { takeSnapshot } from "../../src/engine/snapshot.ts"
import { payersOf, pollParameters, pollWorkAndEpoch } from "../../src/poller/pollNetwork.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { feeParametersOf } from "../../src/submitter/SigningFacts.ts"
import { alice, type Flow, type FlowServices, flow } from "../support/Flow.ts"
import { altered, type Front, honest, type Manner, rewritten, threeFronts } from "../support/Fronts.ts"
import type { Body } from "../support/it.ts"
import { behind as behindFront } from "../support/LoneLiar.ts"
import { usdt } from "../support/TestSandbox.ts"

const notFound = JSON.stringify({ code: 5, message: "Not Found", details: [] })
/** A gateway that has no operation below one of these paths. */
const without = (...paths: ReadonlyArray<string>): Manner =>
  altered(
    ({ url }) => paths.some((path) => url.pathname.startsWith(path)),
    () => ({ status: 404, headers: {}, text: notFound }),
  )
const failing = (...paths: ReadonlyArray<string>): Manner =>
  altered(
    ({ url }) => paths.some((path) => url.pathname.startsWith(path)),
    () => ({ status: 503, headers: {}, text: "" }),
  )
const epochPaths = ["/statistics", "/api/v2/epoch"]
const countPath = "/statistics/spam"
const parametersPath = "/api/v2/network/parameters"
/** All transfers of the key are used up. */
const usedUp = rewritten("countForEpoch", () => "1000000", countPath)

/** The network behind one gateway. */
const behind = (use: Body<[front: Front, ...Parameters<Flow>], FlowServices>) =>
  behindFront({ scenario: { transfersPerEpoch: 5, epochLength: "10d" } }, (front, _, ...args) => use(front, ...args))

const look = ({ treasury }: Parameters<Flow>[0]) => pollWorkAndEpoch(payersOf(treasury.parties.values()))
const quota = Effect.flatMap(ChainState, (state) => state.quota(alice))
const epoch = Effect.flatMap(ChainState, (state) => state.epoch)
const minute = TestClock.adjust("1 minute")
const read = Effect.ignore(pollParameters())
const listed = Effect.flatMap(Listings, (listings) => listings.parameters)
const terms = Effect.map(takeSnapshot(new Map()), (snapshot) => snapshot.parameters)

describe("an epoch that the gateway told", () => {
  it.effect("is forgotten once it has no such operation", () =>
    behind(function* (front, options) {
      yield* look(options)
      assert.containSubset(yield* quota, { limit: 5, used: 0 })
      front.manner = without(...epochPaths)
      yield* minute
      yield* look(options)
      assert.deepStrictEqual([yield* epoch, yield* quota], [undefined, undefined])
    }),
  )

  it.effect("is back with the next call where one answer alone said so", () =>
    behind(function* (front, options) {
      yield* look(options)
      front.manner = without(...epochPaths)
      yield* minute
      yield* look(options)
      front.manner = honest
      yield* look(options)
      assert.containSubset(yield* quota, { limit: 5, used: 0 })
    }),
  )

  it.effect("counts for 26 hours while unreadable, and again once it is readable", () =>
    behind(function* (front, options) {
      yield* look(options)
      front.manner = failing(...epochPaths)
      for (let i = 0; i < 25; i++) {
        yield* TestClock.adjust("1 hour")
        yield* look(options)
        assert.isDefined(yield* quota)
      }
      yield* TestClock.adjust("1 hour")
      yield* look(options)
      assert.isDefined(yield* epoch)
      assert.isUndefined(yield* quota)
      front.manner = honest
      yield* look(options)
      assert.containSubset(yield* quota, { limit: 5, used: 0 })
    }),
  )
})

describe("a count of transfers that the gateway told", () => {
  const told = Effect.map(quota, (known) => known?.used)

  it.effect("is forgotten once it has no such operation", () =>
    behind(function* (front, options) {
      front.manner = usedUp
      yield* minute
      yield* look(options)
      assert.strictEqual(yield* told, 1_000_000)
      front.manner = without(countPath)
      yield* minute
      yield* look(options)
      assert.strictEqual(yield* told, 0)
    }),
  )

  it.effect("counts for 26 hours where it cannot be read any more", () =>
    behind(function* (front, options) {
      front.manner = usedUp
      yield* minute
      yield* look(options)
      front.manner = failing(countPath)
      yield* TestClock.adjust("25 hours")
      yield* look(options)
      assert.strictEqual(yield* told, 1_000_000)
      yield* TestClock.adjust("1 hour")
      yield* look(options)
      yield* read
      assert.deepInclude(yield* quota, { used: 0, limit: 5 })
    }),
  )
})

describe("parameters of the network that the gateway told", () => {
  it.effect("are forgotten once the operation is gone for a while, and the configured fee applies", () =>
    behind(function* (front) {
      yield* read
      assert.isDefined(yield* terms)
      assert.isDefined(yield* feeParametersOf(usdt))
      front.manner = without(parametersPath)
      yield* minute
      yield* read
      yield* TestClock.adjust("15 seconds")
      yield* read
      assert.strictEqual((yield* listed).size, 0)
      assert.isUndefined(yield* terms)
      assert.isUndefined(yield* feeParametersOf(usdt), "nothing is written down here")
    }),
  )

  it.effect("hold where some answers say that there are none, as a proxy does", () =>
    behind(function* (front) {
      for (let i = 0; i < 2; i++) {
        front.manner = without(parametersPath)
        yield* TestClock.adjust("3 minutes")
        yield* read
        assert.isDefined(yield* terms)
        assert.isDefined((yield* feeParametersOf(usdt))?.readAt, "the network's, not one that is written down")
        front.manner = honest
        yield* read
      }
      assert.isDefined(yield* terms)
    }),
  )

  it.effect("are not replaced by the configured fee at a first start where one answer says that there are none", () =>
    behindFront(
      { network: { fee: { factor: "0.001", maxQuantum: "1" } } },
      function* (front) {
        yield* TestClock.adjust("14 seconds")
        yield* read
        assert.isUndefined(yield* feeParametersOf(usdt))
        front.manner = honest
        yield* TestClock.adjust("1 second")
        yield* read
        assert.isDefined((yield* feeParametersOf(usdt))?.readAt, "the network's, not the one that is written down")
      },
      without(parametersPath),
    ),
  )

  it.effect("bound an epoch and amounts until they can be read again", () =>
    behind(function* (front, options) {
      front.manner = (request, ask) =>
        request.url.pathname.startsWith(parametersPath)
          ? failing(parametersPath)(request, ask)
          : without(countPath)(request, ask)
      yield* TestClock.adjust("10 hours")
      yield* read
      yield* look(options)
      assert.containSubset(yield* quota, { limit: 5 })
      assert.isDefined(yield* terms, "rules would else decide what the network refuses")
    }),
  )

  it.effect("are taken back by as many gateways as must agree, and by no fewer", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* () {
          const [a, b] = fronts
          if (a === undefined || b === undefined) return assert.fail("no fronts")
          a.manner = without(parametersPath)
          yield* minute
          yield* read
          assert.isAbove((yield* listed).size, 0)
          b.manner = without(parametersPath)
          yield* minute
          yield* read
          yield* TestClock.adjust("15 seconds")
          yield* read
          assert.strictEqual((yield* listed).size, 0)
        },
        {
          gateways,
        },
      )
    }),
  )
})
