import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { readWindow } from "../../src/poller/readWindow.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { it } from "../support/it.ts"
import { backfillAll, openPoller, pollAll, pollerOptions, storedRows, textOf } from "../support/Poller.ts"
import { replayOf } from "./ReplayGateway.ts"

const sorted = (rows: ReadonlyArray<BalanceChange>) => rows.map(textOf).sort()

/** Rows of the ledger's history that are stored, as texts in order. */
const stored = Effect.map(storedRows, sorted)

describe("ten recorded minutes of a real network", () => {
  it.effect("are stored row by row and transition by transition, second by second", function* () {
    const replay = replayOf()
    const { history, moments, watched } = replay
    const own = history.rows.filter(({ party }) => watched.includes(party))
    assert.deepStrictEqual([history.rows.length, own.length, moments.length], [2_213, 1_097, 796])
    const options = pollerOptions(watched)
    const { run } = yield* openPoller(history)
    const transitions: Array<string> = []
    yield* run(function* () {
      const listings = yield* Listings
      const paces = new Map()
      for (const moment of moments) {
        replay.show(moment)
        yield* TestClock.setTime(moment.atMillis)
        yield* pollAll(options, paces)
        if (moment.assets !== undefined) yield* pollAssets()
        for (const { seq, symbol, from, to } of yield* listings.unhandled) {
          transitions.push(`${symbol}: ${from} -> ${to}`)
          yield* listings.markHandled(seq)
        }
      }
      const begun = moments[0]!.begun.timestamp
      const later = own.filter(({ timestamp }) => timestamp >= begun)
      assert.strictEqual(later.length, 1_058, "what was before the first poll is not read unasked")
      assert.deepStrictEqual(yield* stored, sorted(later))
      yield* (yield* Observations).backfillSince(history.rows[0]!.timestamp)
      yield* backfillAll(options)
      assert.deepStrictEqual(yield* stored, sorted(own))
    })
    assert.deepStrictEqual(transitions, [
      "VEGA: undefined -> proposed",
      "VEGA: proposed -> pendingListing",
      "VEGA: pendingListing -> enabled",
    ])
    assert.isBelow(history.asked.length, moments.length + 20, "one question a poll")
  })

  it.effect("are read whole, of everybody, in windows that fit pages of any size", function* () {
    for (const pageRows of [5_000, 1_000, 97, 20, 7]) {
      const replay = replayOf()
      const { history } = replay
      for (const moment of replay.moments) replay.show(moment)
      const last = replay.moments.at(-1)!
      history.pageMax = pageRows
      const { run } = yield* openPoller(history)
      const now = BigInt(last.atMillis) * 1_000_000n
      const rows = yield* run(function* () {
        const reader = yield* GatewayReader
        const found: Array<BalanceChange> = []
        for (let from = history.rows[0]!.timestamp, more = true; more; ) {
          const answer = yield* readWindow(reader, { parties: [], from, end: undefined, pageRows, now })
          if (answer._tag !== "Rows") return assert.fail(answer._tag)
          found.push(...answer.rows)
          more = answer.more
          from = answer.until
        }
        return found
      })
      assert.deepStrictEqual(sorted(rows), sorted(history.rows), `pages of ${pageRows}`)
    }
  })
})
