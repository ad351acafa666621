import { Context, Layer } from "effect"
import type { Mode, Treasury } from "../config/Treasury.ts"
import type { Policy } from "../rules/Policy.ts"
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
