import { describe, expect, it } from "@effect/vitest"
import type { CatalogueEntry } from "../../src/domain/alerts/CatalogueEntry.ts"
import { catalogue, runbookPageOf } from "../../src/domain/alerts/catalogue.ts"
import { healthConditions } from "../../src/domain/alerts/healthConditions.ts"
import { haltReasons, remedyOf } from "../../src/domain/Halt.ts"

const severityText = (severity: CatalogueEntry["severity"]): string =>
  severity === "given" ? "page, ticket or info" : severity

const endText = ({ until, ends, over }: CatalogueEntry): string => {
  if (over !== undefined) return `${ends}; all-clear: "${over.text}"`
  return until === undefined ? "nothing: it is information" : `"cofferer alerts ack", or by itself after a ${until}`
}

const section = ([name, entry]: readonly [string, CatalogueEntry]): string => {
  const { kind, severity, text, raised } = entry
  const { act = severity === "info" ? "nobody has to act" : "what its text says", remedy = act } = entry
  const done = remedy !== "{remedy}" ? remedy : name in tables ? "see the table" : act
  return `## ${name}

> ${text}

- **Raised** as ${severityText(severity)} of kind \`${kind}\`: ${raised}.
- **What to do**: ${done}.
- **Resolved by**: ${endText(entry)}.
`
}

const haltTable = haltReasons.map((reason) => `| \`${reason}\` | ${remedyOf(reason, "")} |`).join("\n")
const conditionTable = Object.entries(healthConditions)
  .map(([name, { alert, act }]) => `| \`${name}\` | ${alert} | ${act} |`)
  .join("\n")
const tables: Readonly<Record<string, string>> = {
  halt: `\n| reason | what to do |\n|---|---|\n${haltTable}\n`,
  health: `\n| condition | alert | what to do |\n|---|---|---|\n${conditionTable}\n`,
}

const sectionsOf = (page: string): string =>
  Object.entries<CatalogueEntry>(catalogue)
    .filter(([, { kind }]) => runbookPageOf(kind) === page)
    .map(([name, entry]) => section([name, entry]) + (tables[name] ?? ""))
    .join("\n")

const notes = `Words in braces are filled in.`

const pages = {
  "runbooks.md": `# Runbooks

Every alert that is not about a payment.

${notes} [Alerts about payments](runbooks-payments.md) have a page of their own.
[Monitoring](monitoring.md#runbook) has the alerts of Prometheus, [alerts](alerts.md) how alerts reach people.

${sectionsOf("docs/runbooks.md")}`,
  "runbooks-payments.md": `# Runbooks: payments

Every alert about a payment.

${notes} [Other alerts](runbooks.md) have a page of their own.

${sectionsOf("docs/runbooks-payments.md")}`,
}

describe("the runbooks", () => {
  it("name an act for each page: somebody was woken for it", () => {
    const pages = Object.entries<CatalogueEntry>(catalogue).filter(([, { severity }]) => severity === "page")
    const idle = pages.filter(([, { act, remedy }]) => act === undefined && remedy === undefined)
    expect(idle.map(([name]) => name)).toEqual([])
  })

  it("say the subject of an alert, which receivers put before its text, once", () => {
    const textsOf = ({ text, over }: CatalogueEntry) => [text, over?.text ?? ""]
    const twice = Object.entries<CatalogueEntry>(catalogue).filter(([, entry]) =>
      textsOf(entry).some((text) => text.startsWith(`${entry.subject}:`)),
    )
    expect(twice.map(([name]) => name)).toEqual([])
  })

  it.each(Object.entries(pages))("in %s are the catalogue of alerts", async (name, text) => {
    // Written again by: npx vitest run --project quick test/domain/runbooks.test.ts -u
    await expect(text).toMatchFileSnapshot(`../../docs/${name}`)
  })
})
