import { Effect, Predicate } from "effect"
import { DiskSpace, type Room } from "./DiskSpace.ts"
import { haltOnFullDisk } from "./fullDisk.ts"
import { Settings } from "./Settings.ts"
import { StoreError } from "./StoreError.ts"
import { trip, violated } from "./trip.ts"

/** Primary result codes of SQLite. */
const busy = new Set([5, 6])
const constraint = 19
const full = 13
/** Of its extended ones: the disk did not take a write, which has any cause. */
const notWritten = 778

/** SQLite's own extended code for the failure, wherever it lies among the causes; undefined where SQLite gave none. */
const codeOf = (error: unknown): number | undefined => {
  for (let cause = error, depth = 0; typeof cause === "object" && cause !== null && depth < 8; depth++) {
    if (Predicate.hasProperty(cause, "errcode") && typeof cause.errcode === "number") return cause.errcode
    const next: unknown = Reflect.get(cause, "cause")
    cause = next === undefined ? Reflect.get(cause, "reason") : next
  }
  return undefined
}

/** Whether the disk took a write neither of the store nor of anything else. */
const isDiskFull = Effect.fnUntraced(function* (code: number | undefined, { free, needed }: Room) {
  if (code === full) return true
  if (code !== notWritten) return false
  return (free !== undefined && free < needed) || !(yield* (yield* DiskSpace).probe)
})

/** Halts on a failure of the store, by what it says: a disk that takes nothing, or a row that may not be. */
export const tripFor = Effect.fn("Brake.tripFor")(function* (error: StoreError) {
  const code = codeOf(error)
  const primary = code === undefined ? undefined : code & 0xff
  if (primary !== undefined && busy.has(primary)) return
  if (primary === constraint) return yield* violated("constraints", error.message)
  if (/: no way to /.test(error.message)) return yield* violated("legal_moves", error.message)
  const room = yield* (yield* DiskSpace).room
  if (yield* isDiskFull(code, room)) return yield* haltOnFullDisk(room)
  yield* trip("store_error", error.message)
})

/** The loop as it is; a failure of the store that ends it halts all signing first. */
export const guarded = <A, E, R>(loop: Effect.Effect<A, E, R>) =>
  Effect.tapError(loop, (error) => (error instanceof StoreError ? tripFor(error) : Effect.void))

const probeMillis = 1_000

/** Waits until the store takes a write again. */
export const untilWritten = Effect.gen(function* () {
  const settings = yield* Settings
  const written = settings.set("writable", "1").pipe(
    Effect.as(true),
    Effect.catchTag("StoreError", () => Effect.succeed(false)),
  )
  do yield* Effect.sleep(probeMillis)
  while (!(yield* written))
})

/** Whether it is the disk that did not take what was written. */
export const isUnwritten = (error: unknown): error is StoreError => {
  const code = error instanceof StoreError ? codeOf(error) : undefined
  return code !== undefined && ((code & 0xff) === full || code === notWritten)
}

/**
 * The loop, which waits where a disk takes no writes and then begins anew: with all halted and people called, a process
 * that ended would take page, metrics and alerts away and change nothing.
 */
export const whileWritten = <E, R>(loop: Effect.Effect<never, E, R>) =>
  loop.pipe(
    Effect.catchIf(isUnwritten, () => untilWritten),
    Effect.forever,
  )
