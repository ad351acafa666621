import { assert, describe, expect, it } from "vitest"
import { type LogEventName, logEventForm, logEvents, logFields } from "../../src/telemetry/logEvents.ts"
import { listFiles, readSource } from "../tidy/Source.ts"

const fieldsIn = (text: string) => [...text.matchAll(/\{(\w+)/g)].map(([, field = ""]) => field)
const events = (Object.keys(logEvents) as ReadonlyArray<LogEventName>).map((name) => {
  const needs = [...new Set(fieldsIn(logEvents[name].replaceAll(/\[[^\]]*\]/g, "")))]
  const may = [...new Set(fieldsIn(logEvents[name]))].filter((field) => !needs.includes(field))
  return { name, severity: logEventForm(name).severity, needs, may }
})
const levels = { page: "error", ticket: "warn", info: "info", debug: "debug" }
/** Fields of many events; the page lists them once. */
const failure = "reason gateway? intent? attempt? remedy? receiver?"

const head = `# Log events

Every event that the daemon logs, with its fields.

Away from a terminal each event is one JSON line: \`level\` (debug, info, warn, error), \`time\`, \`msg\`, and the fields
below. \`msg\` is fixed: search for it. A page is an error and a ticket a warning; \`alert raised\` and \`payment ended\` have
the level of their alert. Fields with a question mark are left out where they do not apply. Amounts are text in units of
\`asset\`, ids and hashes are whole. Lines of a treasury also have \`treasury\`, and those of a loop \`loop\` and \`cycle\`, the
number of its cycle in this process. Follow one payment by \`intent\`, one of its signatures by \`attempt\`, and one send by
\`txHash\`. A warning that comes again within a minute, but for its \`block\`, is only counted: \`repeated\` of the next.

On a terminal the same events are lines for people, broken between words, with colours by severity unless \`NO_COLOR\` is
set. A quiet hour writes at most 20 lines.

`

const pageText = (): string => {
  const all = events.map(({ name, severity, needs, may }) => {
    const fields = [...needs, ...may.map((field) => `${field}?`)].join(" ")
    return { name, level: levels[severity], fields }
  })
  const rows = all.filter(({ fields }) => fields !== failure)
  const failures = all.filter(({ fields }) => fields === failure).map(({ name }) => name)
  const meanings = Object.entries(logFields)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { type, meaning }]) => `| ${name} | ${type} | ${meaning} |`)
  return [
    `${head}| event | level | fields |\n|---|---|---|`,
    ...rows.map(({ name, level, fields }) => `| ${name} | ${level} | ${fields} |`),
    `\n## Failures\n\nThe fields of each: ${failure}. The level is warn.\n\n${failures.join(", ")}.`,
    "\n## Fields\n\n| field | type | meaning |\n|---|---|---|",
    ...meanings,
    "",
  ].join("\n")
}

describe("the events of the log", () => {
  it("are listed in their page", async () => {
    // Written again by: npx vitest run --project quick test/telemetry/logEvents.test.ts -u
    await expect(pageText()).toMatchFileSnapshot("../../docs/log-events.md")
  })

  it("use every field of the table, and are each logged", () => {
    const used = new Set(events.flatMap(({ needs, may }) => [...needs, ...may]))
    assert.deepStrictEqual([...used].toSorted(), Object.keys(logFields).toSorted())
    const sources = listFiles()
      .filter((path) => /^src\/.*\.ts$/.test(path) && !path.startsWith("src/telemetry/"))
      .map((path) => readSource(path).text)
      .join("\n")
    assert.deepStrictEqual(
      Object.keys(logEvents).filter((name) => !sources.includes(`"${name}"`)),
      [],
    )
  })

  it("are all that is logged", () => {
    const literal = /Effect\.log(?:Debug|Info|Warning|Error|Fatal)?\(\s*"([^"]*)"/g
    const others = listFiles()
      .filter((path) => /^src\/.*\.ts$/.test(path) && !path.startsWith("src/telemetry/"))
      .flatMap((path) => {
        const { text } = readSource(path)
        const calls = [...text.matchAll(/Effect\.log\w*\(/g)].length
        // The sandbox shares no code with the program that it is there to test: it says the same by itself.
        const known = path.startsWith("src/sandbox/")
          ? [...text.matchAll(literal)].filter(([, name = ""]) => Object.hasOwn(logEvents, name as LogEventName)).length
          : 0
        return calls === known ? [] : [path]
      })
    assert.deepStrictEqual(others, [])
  })
})
