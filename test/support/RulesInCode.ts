import { parsePlaced, valueOf } from "../../src/config/yaml/Yaml.ts"
import { rulesTreasury } from "./ruleExamples.ts"

const sectionOf = (name: string, text: string): string | undefined =>
  new RegExp(`^${name}:.*\\n(?: .*\\n)*`, "m").exec(text)?.[0]

/** The treasury of the reference with what an example has of its own. */
export const treasuryWith = (block: string): string => {
  const own = ["rules", "policy"].reduce((text, name) => {
    const section = sectionOf(name, block)
    return section === undefined ? text : text.replace(sectionOf(name, text) ?? "", section)
  }, rulesTreasury)
  return [own, ...["maintenance", "approvals"].map((name) => sectionOf(name, block) ?? "")].join("")
}

/** The same with other rules: a file of them, or lines of YAML. */
export const codeTreasury = (rules: string, block = ""): string =>
  treasuryWith(block).replace(/^rules:\n(?: .*\n)*/m, `rules: ${rules.trimEnd()}\n`)

/** Rules of YAML, written in TypeScript. */
export const asTypeScript = (rules: string): string => {
  const { rules: values } = valueOf(parsePlaced("rules.yaml", rules).tree) as { readonly rules: unknown }
  return `import type { Rules } from "cofferer/rules"\n\nexport const rules: Rules = ${JSON.stringify(values, null, 2)}\n`
}
