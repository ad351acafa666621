import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { newHistory } from "../support/HistoryServer.ts"
import { it } from "../support/it.ts"
import { openPoller, pollAll, pollerOptions, storedRows } from "../support/Poller.ts"

const second = 1_000_000_000n
const startMillis = 1_800_000_000_000
const start = BigInt(startMillis) * 1_000_000n
const parties = ["a".repeat(64), "b".repeat(64)]
const pageRows = 100
const blocks = 20

/** One block a second, each of `rows` accounts. */
const chain = (rows: number): ReadonlyArray<BalanceChange> =>
  Array.from({ length: blocks * rows }, (_, i) => ({
    timestamp: start + BigInt(1 + Math.floor(i / rows)) * second,
    party: parties[i % 2]!,
    asset: "1".repeat(64),
    market: String(i % rows).padStart(64, "0"),
    type: "ACCOUNT_TYPE_MARGIN",
    balance: BigInt(i),
  }))

/** Reads each block when it is final; how often the gateway was asked for each, and what was stored. */
const readAll = Effect.fnUntraced(function* (rows: number, pageMax: number) {
  const history = { ...newHistory(chain(rows)), pageMax, refusesMore: true, begun: { height: 1n, timestamp: start } }
  const { run } = yield* openPoller(history)
  const options = pollerOptions(parties, { pageRows })
  const paces = new Map()
  return yield* run(function* () {
    const asked: Array<number> = []
    for (let block = 0n; block <= BigInt(blocks); block++) {
      history.begun = { height: 2n + block, timestamp: start + block * second + 1_000n }
      yield* TestClock.setTime(startMillis + Number(block) * 1_000 + 1)
      const before = history.asked.length
      yield* pollAll(options, paces)
      asked.push(history.asked.length - before)
    }
    return { asked, stored: yield* storedRows }
  })
})

describe("blocks that are larger than a page", () => {
  it.effect("are read with one question each, once the first of them was met", function* () {
    const { asked, stored } = yield* readAll(250, 5_000)
    assert.lengthOf(stored, blocks * 250)
    assert.deepStrictEqual(
      asked.slice(3).filter((n) => n !== 1),
      [],
      `questions by block: ${asked}`,
    )
  })

  it.effect("are read in parts from a gateway that refuses larger pages", function* () {
    const { asked, stored } = yield* readAll(150, pageRows)
    assert.lengthOf(stored, blocks * 150)
    assert.isAbove(asked.at(-1) ?? 0, 1)
  })

  it.effect("leave no large pages behind them", function* () {
    const { asked, stored } = yield* readAll(40, 5_000)
    assert.lengthOf(stored, blocks * 40)
    assert.deepStrictEqual(new Set(asked.slice(1)), new Set([1]))
  })
})
