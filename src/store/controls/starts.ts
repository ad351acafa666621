import { Clock, Effect, Schema } from "effect"
import { newestBlock } from "../database/columns.ts"
import { jsonSetting, memoizeLast, Settings } from "../database/Settings.ts"
import { Sql } from "../database/Sql.ts"

/** Setting: the last starts of this store's processes, their files, and how each process ended. */
const key = "starts"
const Starts = Schema.Array(
  Schema.Struct({
    at: Schema.Finite,
    files: Schema.optionalKey(Schema.NonEmptyArray(Schema.String)),
    end: Schema.optionalKey(Schema.String),
    /** Unix milliseconds; of a process that was killed, its newest block. */
    endedAt: Schema.optionalKey(Schema.Finite),
  }),
)
const read = memoizeLast(jsonSetting(Starts).decode)
const kept = 100

const startsNow = Effect.gen(function* () {
  return read(yield* (yield* Settings).get(key)) ?? []
})
const save = Effect.fnUntraced(function* (starts: typeof Starts.Type) {
  yield* (yield* Settings).set(key, JSON.stringify(starts.slice(-kept)))
})

/** Notes a start by these files. A process before it that noted no end was killed, or its machine was. */
export const noteStart = Effect.fn("Starts.note")(function* (files?: readonly [string, ...ReadonlyArray<string>]) {
  const at = yield* Clock.currentTimeMillis
  const starts = yield* startsNow
  const last = starts.at(-1)
  const newest = (yield* newestBlock(yield* Sql)) ?? 0
  const ended = last === undefined ? [] : [{ endedAt: Math.max(last.at, newest), ...last }]
  yield* save([...starts.slice(0, -1), ...ended, { at, ...(files && { files }) }])
})

/** The files of the last start, as absolute paths; undefined where none is noted. */
export const lastFiles = Effect.map(startsNow, (starts) => starts.at(-1)?.files)

const stopped = "stopped"

/** Notes how this process ends: a stop by a signal, or its error. */
export const noteEnd = Effect.fn("Starts.noteEnd")(function* (error?: string) {
  const starts = yield* startsNow
  const last = starts.at(-1)
  if (last === undefined) return
  const endedAt = yield* Clock.currentTimeMillis
  yield* save([...starts.slice(0, -1), { ...last, end: error?.slice(0, 200) ?? stopped, endedAt }])
})

/** The time around `at` (Unix milliseconds) in which no process read balances; null where one did, or none is known. */
export const idleAround = Effect.fnUntraced(function* (at: number) {
  const starts = yield* startsNow
  const i = starts.findLastIndex((start) => start.at <= at)
  const from = starts[i]?.endedAt
  return from === undefined || at <= from ? null : { from, until: starts[i + 1]?.at ?? null }
})

/** How long an end counts. */
const loopMillis = 900_000

/** How processes ended that were not stopped, in the last 15 minutes, the newest last. */
export const crashes = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  const starts = yield* startsNow
  return starts.slice(0, -1).flatMap(({ end = "killed, or ended without a word" }, i) => {
    const next = starts[i + 1]?.at ?? now
    return end === stopped || next > now || now - next >= loopMillis ? [] : [end]
  })
})
