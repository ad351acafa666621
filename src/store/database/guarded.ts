import { Effect, Predicate } from "effect"
import { trip, violated } from "../controls/trip.ts"
import { doubtful } from "./NodeSqlite.ts"
import { StoreError } from "./StoreError.ts"

/** Primary result codes of SQLite. */
const busy = new Set([5, 6])
const constraint = 19
/** No permission, read-only, full, cannot be opened, and what leaves the file in doubt. */
const unwritable = new Set([3, 8, 13, 14, ...doubtful])

/** SQLite's own primary code for the failure, wherever it lies among the causes; undefined where SQLite gave none. */
const codeOf = (error: unknown): number | undefined => {
  for (let cause = error, depth = 0; typeof cause === "object" && cause !== null && depth < 8; depth++) {
    if (Predicate.hasProperty(cause, "errcode") && typeof cause.errcode === "number") return cause.errcode & 0xff
    const next: unknown = Reflect.get(cause, "cause")
    cause = next === undefined ? Reflect.get(cause, "reason") : next
  }
  return undefined
}

const isOf = (error: unknown, codes: ReadonlySet<number>) =>
  error instanceof StoreError && codes.has(codeOf(error) ?? 0)

/** True if the store accepts no writes: no halt and no alert can be stored. */
export const isUnwritten = (error: unknown): error is StoreError => isOf(error, unwritable)
/** True if the store must be closed, opened and checked before it is used again. */
export const isDoubtful = (error: unknown): boolean => isOf(error, doubtful)
/** True if another process has locked the file. */
export const isBusy = (error: unknown): boolean => isOf(error, busy)

/** Halts on a failure of the store that is a mistake. Fails where the store takes no writes: nothing can halt then. */
export const tripFor = Effect.fn("Brake.tripFor")(function* (error: StoreError) {
  const code = codeOf(error) ?? 0
  if (unwritable.has(code)) return yield* error
  if (busy.has(code)) return
  if (code === constraint) return yield* violated("constraints", error.message)
  if (/: no way to /.test(error.message)) return yield* violated("legal_moves", error.message)
  yield* trip("store_error", error.message)
})

/** The loop as it is; a failure of the store that ends it halts all signing first. */
export const guarded = <A, E, R>(loop: Effect.Effect<A, E, R>) =>
  Effect.tapError(loop, (error) => (error instanceof StoreError ? tripFor(error) : Effect.void))
