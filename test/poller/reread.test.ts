import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { rereadRows } from "../../src/poller/rereadRows.ts"
import { Drifts } from "../../src/store/Drifts.ts"
import { newHistory } from "../support/HistoryServer.ts"
import { openPoller, pollAll, pollerOptions } from "../support/Poller.ts"

const second = 1_000_000_000n
const startMillis = 1_800_000_000_000
const start = BigInt(startMillis) * 1_000_000n
const party = "a".repeat(64)
const count = 12_000

/** Ten rows a second. */
const rows: ReadonlyArray<BalanceChange> = Array.from({ length: count }, (_, i) => ({
  timestamp: start + BigInt(1 + Math.floor(i / 10)) * second,
  party,
  asset: "1".repeat(64),
  market: String(i % 10).padStart(64, "0"),
  type: "ACCOUNT_TYPE_MARGIN",
  balance: BigInt(i),
}))
const end = rows.at(-1)!.timestamp + second

describe("reading rows a second time", () => {
  it.effect("holds hardly more rows in memory than the gateway shows", () =>
    Effect.gen(function* () {
      const history = { ...newHistory(rows), begun: { height: 1n, timestamp: start } }
      const { run } = yield* openPoller(history)
      const options = pollerOptions([party])
      yield* TestClock.setTime(startMillis)
      yield* run(pollAll(options))
      history.begun = { height: 2_000n, timestamp: end }
      yield* TestClock.setTime(Number(end / 1_000_000n))
      yield* run(pollAll(options))
      const reread = Effect.gen(function* () {
        return yield* rereadRows(yield* GatewayReader, { parties: [party], pageRows: 1_000 })
      })
      history.keptFrom = end - 60n * second
      assert.deepInclude(yield* run(reread), { found: 0, contradicted: true, complete: false })
      const between = (max: number) =>
        run(
          Effect.flatMap(Drifts, (drifts) => Effect.map(drifts.rowsBetween(start, end, max), (found) => found?.length)),
        )
      assert.strictEqual(yield* between(count), count)
      assert.isUndefined(yield* between(count - 1))
      history.keptFrom = 0n
      assert.deepInclude(yield* run(reread), { found: 0, contradicted: false, complete: true })
    }).pipe(Effect.scoped),
  )
})
