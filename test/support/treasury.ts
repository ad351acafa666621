import { Effect } from "effect"
import { Document, isCollection, isMap, visit } from "yaml"
import { withCode } from "../../src/config/code/withCode.ts"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"

/** Keys of a map in a file, with their values: text, numbers, lists and maps. */
export type Fields = Readonly<Record<string, unknown>>

/** A file that says this, as a person writes it: a line for each rule, party, asset and line of the policy. */
export const yamlText = (fields: Fields): string => {
  const document = new Document(fields, { aliasDuplicateObjects: false })
  visit(document, {
    Map: (_, map, path) => {
      // Above a map stand the document, and the pairs and collections that lead to it.
      map.flow = path.filter(isCollection).length > 1
    },
    Seq: (_, list) => {
      list.flow = !list.items.some(isMap)
    },
  })
  return document.toString({ lineWidth: 0 })
}

/** The text of a treasury file. */
export const treasuryText = (fields: Fields): string => yamlText({ version: 1, ...fields })

/** The treasury of a file that says this. */
export const treasuryFrom = (fields: Fields) =>
  parseYaml("t.yaml", treasuryText(fields)).pipe(Effect.flatMap(withCode), Effect.flatMap(treasuryOf))

export const aliceKey = "a".repeat(64)
export const bobKey = "b".repeat(64)
export const assetId = "c".repeat(64)

/** A small watch-only treasury against a gateway at the address, with more rules. */
export const watchOnly = (url: string, rules: ReadonlyArray<Fields> = []) =>
  treasuryFrom({
    name: "watch",
    network: { chainId: "c-1", gateways: { node: url } },
    assets: { TOK: { id: assetId, decimals: 2 } },
    parties: { alice: { publicKey: aliceKey }, bob: { publicKey: bobKey } },
    rules: [{ name: "news", notify: { asset: "any", becomes: ["enabled"] } }, ...rules],
  })
