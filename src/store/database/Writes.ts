import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Takeover } from "./pgLease.ts"

const writing =
  /^\s*(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+(?!OR\b)"?(\w+)"?(?=[\s(])/i

/** The tables that a statement writes; "*" stands for any, none: it only reads. */
export const tablesWritten = (sql: string): string | undefined => {
  if (/^\s*(?:SELECT\b|WITH\b(?![\s\S]*\b(?:INSERT|UPDATE|DELETE|REPLACE)\b))/i.test(sql)) {
    return undefined
  }
  // After the rollback of a savepoint its transaction reads on; after that of a whole transaction nobody does.
  if (/^\s*ROLLBACK\s+TO\b/i.test(sql)) return "*"
  // These write no rows themselves.
  if (/^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i.test(sql)) return ""
  return writing.exec(sql)?.[1] ?? "*"
}

/** Versions of tables: remembered rows are valid while the version is the same as when they were read. */
export interface Writes {
  /** Grows with each write to one of the tables; undefined while a transaction that wrote one is open. */
  readonly versionOf: (tables: ReadonlyArray<string>) => number | undefined
  /** The same for the transaction that is open: what it wrote itself counts. */
  readonly versionWithin: (tables: ReadonlyArray<string>) => number
  /** Records a statement that writes, after it ran or failed. */
  readonly note: (table: string) => void
}

/** State of an open database beside its client. */
export class Backend extends Context.Service<
  Backend,
  {
    readonly writes: Writes
    /**
     * True if this process has the lease, by its own monotonic clock. The lease is the right to move money: only one of
     * all processes on a store has it.
     */
    readonly isLeaseHeld: Effect.Effect<boolean>
    /** Absent: there is none. `release` gives it up, in a transaction; after that one's end, `end` is to be run. */
    readonly lease?:
      | { readonly release: Effect.Effect<unknown, SqlError.SqlError>; readonly end: Effect.Effect<void> }
      | undefined
    /** How this process got the lease, if another one had it before. */
    readonly takeover?: Takeover | undefined
  }
>()("cofferer/store/Backend") {}

/** `isInTransaction`: true while a transaction of this client is open. */
export const makeWrites = (isInTransaction: () => boolean): Writes => {
  let count = 0
  const written = new Map<string, number>()
  /** Tables written in the transaction that is open. */
  const open = new Set<string>()
  const closeOpen = () => {
    if (isInTransaction() || open.size === 0) return
    // Committed or not: rows read meanwhile may be of either state.
    count++
    for (const table of open) written.set(table, count)
    open.clear()
  }
  const newest = (tables: ReadonlyArray<string>): number =>
    tables.reduce((most, table) => Math.max(most, written.get(table) ?? 0), written.get("*") ?? 0)
  return {
    note: (table) => {
      if (table !== "") {
        written.set(table, ++count)
        open.add(table)
      }
      closeOpen()
    },
    versionOf: (tables) => {
      closeOpen()
      if (open.has("*") || tables.some((table) => open.has(table))) return undefined
      return newest(tables)
    },
    versionWithin: (tables) => {
      closeOpen()
      return newest(tables)
    },
  }
}
