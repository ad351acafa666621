import { Context, Layer } from "effect"
import type { Party, PinnedAsset, Share } from "../rules/Rule.ts"
import type { Framing } from "../tx/Transaction.ts"

/** What the submitter knows of the treasury. */
export interface SubmitterSettings {
  readonly treasury: string
  readonly mode: "observe" | "shadow" | "live"
  readonly chainId: string
  /** Name and address of the first gateway: the wire form that the network takes is remembered by it. */
  readonly gateway: { readonly name: string; readonly url: string }
  /** "auto" starts with the specification's form and changes over once, where the gateway asks for it. */
  readonly framing: "auto" | Framing
  readonly maxAgeMillis: number
  /** Between two looks at what the ledger lists of a key, while its balance stands still. */
  readonly pollIdleMillis: number
  readonly maxFee: Share
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
}

export class SubmitterOptions extends Context.Service<SubmitterOptions, SubmitterSettings>()(
  "cofferer/submitter/SubmitterOptions",
) {
  static readonly layer = (settings: SubmitterSettings) => Layer.succeed(SubmitterOptions, settings)
}
