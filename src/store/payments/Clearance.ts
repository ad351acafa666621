import { Context, Effect, Layer } from "effect"
import type { StoreError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"

const unchecked = "the ledger is not yet compared with the journal"

/**
 * Checks that this process has made since its start. Until a party's history on the ledger is compared with the
 * journal, nothing is signed for it: the database may not be the one of the process before.
 */
export class Clearance extends Context.Service<
  Clearance,
  {
    /** Grants nothing while a quarantine lasts. `isListed`: false if no gateway lists the party's transfers. */
    readonly grant: (party: string, isListed: boolean) => Effect.Effect<void, StoreError>
    readonly isGranted: (party: string) => Effect.Effect<boolean>
    /** False for a party that was cleared although no gateway lists its transfers: balances alone show them. */
    readonly isListed: (party: string) => Effect.Effect<boolean>
    /** Revokes every clearance: all must be checked again. */
    readonly revoke: Effect.Effect<void>
    /** Sets why nothing may be signed for any party yet, in words; undefined ends it. */
    readonly quarantine: (why: string | undefined) => Effect.Effect<void, StoreError>
    /** True while there is no quarantine. */
    readonly isOpen: Effect.Effect<boolean>
    /** Why nothing may be signed for the party yet; undefined once it may. */
    readonly lacking: (party: string) => Effect.Effect<string | undefined>
    /** The journal's newest entry at the time from which the party may sign; undefined while it may not. */
    readonly since: (party: string) => Effect.Effect<number | undefined>
  }
>()("cofferer/store/Clearance") {
  static readonly layerNoDeps = Layer.effect(
    Clearance,
    Effect.gen(function* () {
      const { head } = yield* Journal
      const granted = new Map<string, { readonly at: number; readonly isListed: boolean }>()
      let quarantine: string | undefined = unchecked
      let openSince = 0
      return Clearance.of({
        grant: (party, isListed) =>
          Effect.map(head, ({ seq }) => {
            // A quarantine that began meanwhile needs a listing after it.
            if (quarantine === undefined && !granted.has(party)) granted.set(party, { at: seq, isListed })
          }),
        isGranted: (party) => Effect.sync(() => granted.has(party)),
        isListed: (party) => Effect.sync(() => granted.get(party)?.isListed !== false),
        revoke: Effect.sync(() => {
          granted.clear()
          quarantine = unchecked
        }),
        isOpen: Effect.sync(() => quarantine === undefined),
        quarantine: (why) =>
          Effect.map(head, ({ seq }) => {
            if (quarantine !== undefined && why === undefined) openSince = seq
            quarantine = why
          }),
        lacking: (party) => Effect.sync(() => quarantine ?? (granted.has(party) ? undefined : unchecked)),
        since: (party) =>
          Effect.sync(() => {
            const at = granted.get(party)?.at
            return quarantine !== undefined || at === undefined ? undefined : Math.max(at, openSince)
          }),
      })
    }),
  )
}
