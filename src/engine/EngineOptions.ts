import { Context, Effect, Layer } from "effect"
import { ConfigInForce, type InForce } from "../config/ConfigInForce.ts"
import type { Mode, Treasury } from "../config/Treasury.ts"
import type { Policy } from "../rules/policy/Policy.ts"
import type { PinnedAsset, Rule } from "../rules/Rule.ts"

/** What the engine knows of the treasury. */
export interface EngineSettings {
  readonly treasury: string
  readonly mode: "observe" | "shadow" | "live"
  readonly rules: ReadonlyArray<Rule>
  readonly policy: Policy
  readonly pins: ReadonlyArray<PinnedAsset>
  readonly maxAgeMillis: number
}

export class EngineOptions extends Context.Service<EngineOptions, EngineSettings>()("cofferer/engine/EngineOptions") {
  static readonly layer = (settings: EngineSettings) => Layer.succeed(EngineOptions, settings)
}

/** What of a treasury decides, in a mode. */
export const engineSettings = ({ name, rules, policy, assets, network }: Treasury, mode: Mode): EngineSettings => ({
  treasury: name,
  mode,
  rules,
  policy,
  pins: [...assets.values()],
  maxAgeMillis: network.maxAgeMillis,
})
const settingsIn = ({ treasury, mode }: InForce): EngineSettings => engineSettings(treasury, mode)

/** Runs a cycle by the configuration that is in force when it begins. */
export const decidingInForce = <A, E, R>(cycle: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ConfigInForce, (config) => Effect.provideService(cycle, EngineOptions, settingsIn(config.now())))
