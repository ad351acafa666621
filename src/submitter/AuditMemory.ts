import { Context, Effect, Layer } from "effect"
import { nodesApart } from "../rules/saneHead.ts"

/** The last reading of a key's transfers on the ledger. */
interface Reading {
  /** Unix milliseconds. */
  readonly at: number
  /** All before this block time (Unix nanoseconds) was in it; the key's balance row of this time or later is news. */
  readonly until: bigint
  readonly isEmpty: boolean
}

/** In-memory state of the ledger audit. Rebuilt after a restart. */
export class AuditMemory extends Context.Service<AuditMemory>()("cofferer/submitter/AuditMemory", {
  make: Effect.sync(() => {
    const last = new Map<string, Reading>()
    const ends = new Map<string, string>()
    const rows = new Map<string, bigint>()
    const counted = new Map<string, number>()
    const times = new Map<string, number>()
    const dues = new Map<string, number>()
    let start: bigint | undefined
    return {
      lastReading: (party: string) => Effect.sync(() => last.get(party)),
      noteReading: (party: string, reading: Reading) => Effect.sync(() => last.set(party, reading)),
      /**
       * The newest block when the audit began: the height given first. A height that is lower by more than nodes differ
       * replaces it, since no listing would ever reach a false one.
       */
      startHeight: (height: bigint) =>
        Effect.sync(() => {
          if (start === undefined || height + nodesApart < start) start = height
          return start
        }),
      /** Forgets the start height and where readings ended. */
      restart: Effect.sync(() => {
        start = undefined
        ends.clear()
      }),
      /** Notes where a reading of the party's listing ended. True if the one before ended there too. */
      noteCursor: (party: string, cursor: string) =>
        Effect.sync(() => {
          const isSame = ends.get(party) === cursor
          ends.set(party, cursor)
          return isSame
        }),
      /** True if the party's newest balance row is newer than the last one that payments explained. */
      hasNewRows: (party: string, newestRow: bigint) =>
        Effect.sync(() => {
          const known = rows.get(party)
          return known === undefined || known < newestRow
        }),
      noteExplained: (party: string, newestRow: bigint) => Effect.sync(() => rows.set(party, newestRow)),
      /** Blocks in which the transfer was seen as done when its movements were last counted; 1 before. */
      counted: (transferId: string) => Effect.sync(() => counted.get(transferId) ?? 1),
      noteCounted: (transferId: string, executions: number) => Effect.sync(() => counted.set(transferId, executions)),
      /** Notes a time for the name, in Unix milliseconds; returns the first one noted. */
      firstSeen: (name: string, now: number) =>
        Effect.sync(() => {
          // A first sighting in the future was noted by a wrong clock.
          const first = Math.min(times.get(name) ?? now, now)
          times.set(name, first)
          return first
        }),
      /** Notes `now` for the name and returns true, unless a time within `everyMillis` of it is noted. */
      claimDue: (name: string, now: number, everyMillis: number) =>
        Effect.sync(() => {
          const before = dues.get(name)
          if (before !== undefined && Math.abs(now - before) < everyMillis) return false
          for (const [other, at] of dues) if (Math.abs(now - at) >= everyMillis) dues.delete(other)
          dues.set(name, now)
          return true
        }),
      /** Forgets a transfer and a name that nobody asks for any more. */
      forget: (transferId: string, name: string) =>
        Effect.sync(() => {
          counted.delete(transferId)
          times.delete(name)
        }),
    }
  }),
}) {
  static readonly layer = Layer.effect(AuditMemory, AuditMemory.make)
}
