import { Context, Effect, Layer } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import type { Intent } from "../domain/Intent.ts"
import type { WrittenFee } from "../rules/policy/FeeTerms.ts"
import type { Policy } from "../rules/policy/Policy.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import type { Standing } from "../rules/waiting.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import type { Framing } from "../tx/Transaction.ts"

/** What the submitter knows of the treasury. */
interface SubmitterSettings {
  readonly treasury: string
  readonly mode: "observe" | "shadow" | "live"
  readonly chainId: string
  /** Name and address of the first gateway. */
  readonly gateway: { readonly name: string; readonly url: string }
  /** "auto" starts with the specification's form and changes over once, where the gateway asks for it. */
  readonly framing: "auto" | Framing
  readonly maxAgeMillis: number
  /** Between two looks at what the ledger lists of a key, while its balance stands still. */
  readonly pollIdleMillis: number
  /** What the network takes of transfers, written down for gateways that have no parameters. */
  readonly fee?: WrittenFee | undefined
  readonly policy: Policy
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
}

export class SubmitterOptions extends Context.Service<SubmitterOptions, SubmitterSettings>()(
  "cofferer/submitter/SubmitterOptions",
) {
  static readonly layer = (settings: SubmitterSettings) => Layer.succeed(SubmitterOptions, settings)
}

/** Runs a cycle by the configuration that is in force when it begins. What was fixed at the start stays. */
export const payingInForce = <A, E, R>(cycle: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { treasury, mode } = (yield* ConfigInForce).now()
    const { network, policy, parties, assets } = treasury
    const { maxAgeMillis, pollIdleMillis, fee } = network
    const settings = {
      ...(yield* SubmitterOptions),
      mode,
      maxAgeMillis,
      pollIdleMillis,
      fee,
      policy,
      parties,
      assets,
    }
    return yield* Effect.provideService(cycle, SubmitterOptions, settings)
  })

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
