import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { prepare } from "../../src/daemon.ts"
import { haltAll, pauseScope, resumeScope } from "../../src/http/controlVerbs.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { controlled } from "../support/Control.ts"
import { flow } from "../support/Flow.ts"
import { it } from "../support/it.ts"

const run = (options: DaemonOptions, ...args: ReadonlyArray<string>) =>
  Effect.promise(() => callCofferer([...args, "--data", options.dataDir]))

describe("pause and resume at the command line", () => {
  it.effect("say when the scope really goes on, where another pause lasts longer", () =>
    controlled(function* (options) {
      const pause = (...more: ReadonlyArray<string>) => run(options, "pause", ...more)
      const bob = ["--scope", "party:bob"]
      const long = yield* pause(...bob, "--reason", "long")
      assert.match(long.stdout, /^paused party:bob until someone resumes it\n$/, long.stderr)
      const short = yield* pause(...bob, "--reason", "short", "--for", "9000h")
      assert.match(short.stdout, /^paused party:bob until someone resumes it: another .*\(party:bob, by .*: long\)\n$/)
      const timed = yield* pause("--scope", "party:eve", "--reason", "short", "--for", "9000h")
      assert.match(timed.stdout, /^paused party:eve until 20[0-9-]+ [0-9:]+ UTC\n$/)
      yield* pause("--reason", "drill")
      const covered = yield* pause("--scope", "party:eve", "--reason", "again", "--for", "9000h")
      assert.match(covered.stdout, /^paused party:eve until someone resumes it: .*\(all, by .*: drill\)\n$/)
    }),
  )

  it.effect("say what stays paused, and by which command that ends", () =>
    controlled(function* (options) {
      const resume = (...more: ReadonlyArray<string>) => run(options, "resume", "--reason", "done", ...more)
      const idle = yield* resume()
      assert.deepStrictEqual([idle.code, idle.stdout], [4, ""])
      assert.match(idle.stderr, /nothing was resumed: no pause of all, and no halt/)
      yield* run(options, "pause", "--reason", "drill")
      yield* run(options, "pause", "--scope", "asset:USDT", "--reason", "audit")
      const other = yield* resume("--scope", "party:bob")
      assert.deepStrictEqual([other.code, other.stdout], [4, ""])
      assert.match(other.stderr, /party:bob is not paused/)
      const all = yield* resume()
      assert.match(all.stdout, /^resumed all\nstill paused until someone resumes it: asset:USDT, by .*: audit; "/)
      assert.include(all.stdout, `"cofferer resume --scope asset:USDT --reason TEXT --data ${options.dataDir}"`)
      yield* (yield* Controls).halt("restored_store", "copied")
      const usdt = yield* resume("--scope", "asset:USDT")
      assert.match(usdt.stdout, /^resumed asset:USDT\nstill halted: restored store; "cofferer recover /)
      // Two people may halt at once.
      for (const detail of ["ana", "ben"]) yield* (yield* Controls).halt("operator", detail)
      const twice = yield* resume("--scope", "party:bob")
      assert.lengthOf(twice.stderr.match(/still halted: operator/g) ?? [], 1)
    }),
  )

  it.effect("tell the log who paused, halted and resumed what, and why", () => {
    const lines: Array<string> = []
    const heard = Logger.make(({ message }) => {
      lines.push(JSON.stringify(message))
    })
    return flow((options) =>
      Effect.gen(function* () {
        const [author, reason] = ["ana", "audit"]
        yield* pauseScope(options.treasury, { scope: "party:bob", author, reason })
        yield* resumeScope(options, { scope: "party:bob", author, reason: "looked" })
        yield* haltAll({ author, reason })
        yield* resumeScope(options, { scope: "all", author, reason: "it was nothing" })
        // Nothing is paused any more, so there is nothing to tell.
        yield* resumeScope(options, { scope: "party:bob", author, reason: "again" })
        assert.lengthOf(lines, 4, lines.join("\n"))
        assert.deepStrictEqual(lines.slice(0, 2), [
          '["payments paused",{"scope":"party:bob","author":"ana","reason":"audit"}]',
          '["payments resumed",{"scope":"party:bob","author":"ana","reason":"looked","count":1}]',
        ])
        assert.match(lines[2] ?? "", /^\["signing halted",\{"scope":"operator","reason":"ana: audit","remedy":"/)
        assert.strictEqual(
          lines[3],
          '["payments resumed",{"scope":"all","author":"ana","reason":"it was nothing","count":1}]',
        )
      }).pipe(Effect.provide(Logger.layer([heard]))),
    )
  })

  it.effect("refuse to end a halt whose HALT file cannot be taken away", () =>
    controlled(function* (options) {
      mkdirSync(join(options.dataDir, "HALT"))
      writeFileSync(join(options.dataDir, "HALT", "x"), "")
      yield* prepare(options)
      const done = yield* run(options, "resume", "--reason", "go")
      assert.deepStrictEqual([done.code, done.stdout], [6, ""])
      assert.match(done.stderr, /HALT +cannot be removed/)
      assert.lengthOf(yield* (yield* Controls).halts, 1)
    }),
  )
})
