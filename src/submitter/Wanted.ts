import { Context, type Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import type { Standing } from "../rules/waiting.ts"
import type { StoreError } from "../store/database/StoreError.ts"

/** What the rules in force say of a decided payment that is not signed. */
export class Wanted extends Context.Service<
  Wanted,
  {
    /**
     * Whether it would be decided today: asked before another attempt is signed, and before the first of one that has
     * waited. `later`: it cannot be judged now, or cannot be paid yet, for reasons that pass.
     */
    readonly judge: (
      intent: Intent,
    ) => Effect.Effect<{ readonly verdict: "wanted" | "gone" | "later"; readonly why: string }, StoreError>
    /** Who answers for it while it waits, and when it ends unpaid. */
    readonly standing: (intent: Intent) => Effect.Effect<Standing, StoreError>
    /** Since when its rule wants what it pays (Unix milliseconds), without a break; undefined: it does not now. */
    readonly since: (intent: Intent) => Effect.Effect<number | undefined, StoreError>
    /** Lets go all that was planned until now of these keys: a lost store may have paid it. Tells people. */
    readonly letGoPlanned: (payers: ReadonlySet<string>) => Effect.Effect<void, StoreError>
  }
>()("cofferer/submitter/Wanted") {}
