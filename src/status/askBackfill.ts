import { Clock, Effect } from "effect"
import { Backfills } from "../store/Backfills.ts"
import { Observations } from "../store/Observations.ts"
import { Signals } from "../store/Signals.ts"
import { problem } from "./stories.ts"

/** What was asked of the past; `until` null: it is known already, or asked for. Times are ISO text. */
interface AskedBackfill {
  readonly since: string
  readonly until: string | null
}

/** No ledger of this kind is older: networks refuse a time before it. */
const oldest = BigInt(Date.UTC(2020, 0, 1, 0, 0, 1)) * 1_000_000n

/** Has the daemon read every balance change since a time (Unix nanoseconds), now or when it runs next. */
export const askBackfill = Effect.fn("Backfill.ask")(function* (since: bigint, keepMillis: number) {
  const backfills = yield* Backfills
  const now = yield* Clock.currentTimeMillis
  const at = (since / 1_000n) * 1_000n
  if (at < oldest)
    return problem("no network is that old", 400, "give a time after 2020-01-01, or a duration such as 7d")
  if (at >= BigInt(now) * 1_000_000n) return problem("that time is yet to come", 400, "give a time of the past")
  if (at < BigInt(now - keepMillis) * 1_000_000n) {
    return problem("rows as old as that are not kept", 400, "let store.keep of the treasury file be longer")
  }
  if ((yield* (yield* Observations).watermark) === undefined) {
    return problem("no balance was read yet", 400, "run the daemon first: the past ends where its reading began")
  }
  const asked = yield* backfills.since(at)
  yield* (yield* Signals).wake("backfill")
  const iso = (nanos: bigint) => new Date(Number(nanos / 1_000_000n)).toISOString()
  return { since: iso(at), until: asked === undefined ? null : iso(asked.until) } satisfies AskedBackfill
})
