import { Layer } from "effect"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import type { Mode, Treasury } from "../../src/config/Treasury.ts"
import type { Party } from "../../src/rules/Account.ts"
import type { Policy } from "../../src/rules/policy/Policy.ts"
import { Signer } from "../../src/signer/Signer.ts"

/** A signer by a configuration that says only what it reads. */
export const signerOf = (options: {
  readonly policy: Policy
  /** Symbols by the ids of assets. */
  readonly assets: ReadonlyMap<string, string>
  readonly party: Party
  readonly file: string
  readonly maxAgeMillis: number
  readonly mode?: Mode
}) => {
  const { policy, assets, party, file, maxAgeMillis, mode = "live" } = options
  const treasury = {
    name: "test",
    policy,
    assets: new Map([...assets].map(([id, symbol]) => [symbol, { id, symbol }])),
    parties: new Map([[party.name, party]]),
    network: { chainId: "chain", maxAgeMillis },
  } as unknown as Treasury
  return Signer.layerNoDeps([{ party, file }]).pipe(Layer.provideMerge(ConfigInForce.layer({ treasury, mode })))
}
