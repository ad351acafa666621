import { Effect, Predicate } from "effect"
import { StoreError } from "./StoreError.ts"
import { trip, violated } from "./trip.ts"

/** Primary result codes of SQLite. */
const busy = new Set([5, 6])
const constraint = 19

/** SQLite's own code for the failure, from wherever it lies among the causes; undefined where SQLite gave none. */
const codeOf = (error: unknown): number | undefined => {
  for (let cause = error, depth = 0; typeof cause === "object" && cause !== null && depth < 8; depth++) {
    if (Predicate.hasProperty(cause, "errcode") && typeof cause.errcode === "number") return cause.errcode & 0xff
    const next: unknown = Reflect.get(cause, "cause")
    cause = next === undefined ? Reflect.get(cause, "reason") : next
  }
  return undefined
}

/** Halts on a failure of the store, by what it says: a disk that takes nothing, or a row that may not be. */
export const tripFor = Effect.fn("Brake.tripFor")(function* (error: StoreError) {
  const code = codeOf(error)
  if (code !== undefined && busy.has(code)) return
  if (code === constraint) return yield* violated("constraints", error.message)
  if (/: no way to /.test(error.message)) return yield* violated("legal_moves", error.message)
  yield* trip("store_error", error.message)
})

/** The loop as it is; a failure of the store that ends it halts all signing first. */
export const guarded = <A, E, R>(loop: Effect.Effect<A, E, R>) =>
  Effect.tapError(loop, (error) => (error instanceof StoreError ? tripFor(error) : Effect.void))
