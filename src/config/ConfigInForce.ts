import { Context, Effect, Layer, Semaphore } from "effect"
import type { Terms } from "../rules/policy/weakens.ts"
import { hashIn } from "./code/withCode.ts"
import type { AlertConfig } from "./storedAlerts.ts"
import type { Mode, Treasury } from "./Treasury.ts"

/** A configuration that a process runs by. */
export interface InForce {
  readonly treasury: Treasury
  /** The file's mode, or a lower one. */
  readonly mode: Mode
  /** The file's own receivers, while this process also alerts others that were paged before. */
  readonly alerts?: AlertConfig | undefined
}

/** Limits on the money under a configuration. The mode is that of the file, before any lowering by other means. */
export const treasuryTermsOf = ({ treasury }: Pick<InForce, "treasury">): Terms => {
  const { mode, policy, parties, assets, network } = treasury
  const { chainId, maxAgeMillis, quorum, fee } = network
  return { chainId, mode, policy, parties, assets, maxAgeMillis, quorum, code: codeOf(treasury), fee }
}

/** Hashes of the files of rules in TypeScript that have functions, each once. */
const codeOf = ({ document }: Treasury): ReadonlyArray<string> => [
  ...new Set([...(document.code?.keys() ?? [])].map(hashIn)),
]

/** True if the fiber has the lock on the configuration already. */
const IsSteady = Context.Reference<boolean>("cofferer/config/IsSteady", { defaultValue: () => false })

/**
 * The configuration in force. A loop reads it once at the start of each cycle and works by that one version; it changes
 * as a whole, never while a signature is judged.
 */
export class ConfigInForce extends Context.Service<
  ConfigInForce,
  {
    readonly now: () => InForce
    /**
     * Runs while the configuration stays as it is; inside of itself it changes nothing. Who needs the store's
     * transaction too takes this first, as a replacement does: in the other order each would wait for the other.
     */
    readonly steady: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Puts another in force once `before` has succeeded: what must be durable first. */
    readonly replace: <E, R>(next: InForce, before: Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
    /** One reload at a time. */
    readonly reloading: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("cofferer/config/ConfigInForce") {
  static readonly layer = (initial: InForce) =>
    Layer.sync(ConfigInForce, () => {
      let held = initial
      const { withPermit: steady } = Semaphore.makeUnsafe(1)
      const { withPermit: reloading } = Semaphore.makeUnsafe(1)
      return ConfigInForce.of({
        now: () => held,
        steady: (effect) =>
          Effect.flatMap(IsSteady, (isSteady) =>
            isSteady ? effect : steady(Effect.provideService(effect, IsSteady, true)),
          ),
        reloading: (effect) => reloading(effect),
        replace: (next, before) =>
          steady(
            Effect.uninterruptible(
              Effect.andThen(
                before,
                Effect.sync(() => {
                  held = next
                }),
              ),
            ),
          ),
      })
    })
}

/** The configuration that a cycle works by from its start to its end. */
export class CycleConfig extends Context.Service<CycleConfig, InForce>()("cofferer/config/CycleConfig") {}

/** Runs a cycle by the configuration that is in force when it begins. */
export const byOneConfig = <A, E, R>(cycle: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ConfigInForce, ({ now }) => Effect.provideService(cycle, CycleConfig, now()))
