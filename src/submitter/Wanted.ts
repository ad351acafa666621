import { Context, type Effect } from "effect"
import type { Intent } from "../domain/Intent.ts"
import type { Standing } from "../rules/waiting.ts"
import type { StoreError } from "../store/database/StoreError.ts"

/** Judgement of the rules in force on a decided payment that is not signed. */
export class Wanted extends Context.Service<
  Wanted,
  {
    /**
     * Decides it again before another attempt is signed, and before the first attempt of a payment that has waited.
     * `later`: it cannot be judged or paid now, for reasons that pass.
     */
    readonly judge: (
      intent: Intent,
    ) => Effect.Effect<{ readonly verdict: "wanted" | "gone" | "later"; readonly why: string }, StoreError>
    /** Source that still backs it; decides when it ends unpaid. */
    readonly standing: (intent: Intent) => Effect.Effect<Standing, StoreError>
    /** Unix milliseconds since which its rule has needed it without a break; undefined if it does not now. */
    readonly since: (intent: Intent) => Effect.Effect<number | undefined, StoreError>
    /** Lets go all that was planned until now of these keys: a lost store may have paid it. Tells people. */
    readonly letGoPlanned: (payers: ReadonlySet<string>) => Effect.Effect<void, StoreError>
  }
>()("cofferer/submitter/Wanted") {}
