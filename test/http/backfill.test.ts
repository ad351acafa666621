import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { backfillOnce } from "../../src/poller/Backfill.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { ask, controlled } from "../support/Control.ts"
import { round } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { waitUntil } from "../support/until.ts"

describe("a daemon that is asked for the past", () => {
  it.effect("reads it in the background, shows its progress, and then has it", () =>
    controlled(function* (options, sandbox) {
      const observations = yield* Observations
      yield* round(options, sandbox)
      const before = (yield* observations.watermark)!.timestamp
      const since = String(before - 3_600_000_000_000n)
      const asked = yield* ask(options, "/api/v1/backfill", { since })
      assert.strictEqual(asked.status, 200, asked.text)
      const view = yield* ask(options, "/api/v1/status")
      assert.containSubset(view.json, { backfills: [{ share: 0 }], gaps: [] })
      yield* round(options, sandbox)
      const isRead = Effect.map(backfillOnce(options.treasury), (hasMore) => !hasMore)
      yield* waitUntil("all of the past", isRead)
      assert.containSubset((yield* ask(options, "/api/v1/status")).json, { backfills: [] })
      assert.isAbove(Number((yield* observations.watermark)!.timestamp), Number(before))
      const refused = yield* ask(options, "/api/v1/backfill", { since: "1" })
      assert.strictEqual(refused.status, 400)
      assert.containSubset(refused.json, { error: "no network is that old" })
    }),
  )
})
