import { Context, type Effect } from "effect"
import type { Takeover } from "./pgLease.ts"

const writing =
  /^\s*(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+(?!OR\b)"?(\w+)"?(?=[\s(])/i

/** The tables that a statement writes; "*" stands for any, none: it only reads. */
export const tablesWritten = (sql: string): string | undefined => {
  if (/^\s*(?:SELECT\b|WITH\b(?![\s\S]*\b(?:INSERT|UPDATE|DELETE|REPLACE)\b))/i.test(sql)) {
    return undefined
  }
  // They end what was written, and write nothing themselves.
  if (/^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/i.test(sql)) return ""
  return writing.exec(sql)?.[1] ?? "*"
}

/**
 * When tables were last written through this connection: what was read of them before holds no longer. Where a
 * transaction that wrote one is open, nobody can say yet.
 */
export interface Writes {
  /** Grows with each write to one of the tables; undefined while a transaction that wrote one is open. */
  readonly versionOf: (tables: ReadonlyArray<string>) => number | undefined
  /** Hears of each statement that does not only read, once it ran or failed. */
  readonly note: (table: string) => void
}

/** What an open database tells beside its client's answers. */
export class Backend extends Context.Service<
  Backend,
  {
    readonly writes: Writes
    /**
     * The lease is the right to move money: one of all processes on one store has it. True if this process has it, by
     * its own monotonic clock.
     */
    readonly isLeaseHeld: Effect.Effect<boolean>
    /** Gives the lease up: another process may take it at once, and this one writes no more. Absent: there is none. */
    readonly handOver?: Effect.Effect<void> | undefined
    /** How this process came by the lease, if another one had it before. */
    readonly takeover?: Takeover | undefined
  }
>()("cofferer/store/Backend") {}

/** `isInTransaction`: true while a transaction of this client is open. */
export const makeWrites = (isInTransaction: () => boolean): Writes => {
  let count = 0
  const written = new Map<string, number>()
  /** Tables written in the transaction that is open. */
  const open = new Set<string>()
  const look = () => {
    if (isInTransaction() || open.size === 0) return
    // Committed or not: what others wrote or read in between is not to be relied on.
    count++
    for (const table of open) written.set(table, count)
    open.clear()
  }
  return {
    note: (table) => {
      if (table !== "") {
        written.set(table, ++count)
        open.add(table)
      }
      look()
    },
    versionOf: (tables) => {
      look()
      if (open.has("*") || tables.some((table) => open.has(table))) return undefined
      return tables.reduce((newest, table) => Math.max(newest, written.get(table) ?? 0), written.get("*") ?? 0)
    },
  }
}
