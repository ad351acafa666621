import { Context, Effect, Layer } from "effect"
import { Journal } from "../journal/Journal.ts"

const unchecked = "the ledger is not yet compared with the journal"

/**
 * Checks that this process has made since its start. Until a party's history on the ledger is compared with the
 * journal, nothing is signed for it: the database may not be the one of the process before.
 */
export class Clearance extends Context.Service<Clearance>()("cofferer/store/Clearance", {
  make: Effect.gen(function* () {
    const { head } = yield* Journal
    const granted = new Map<string, { readonly at: number; readonly isListed: boolean }>()
    const causes = new Map<string, string>()
    let quarantine: string | undefined = unchecked
    let openSince = 0
    return {
      /**
       * Grants nothing while a quarantine lasts. `isListed`: false if no gateway lists the party's transfers; a proxy
       * may have said so, and a later call with true counts.
       */
      grant: (party: string, isListed: boolean) =>
        Effect.map(head, ({ seq }) => {
          // A quarantine that began meanwhile needs a listing after it.
          if (quarantine !== undefined) return
          const known = granted.get(party)
          if (known === undefined) granted.set(party, { at: seq, isListed })
          else if (isListed) granted.set(party, { ...known, isListed })
        }),
      isGranted: (party: string) => Effect.sync(() => granted.has(party)),
      /** False for a party that was cleared although no gateway lists its transfers: balances alone show them. */
      isListed: (party: string) => Effect.sync(() => granted.get(party)?.isListed !== false),
      /** Sets why the party is not cleared, in words. */
      explain: (party: string, why: string) => Effect.asVoid(Effect.sync(() => causes.set(party, why))),
      /** Revokes every clearance: all must be checked again. */
      revoke: Effect.sync(() => {
        granted.clear()
        causes.clear()
        quarantine = unchecked
      }),
      isOpen: Effect.sync(() => quarantine === undefined),
      /** Sets why nothing may be signed for any party yet, in words; undefined ends it. */
      quarantine: (why: string | undefined) =>
        Effect.map(head, ({ seq }) => {
          if (quarantine !== undefined && why === undefined) openSince = seq
          quarantine = why
        }),
      /** Why nothing may be signed for the party yet; undefined once it may. */
      lacking: (party: string) =>
        Effect.sync(() => {
          if (quarantine !== undefined || granted.has(party)) return quarantine
          const cause = causes.get(party)
          return cause === undefined ? unchecked : `${unchecked}: ${cause}`
        }),
      /** The journal's newest entry at the time from which the party may sign; undefined while it may not. */
      since: (party: string) =>
        Effect.sync(() => {
          const at = granted.get(party)?.at
          return quarantine !== undefined || at === undefined ? undefined : Math.max(at, openSince)
        }),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(Clearance, Clearance.make)
}
