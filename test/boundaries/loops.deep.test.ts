import { isDeepStrictEqual } from "node:util"
import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { chainBounds } from "../../src/domain/chain.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import type { GatewayError } from "../../src/gateway/GatewayError.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { backfillOnce } from "../../src/poller/Backfill.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { payersOf, pollWorkAndEpoch, readParameters } from "../../src/poller/pollNetwork.ts"
import { reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { alice, type Flow, flow, states } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { decoders } from "./decoders.ts"
import { headers, type Lie, makeLiar, type Place, startLiar, withBoundary } from "./lies.ts"

/** One minute, one block, and one round of each loop: what a gateway does is no error of a round. */
const everyLoop = Effect.fnUntraced(function* ([options, sandbox]: Parameters<Flow>, waits = "1 second") {
  const tried = <A, E, R>(loop: Effect.Effect<A, E | GatewayError, R>) =>
    Effect.catchIf(
      loop,
      (error): error is GatewayError => (error as { _tag?: string })._tag === "GatewayError",
      () => Effect.void,
    )
  yield* TestClock.adjust(waits as "1 second")
  yield* sandbox.stepBlock
  yield* pollWorkAndEpoch(payersOf(options.treasury.parties.values()))
  yield* readParameters
  yield* tried(pollAssets([...options.treasury.assets.values()]))
  for (let i = 0; i < 3; i++) yield* tried(pollBalances(options.treasury))
  yield* tried(backfillOnce(options.treasury))
  yield* tried(reconcileBalances(options.treasury))
  yield* tried(reconcileOnce())
  yield* (yield* ChainState).quota(alice)
  yield* decideOnce()
  yield* tried(submitOnce())
  yield* tried(confirmOnce())
})

const storeHalts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT reason, detail FROM halts WHERE reason IN ('store_error', 'invariant')`
  return rows.map(({ reason, detail }) => `${reason}: ${detail}`)
})

const minute = "61 seconds"

/** What the product reads of a network while it pays, as places of integers. */
const places = Effect.gen(function* () {
  const liar = makeLiar()
  yield* flow(
    function* (...flowed) {
      for (let i = 0; i < 8; i++) yield* everyLoop(flowed, i === 6 ? minute : undefined)
      assert.deepStrictEqual(yield* states, ["confirmed"])
    },
    { front: startLiar(liar) },
  )
  return [...liar.places.values()].filter(isRead)
})

/** Whether anything is read of it: a proof of work without end is no matter of the store. */
const isRead = ({ route, keys, sample }: Place): boolean => {
  if (route === headers) return true
  const decoder = Object.values(decoders).find((one) => one.route?.test(route) === true)
  if (decoder === undefined || keys === ".spamPowDifficulty") return false
  const decode = Schema.decodeUnknownExit(decoder.schema)
  const good = decode(sample)
  return [1n, -1n].some((value) => !isDeepStrictEqual(decode(JSON.parse(withBoundary(sample, keys, value))), good))
}

/**
 * Lies from the start, or from when a payment is on its way; then the truth again. Gives what went wrong that is no
 * failure of a gateway.
 */
const suffer = (lies: ReadonlyArray<Lie>, begins: "at once" | "sent") => {
  const liar = makeLiar()
  const life = flow(
    function* (...flowed) {
      if (begins === "sent") for (let i = 0; i < 5; i++) yield* everyLoop(flowed)
      for (const lie of lies) {
        liar.lie = lie
        yield* everyLoop(flowed, minute)
      }
      liar.lie = undefined
      for (let i = 0; i < 2; i++) yield* everyLoop(flowed)
      assert.deepStrictEqual(yield* storeHalts, [])
    },
    { front: startLiar(liar) },
  )
  return Effect.map(Effect.exit(life), (exit) => {
    if (Exit.isSuccess(exit)) return []
    const { route, keys, value } = liar.lie ?? lies[0]!
    return [`${route}${keys} = ${value}, ${begins}: ${Cause.pretty(exit.cause).slice(0, 300)}`]
  })
}

/** Where an answer's integers come into columns. */
const isStored = ({ route, keys }: Place): boolean =>
  route === headers || /height|timestamp|block|\.amount|quantity/i.test(keys)

/** The ends of what a double, our own bounds and a column hold, and what is below all of them. */
const edges = [-1n, 2n ** 53n, 9n * 10n ** 18n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n]
describe("integers of a gateway's answers", () => {
  it.effect("none at its boundary is an error of the store", function* () {
    const all = yield* places
    assert.isAtLeast(all.length, 20)
    const problems: Array<string> = []
    for (const place of all) {
      problems.push(
        ...(yield* suffer(
          edges.map((value) => ({ ...place, value })),
          "sent",
        )),
      )
    }
    assert.deepStrictEqual(problems, [])
    console.log(`${all.length * edges.length} boundaries in ${all.length} places`)
  })

  it.effect("nor is its last one accepted where a payment is not signed yet", function* () {
    const problems: Array<string> = []
    for (const place of (yield* places).filter(isStored)) {
      problems.push(...(yield* suffer([{ ...place, value: chainBounds.heightMax }], "at once")))
    }
    assert.deepStrictEqual(problems, [])
  })
})
