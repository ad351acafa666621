import { Effect } from "effect"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/Yaml.ts"

export const aliceKey = "a".repeat(64)
export const bobKey = "b".repeat(64)
export const assetId = "c".repeat(64)

/** A small watch-only treasury against a gateway at the address; `more` adds top-level keys. */
export const watchOnly = (url: string, more = "") =>
  Effect.flatMap(
    parseYaml(
      "t.yaml",
      `
version: 1
name: watch
network: { chainId: c-1, gateways: { node: "${url}" } }
assets: { TOK: { id: ${assetId}, decimals: 2 } }
parties:
  alice: { publicKey: ${aliceKey} }
  bob: { publicKey: ${bobKey} }
rules:
  - name: news
    notify: { asset: any, becomes: [enabled] }
${more}`,
    ),
    treasuryOf,
  )
