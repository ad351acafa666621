import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Cofferer.ts"

/** Pages whose examples bring their own tests. */
export const rulePages = [
  "docs/rules.md",
  "docs/rules-advanced.md",
  "docs/rules-in-typescript.md",
  "docs/approvals.md",
] as const

const text = rulePages.map((path) => readFileSync(join(root, path), "utf8")).join("\n")
const blocks = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block)

/** The treasury that the examples of rules change. */
export const rulesTreasury: string = blocks.find((block) => /^version:/m.test(block)) ?? ""

/** Examples of rules, each with its tests. */
export const ruleExamples: ReadonlyArray<string> = blocks.filter((block) => /^tests:/m.test(block))

/** The example of rules in TypeScript. */
export const rulesCode: string = /^```ts\n\/\/ rules\.ts\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? ""
