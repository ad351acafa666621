import { Writable } from "node:stream"
import { Console, Effect, Option } from "effect"
import { assert, it } from "vitest"
import { printText, table, treasuryFlagsOf } from "../../src/cli/common/output.ts"
import { loggingLayer } from "../../src/cli/run/logging.ts"
import { ProcessContext, terminalColumns } from "../../src/config/Environment.ts"
import { fitted, wrapped } from "../../src/domain/text.ts"
import { logEvent, withFlags } from "../../src/telemetry/Logging.ts"

it("shows a line break of a gateway's text as a symbol", () => {
  const forged = "JUNK\nUSDT    enabled  6\u2028x"
  const rows = table([
    ["symbol", "status"],
    [forged, "proposed"],
  ]).split("\n")
  assert.strictEqual(rows.length, 2)
  assert.include(rows[1], "JUNK\\u{a}USDT    enabled  6\\u{2028}x  proposed")
})

it("goes on below its last cell with room where a terminal is too narrow", () => {
  const hash = "5e".repeat(32)
  const row = `  1  confirmed  window ends at block 115  transfer ${hash}  it was seen in the listing of two gateways`
  assert.deepStrictEqual(fitted(row, 80).split("\n"), [
    "  1  confirmed  window ends at block 115",
    "                transfer",
    `                ${hash}`,
    "                it was seen in the listing of two gateways",
  ])
  assert.deepStrictEqual(fitted(`${hash}: ${hash}${hash}`, 80).split("\n"), [`${hash}:`, `    ${hash}${hash}`])
  for (const columns of [undefined, row.length]) assert.strictEqual(fitted(row, columns), row)
})

it("breaks no command, which would run in part when it is pasted", () => {
  const lines = ["once a person ends the pause:", '"cofferer resume --scope all --reason TEXT";', "then it pays"]
  assert.deepStrictEqual(wrapped(lines.join(" "), 46), lines)
  const long = [...lines.slice(0, 2), "then it pays what was due", "meanwhile"]
  assert.deepStrictEqual(wrapped(long.join(" "), 30), long)
})

it("is as wide as the terminal, and 80 where that names no width", () => {
  const output = (more: object) => Object.assign(new Writable(), more)
  const widths = [{}, { isTTY: true }, { isTTY: true, columns: 0 }, { isTTY: true, columns: 100 }].map(output)
  assert.deepStrictEqual(widths.map(terminalColumns), [undefined, 80, 80, 100])
})

const terminal = (written: (text: string) => void, columns?: number) =>
  Object.assign(
    new Writable({
      write: (chunk, _encoding, done) => {
        written(String(chunk))
        done()
      },
    }),
    { isTTY: true, columns },
  )

it("continues a command on its own line before a flag, as a shell does", async () => {
  const lines: Array<string> = []
  const command = '  cofferer alerts silence --kind health --subject "gateway down" --for 2h --reason "upgrade"'
  await printText(command).pipe(
    Effect.provideService(Console.Console, { ...console, log: (text: string) => lines.push(text) }),
    Effect.provideService(ProcessContext, {
      env: {},
      output: terminal(() => undefined, 80),
      isInteractive: false,
      progress: undefined,
    }),
    Effect.runPromise,
  )
  const [first, second] = [
    '  cofferer alerts silence --kind health --subject "gateway down" --for 2h \\',
    '      --reason "upgrade"',
  ]
  assert.deepStrictEqual(lines, [`${first}\n${second}`])
})

it.each([
  ["with colours", {}, true],
  ["without colours where NO_COLOR is set", { NO_COLOR: "1" }, false],
])("logs on a terminal %s", async (_, env, hasColours) => {
  let written = ""
  const output = terminal((text) => {
    written += text
  })
  const context = { env, output, isInteractive: false, progress: undefined }
  const setup = { treasury: { logLevel: "info" as const }, environment: { logLevel: undefined } }
  const log = logEvent("signing halted", { scope: "operator", reason: "audit", remedy: "resume" }).pipe(
    Effect.provide(loggingLayer(setup, Option.none(), 0)),
    Effect.provideService(ProcessContext, context),
  )
  await Effect.runPromise(log)
  assert.include(written, "halted")
  assert.strictEqual(written.includes(String.fromCharCode(27)), hasColours)
})

it("names the treasury in each printed command as the call named it", () => {
  const at = (place: string) => ({ place, hasOperators: false })
  const flags = at(treasuryFlagsOf(["status", "-c", "files", "--treasury=north", "--fail"]))
  const text = '"cofferer plan" says more; "cofferer resume --reason TEXT"; "cofferer run files"'
  const named =
    '"cofferer plan -c files --treasury=north" says more; "cofferer resume --reason TEXT -c files --treasury=north"'
  assert.strictEqual(withFlags(text, flags), `${named}; "cofferer run files"`)
  assert.strictEqual(withFlags(named, at("-c others --treasury south")), named)
  assert.strictEqual(treasuryFlagsOf(["status", "-c", "a b.yaml", "-d", "x"]), "-c 'a b.yaml' -d x")
  assert.strictEqual(withFlags(text, at(treasuryFlagsOf(["status"]))), text)
})
