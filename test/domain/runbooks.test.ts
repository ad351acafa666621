import { describe, expect, it } from "@effect/vitest"
import type { CatalogueEntry } from "../../src/domain/alerts/CatalogueEntry.ts"
import { catalogue } from "../../src/domain/alerts/catalogue.ts"
import { healthConditions } from "../../src/domain/alerts/healthConditions.ts"
import { haltReasons, remedyOf } from "../../src/domain/Halt.ts"

const severityText = (severity: CatalogueEntry["severity"]): string =>
  severity === "given" ? "page, ticket or info" : severity

const section = ([name, entry]: readonly [string, CatalogueEntry]): string => {
  const { kind, severity, text, remedy = "nobody has to act", raised, ends, over } = entry
  const clear = over === undefined ? "no all-clear" : `all-clear: "${over.text}"`
  return `## ${name}

> ${text}

- **Raised** as ${severityText(severity)} of kind \`${kind}\`: ${raised}.
- **What to do**: ${remedy === "{remedy}" ? "see the table" : remedy}.
- **Resolved by**: ${ends}; ${clear}.
`
}

const haltTable = haltReasons.map((reason) => `| \`${reason}\` | ${remedyOf(reason)} |`).join("\n")
const conditionTable = Object.entries(healthConditions)
  .map(([name, { alert, act }]) => `| \`${name}\` | ${alert} | ${act} |`)
  .join("\n")
const tables: Readonly<Record<string, string>> = {
  halt: `\n| reason | what to do |\n|---|---|\n${haltTable}\n`,
  health: `\n| condition | alert | what to do |\n|---|---|---|\n${conditionTable}\n`,
}

const pageText = (): string => {
  const sections = Object.entries<CatalogueEntry>(catalogue).map(
    ([name, entry]) => section([name, entry]) + (tables[name] ?? ""),
  )
  return `# Runbooks

Every alert that Cofferer raises, when it is raised, what to do about it, and what resolves it.

Words in braces are filled in. "No all-clear" means that nothing can tell whether a person has acted. [Monitoring](monitoring.md#runbook)
has the alerts of Prometheus, [operations](operations.md#alerts) how alerts reach people.

${sections.join("\n")}`
}

describe("the runbooks", () => {
  it("are the catalogue of alerts", async () => {
    // Written anew by: npx vitest run --project quick test/domain/runbooks.test.ts -u
    await expect(pageText()).toMatchFileSnapshot("../../docs/runbooks.md")
  })
})
