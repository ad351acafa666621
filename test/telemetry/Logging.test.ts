import { assert, describe } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { TestClock } from "effect/testing"
import { layer, say } from "../../src/telemetry/Logging.ts"
import { it } from "../support/it.ts"

const odd = "a\r\nb\u001b[31m\u009b0m\u202ec\u2028d\ufeff\ud800"
const shown = "a\\u{d}\\u{a}b\\u{1b}[31m\\u{9b}0m\\u{202e}c\\u{2028}d\\u{feff}\\u{d800}"

/** What is written when the words come from somebody else. */
const written = Effect.fnUntraced(function* (format: "json" | "text") {
  const lines: Array<string> = []
  const destination = { write: (line: string) => void lines.push(line) }
  yield* Effect.andThen(
    say("asset", { subject: odd, detail: odd }),
    Effect.logWarning("it went wrong", { reason: odd }),
  ).pipe(
    Effect.andThen(Effect.logWarning(odd)),
    Effect.andThen(Effect.logWarning("it lists them", { all: [{ [odd]: [odd] }] })),
    Effect.andThen(Effect.logWarning("of one kind").pipe(Effect.annotateLogs({ kind: odd, [odd]: 1 }))),
    Effect.andThen(Effect.logWarning("it failed", Cause.fail(odd))),
    Effect.provide(layer({ level: "Info", format, destination, startedAt: 0 })),
  )
  return lines
})

describe("the log", () => {
  it.effect.each(["json", "text"] as const)(
    "shows others' unsafe characters as their numbers in %s",
    function* (format) {
      const lines = yield* written(format)
      assert.lengthOf(lines, 6)
      const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u
      const taken = (words: string): string => {
        const [line = ""] = lines.splice(
          lines.findIndex((one) => one.includes(words)),
          1,
        )
        assert.notMatch(line.trimEnd(), unsafe)
        return line
      }
      const within = taken("it lists them")
      if (format === "json") {
        assert.deepStrictEqual((JSON.parse(within) as { all: unknown }).all, [{ [odd]: [odd] }], "it says the same")
      }
      assert.include(taken("of one kind").replaceAll("\\\\", "\\"), shown)
      const cause = lines.pop()?.trimEnd() ?? ""
      assert.include(cause, "\\u{202e}".slice(format === "json" ? 1 : 0))
      assert.notMatch(cause.replaceAll("\n", ""), unsafe)
      for (const line of lines) {
        assert.include(line.replaceAll("\\\\", "\\"), shown)
        assert.notMatch(line.trimEnd(), unsafe)
      }
    },
  )

  it.effect.each(["json", "text"] as const)(
    "that takes no line stops nobody who writes to it, in %s",
    function* (format) {
      const destination = {
        write: () => {
          throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" })
        },
      }
      const logging = layer({ level: "Info", format, destination, startedAt: 0 })
      const done = yield* Effect.exit(Effect.as(say("halted", { detail: "a" }), "done").pipe(Effect.provide(logging)))
      assert.strictEqual(done._tag, "Success")
    },
  )

  it.effect.each(["json", "text"] as const)(
    "counts a warning that comes again within a minute, in %s",
    function* (format) {
      const lines: Array<string> = []
      const destination = { write: (line: string) => void lines.push(line) }
      const outage = Effect.logWarning("balances could not be read", { reason: "503" })
      const logging = layer({ level: "Info", format, destination, startedAt: 0 })
      yield* Effect.gen(function* () {
        for (let second = 0; second < 61; second++) {
          yield* outage
          yield* TestClock.adjust("1 second")
        }
        yield* Effect.logWarning("balances could not be read", { reason: "429" })
        yield* Effect.logError("the store takes no writes")
        yield* Effect.logError("the store takes no writes")
      }).pipe(Effect.provide(logging))
      assert.lengthOf(lines, 5)
      assert.notInclude(lines[0], "repeated")
      assert.match(lines[1] ?? "", /repeated"?[=:]59/)
      assert.include(lines[2], "429", "another reason is another fact")
      for (const line of lines.slice(3)) {
        assert.include(line, "the store takes no writes", "what a human must act on is never held back")
      }
    },
  )
})
