import { assert, describe } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { TestClock } from "effect/testing"
import { layerLogging, logEvent } from "../../src/telemetry/Logging.ts"
import { it } from "../support/it.ts"

const odd = "a\r\nb\u001b[31m\u009b0m\u202ec\u2028d\ufeff\ud800"
const shown = "a\\u{d}\\u{a}b\\u{1b}[31m\\u{9b}0m\\u{202e}c\\u{2028}d\\u{feff}\\u{d800}"

type Options = Parameters<typeof layerLogging>[0]

/** The lines that `log` writes. */
const linesOf = Effect.fnUntraced(function* (
  log: Effect.Effect<unknown>,
  options: Pick<Options, "format"> & Partial<Options>,
) {
  const lines: Array<string> = []
  const destination = { write: (line: string) => void lines.push(line) }
  yield* log.pipe(Effect.provide(layerLogging({ level: "Info", destination, startedAt: 0, ...options })))
  return lines
})

/** What is written when the words come from somebody else. */
const others = logEvent("asset changed", { asset: odd, changes: odd }).pipe(
  Effect.andThen(logEvent("balances not read", { reason: odd })),
  Effect.andThen(Effect.logWarning(odd)),
  Effect.andThen(Effect.logWarning("it lists them", { all: [{ [odd]: [odd] }] })),
  Effect.andThen(Effect.logWarning("it failed", Cause.fail(odd))),
)

const intent = "7f".repeat(32)
const txHash = "2F9A7E".padEnd(64, "0")
const confirmed = logEvent("payment confirmed", {
  ...{ intent, attempt: 1, txHash, transferId: "ab".repeat(32), amount: "16210.00", asset: "USDT" },
  ...{ from: "reserve", to: "hot", fee: "1.00", seconds: 1.2 },
})
const unanswered = logEvent("attempt unanswered", {
  ...{ intent, attempt: 1, txHash, outcome: "ambiguous", gateway: "a", seconds: 2 },
})

describe("the log", () => {
  it.effect.each(["json", "text"] as const)(
    "shows others' unsafe characters as their numbers in %s",
    function* (format) {
      const lines = yield* linesOf(others, { format })
      assert.lengthOf(lines, 5)
      const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u
      const within = lines.splice(3, 1)[0] ?? ""
      assert.notMatch(within.trimEnd(), unsafe)
      if (format === "json") {
        assert.deepStrictEqual((JSON.parse(within) as { all: unknown }).all, [{ [odd]: [odd] }], "it says the same")
      }
      const cause = lines.pop()?.trimEnd() ?? ""
      assert.include(cause, "\\u{202e}".slice(format === "json" ? 1 : 0))
      assert.notMatch(cause.replaceAll("\n", ""), unsafe)
      for (const line of lines) {
        assert.include(line.replaceAll("\\\\", "\\"), shown)
        assert.notMatch(line.trimEnd(), unsafe)
      }
    },
  )

  it.effect("has typed fields in JSON, with the level's name and the ids of loop and cycle", function* () {
    const [line = ""] = yield* linesOf(
      Effect.annotateLogs(confirmed, { treasury: "harbor", loop: "confirm", cycle: 7 }),
      {
        format: "json",
      },
    )
    const { time, ...fields } = JSON.parse(line) as Record<string, unknown>
    assert.strictEqual(time, "1970-01-01T00:00:00.000Z")
    assert.deepStrictEqual(fields, {
      ...{ level: "info", msg: "payment confirmed", treasury: "harbor", loop: "confirm", cycle: 7 },
      ...{ intent, attempt: 1, txHash, transferId: "ab".repeat(32), amount: "16210.00", asset: "USDT" },
      ...{ from: "reserve", to: "hot", fee: "1.00", seconds: 1.2 },
    })
  })

  it.effect("has one line for people, with groups of digits and short ids", function* () {
    const sum = { intent, amount: "1250.5", asset: "USDT", from: "reserve", to: "hot" }
    const said = { scope: "all", author: "ana", reason: "audit" }
    const log = Effect.all([
      Effect.annotateLogs(confirmed, { loop: "confirm" }),
      unanswered,
      logEvent("payment submitted", { ...sum, idempotencyKey: "invoice-42", author: "ana" }),
      logEvent("payments paused", { ...said, until: "2026-11-27T07:14:01.924Z" }),
      logEvent("payments resumed", { ...said, count: 1 }),
    ])
    assert.deepStrictEqual(yield* linesOf(log, { format: "text" }), [
      "   0.0 s  confirmed  fxzq    16,210.00 USDT, fee 1.00, tx 2F9A7E..00; 1.2 s after the decision\n",
      "   0.0 s  unknown    fxzq/1  no answer in 2 s: outcome unknown; rebroadcasting the same transaction\n",
      "   0.0 s  proposed   fxzq    submitted by ana: 1,250.5 USDT reserve -> hot; idempotencyKey invoice-42\n",
      "   0.0 s  paused     all     by ana until 2026-11-27 07:14 UTC: audit\n",
      "   0.0 s  resumed    all     by ana: audit\n",
    ])
  })

  it.effect.each([80, 100])("breaks lines between words at %i columns, and loses none", function* (columns) {
    const detail = `${"the balances are compared with the gateway's own ".repeat(7)}${"x".repeat(120)} end`
    const log = Effect.andThen(confirmed, logEvent("rule holding", { rule: "keep-hot", hold: "catching_up", detail }))
    const lines = (yield* linesOf(log, { format: "text", columns })).join("").trimEnd().split("\n")
    assert.isAbove(lines.length, 6)
    for (const line of lines) {
      if (!line.includes("xxx")) assert.isAtMost(line.length, columns)
      assert.match(line, /^( {3}0\.0 s {2}\w| {21}\S)/)
    }
    const words = lines.slice(-lines.findIndex((line) => line.includes("hold")) - 1).join(" ")
    assert.include(words.replaceAll(/\s+/g, " "), `${"x".repeat(120)} end`)
  })

  it.effect("has colours by severity, and only where they are asked for", function* () {
    const halted = logEvent("signing halted", { scope: "operator", reason: "ana: audit", remedy: "resume" })
    const log = Effect.andThen(Effect.andThen(confirmed, unanswered), halted)
    const escape = String.fromCharCode(27)
    const coloured = yield* linesOf(log, { format: "text", hasColours: true })
    assert.notInclude(coloured[0], escape)
    assert.include(coloured[1], `${escape}[33munknown`)
    assert.include(coloured[2], `${escape}[31mhalted`)
    assert.notInclude((yield* linesOf(log, { format: "text" })).join(""), escape)
  })

  it.effect.each(["json", "text"] as const)(
    "that takes no line stops nobody who writes to it, in %s",
    function* (format) {
      const destination = {
        write: () => {
          throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" })
        },
      }
      const logging = layerLogging({ level: "Info", format, destination, startedAt: 0 })
      const done = yield* Effect.exit(Effect.as(confirmed.pipe(Effect.provide(logging)), "done"))
      assert.strictEqual(done._tag, "Success")
    },
  )

  it.effect.each(["json", "text"] as const)(
    "counts a warning that comes again within a minute, in %s",
    function* (format) {
      const log = Effect.gen(function* () {
        for (let second = 0; second < 61; second++) {
          yield* Effect.annotateLogs(logEvent("balances not read", { reason: "503" }), { cycle: second })
          yield* TestClock.adjust("1 second")
        }
        yield* logEvent("balances not read", { reason: "429" })
        for (const block of ["7", "8"]) yield* logEvent("gateway went backwards", { block })
        for (let i = 0; i < 2; i++) yield* logEvent("database not writable", { reason: "full", remedy: "free space" })
      })
      const lines = yield* linesOf(log, { format })
      assert.lengthOf(lines, 6, "another block is no other fact")
      assert.notInclude(lines[0], "repeated")
      assert.match(lines[1] ?? "", /"repeated":59|repeated 59 times/)
      assert.include(lines[2], "429", "another reason is another fact")
      for (const line of lines.slice(4)) {
        assert.include(line, "database not writable", "what a human must act on is never held back")
      }
    },
  )
})
