import { Effect, Predicate } from "effect"
import { haltOnViolation, haltSigning } from "../controls/Controls.ts"
import { busy, doubtful } from "./NodeSqlite.ts"
import { StoreError } from "./StoreError.ts"
import { amongCauses, refusalOf, sqlStateOf } from "./sqlStates.ts"

/** Primary result codes of SQLite. */
const constraint = 19
/** Corrupt, no database. */
const damaged = new Set([11, 26])
/** No permission, read-only, full, cannot be opened, and what leaves the file in doubt. */
const unwritable = new Set([3, 8, 13, 14, ...doubtful])

/** SQLite's own primary code for the failure, wherever it lies among the causes; undefined where SQLite gave none. */
const codeOf = (error: unknown): number | undefined =>
  amongCauses(error, (cause) =>
    Predicate.hasProperty(cause, "errcode") && typeof cause.errcode === "number" ? cause.errcode & 0xff : undefined,
  )

/**
 * PostgreSQL's states in which it takes no writes: connection, role, endless conflicts, read-only, resources, locks,
 * operators, system, damage, a right that the role has lost.
 */
const unwritableStates = /^(?:08|28|40|53|55|57|58|XX|25006|25P03|42501)/

const kindOf = (error: unknown): "busy" | "constraint" | "unwritable" | undefined => {
  const refusal = refusalOf(error)
  if (refusal !== undefined) return refusal === "busy" ? "busy" : refusal === "refused" ? undefined : "unwritable"
  const code = codeOf(error)
  if (code !== undefined) {
    if (busy.has(code)) return "busy"
    return code === constraint ? "constraint" : unwritable.has(code) ? "unwritable" : undefined
  }
  const state = sqlStateOf(error) ?? ""
  return state.startsWith("23") ? "constraint" : unwritableStates.test(state) ? "unwritable" : undefined
}

/** True if the store accepts no writes: no halt and no alert can be stored. */
export const isUnwritable = (error: unknown): error is StoreError =>
  error instanceof StoreError && kindOf(error) === "unwritable"
/** True if the store must be closed, opened and checked before it is used again. */
export const isDoubtful = (error: unknown): boolean => error instanceof StoreError && doubtful.has(codeOf(error) ?? 0)
/** True if SQLite found the file damaged. An I/O error alone can also mean that the disk is full. */
export const isDamaged = (error: unknown): boolean => error instanceof StoreError && damaged.has(codeOf(error) ?? 0)
/** True if another process has taken the lease: its holder decides now. */
export const isTakenOver = (error: unknown): boolean => error instanceof StoreError && refusalOf(error) === "lost"
/** True if another process has locked the file, or holds the lease. */
export const isBusy = (error: unknown): boolean => error instanceof StoreError && kindOf(error) === "busy"

/**
 * Halts all signing on a store error, but not where another process holds the lease. Fails with the error where the
 * store takes no writes: no halt could be stored.
 */
export const haltOnStoreError = Effect.fn("Controls.haltOnStoreError")(function* (error: StoreError) {
  const kind = kindOf(error)
  if (kind === "unwritable") return yield* error
  if (kind === "busy") return
  if (kind === "constraint") return yield* haltOnViolation("constraints", error.message)
  if (/: no way to /.test(error.message)) return yield* haltOnViolation("legal_moves", error.message)
  yield* haltSigning("store_error", error.message)
})

/** The loop, with a halt of all signing before a store error ends it. */
export const haltingOnStoreErrors = <A, E, R>(loop: Effect.Effect<A, E, R>) =>
  Effect.tapError(loop, (error) => (error instanceof StoreError ? haltOnStoreError(error) : Effect.void))
