import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mountedAt } from "../../src/cli/run/treasuryList.ts"
import { socketFile } from "../../src/http/ControlServer.ts"
import { noteAddress, outageAnswers, ownAddress, withServices } from "../../src/http/StatusServer.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { noteStart } from "../../src/store/controls/starts.ts"
import * as Database from "../../src/store/database/Database.ts"
import { movedKey } from "../../src/store/database/moved.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { controlled } from "../support/Control.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime } from "../support/until.ts"

const dir = tempDir("emergency")
const run = (...args: ReadonlyArray<string>) => Effect.promise(() => callCofferer(args))
let files = 0
/** A treasury file with the text, as its name. */
const fileWith = (text: string): string => {
  const file = join(dir, `treasury-${files++}.yaml`)
  writeFileSync(file, text)
  return file
}
const reason = ["--reason", "emergency"]

/** What a file that is not in order may look like; its data directory can be read. */
const broken: ReadonlyArray<readonly [title: string, text: (data: string) => string, says: RegExp]> = [
  ["a misspelt key", (data) => `version: 1\npolcy: {}\nstore: { dir: ${data} }\n`, /:2:1 {2}unknown key "polcy"/],
  [
    "no YAML at all",
    (data) => `version: 1\nrules: [ {{\nstore:   # ours\n  keep: 30d\n\n  dir: "${data}"\nparties: }\n`,
    /:\d+:\d+ {2}/,
  ],
  ["a list of rules that is not there", (data) => `store:\n  dir: ${data}\nrules: gone.ts\n`, /gone\.ts/],
]

describe("commands of an emergency, where the treasury file is broken", () => {
  it.effect.each(broken)("reach a healthy daemon by %s and warn of what is wrong", ([, text, says]) =>
    controlled(function* (options) {
      const config = ["--config", fileWith(text(options.dataDir))]
      const halted = yield* run("halt", ...reason, ...config)
      const named = `halted: ${options.treasury.name} signs and sends nothing`
      assert.deepStrictEqual([halted.code, halted.stdout.slice(0, named.length)], [0, named], halted.stderr)
      assert.match(halted.stderr, /^warn /)
      assert.match(halted.stderr, says)
      assert.include(halted.stderr, `goes on with the data directory ${options.dataDir}; --data DIR names another`)
      assert.lengthOf(yield* (yield* Controls).halts, 1)
      const resumed = yield* run("resume", ...reason, ...config)
      assert.deepStrictEqual([resumed.code, resumed.stdout], [0, "resumed all\n"], resumed.stderr)
      const paused = yield* run("pause", "--scope", "rule:keep-bob", ...reason, ...config)
      assert.strictEqual(paused.code, 0, paused.stderr)
      assert.lengthOf(yield* (yield* Controls).pauses, 1)
      for (const asked of [["status"], ["intents"], ["explain", "keep-bob"], ["verify"]]) {
        const answer = yield* run(...asked, ...config)
        assert.strictEqual(answer.code, 0, `${asked[0]}: ${answer.stderr}`)
        assert.isNotEmpty(answer.stdout)
      }
    }),
  )

  it.effect("are told nothing of the file where --data says the directory", () =>
    controlled(function* (options) {
      const answer = yield* run("status", "--config", fileWith("polcy: {}\n"), "--data", options.dataDir)
      assert.deepStrictEqual([answer.code, answer.stderr], [0, ""])
    }),
  )

  it("write the HALT file where no daemon runs", async () => {
    const data = join(dir, "stopped")
    mkdirSync(data)
    for (const command of ["halt", "pause"]) {
      const { code, stdout } = await callCofferer([
        command,
        ...reason,
        "-c",
        fileWith(`store: { dir: ${data} }\npolcy`),
      ])
      assert.deepStrictEqual([code, stdout.includes(`wrote ${data}/HALT`)], [0, true])
      assert.include(readFileSync(join(data, "HALT"), "utf8"), "emergency")
      rmSync(join(data, "HALT"))
    }
  })

  it.effect("pause nothing by a scope that names nothing where no daemon runs", function* () {
    const data = join(dir, "misspelt")
    mkdirSync(data, { mode: 0o700 })
    const store = Layer.provideMerge(Settings.layer, Database.layer({ filename: join(data, Database.databaseFile) }))
    yield* Effect.provide(noteStart([join(root, "config/sandbox.yaml")]), store)
    const paused = (scope: string) => run("pause", "--scope", scope, ...reason, "--data", data)
    const { code, stderr } = yield* paused("rule:keep-hot-fundd")
    assert.match(stderr, /scope "rule:keep-hot-fundd" names nothing; known: .*rule:keep-hot-funded/)
    assert.deepStrictEqual([code, existsSync(join(data, "HALT"))], [2, false])
    assert.match(
      (yield* paused("rule:keep-hot-funded")).stdout,
      /^everything is stopped instead of rule:keep-hot-funded/,
    )
  })

  it.effect("say that a store was moved, and that nothing is halted by it", function* () {
    const data = join(dir, "moved")
    mkdirSync(data, { mode: 0o700 })
    const mark = Effect.flatMap(Sql, (sql) =>
      sql.withTransaction(sql.write`INSERT INTO settings (key, value) VALUES (${movedKey}, 'a1 it was moved to quay')`),
    )
    const layer = Layer.provideMerge(Settings.layer, Database.layer({ filename: join(data, Database.databaseFile) }))
    yield* Effect.provide(Effect.andThen(noteStart([join(root, "config/sandbox.yaml")]), mark), layer)
    const { stdout } = yield* run("status", "--data", data)
    assert.match(stdout, /^BAD No daemon runs: it was moved to quay\. Its database says:\n/)
    for (const command of ["halt", "pause"]) {
      const { code, stderr } = yield* run(command, ...reason, "--data", data)
      assert.deepStrictEqual([code, /NOT HALTED elsewhere: .*it was moved to quay/.test(stderr)], [1, true], stderr)
      assert.include(readFileSync(join(data, "HALT"), "utf8"), "emergency")
      rmSync(join(data, "HALT"))
    }
  })

  it.effect("name a daemon that waits at its page's address, and none of another treasury there", function* () {
    const data = join(dir, "waiting")
    mkdirSync(data, { mode: 0o700 })
    const store = Layer.provideMerge(Settings.layer, Database.layer({ filename: join(data, Database.databaseFile) }))
    yield* Effect.provide(noteStart([join(root, "config/sandbox.yaml")]), store)
    const page = ownAddress({ host: "127.0.0.1", port: 0, portBusy: "error", dataDir: data })
    const names = { gateways: [], rules: [], receivers: [], version: "1", revision: "" }
    const metrics = Metrics.layer({ treasury: "sandbox", mode: "live", ...names })
    const headline = Effect.fnUntraced(function* (waiting: string) {
      yield* page.serve(outageAnswers(waiting, "disk full", "free space"))
      return (yield* run("status", "--data", data)).stdout
    })
    const postgres = join(data, "postgres.yaml")
    writeFileSync(join(data, "address"), "postgres://cofferer:x@127.0.0.1:9/cofferer", { mode: 0o600 })
    const sandbox = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
    writeFileSync(postgres, `${sandbox}\ndatabase: { postgres: { urlFile: address } }\n`)
    const ofServer = Effect.gen(function* () {
      yield* page.serve(outageAnswers("sandbox", "no server", "make the server run"))
      return yield* run("status", "--data", data, "-c", postgres)
    }).pipe(Effect.scoped, Effect.provide(metrics))
    const shown = (waiting: string) => headline(waiting).pipe(Effect.scoped, Effect.provide(metrics))
    assert.match(yield* shown("quay"), /^BAD No daemon runs: nothing is decided, sent or watched; start it: /)
    assert.match(yield* shown("sandbox"), /^BAD A daemon waits at 127\.0\.0\.1:\d+: .*disk full/)
    const gone = yield* ofServer
    assert.match(gone.stdout, /^BAD A daemon waits at 127\.0\.0\.1:\d+: .*no server.*make the server run/)
    assert.deepStrictEqual([gone.code, gone.stderr], [0, ""])
    const ofMany = Effect.gen(function* () {
      const answers = yield* withServices(outageAnswers("sandbox", "disk full", "free space"))
      const here = new Map([["sandbox", answers]])
      const state = { name: "sandbox", file: "", state: "running", severity: "ok", text: "", since: "" } as const
      const all = ownAddress(
        { host: "127.0.0.1", port: 0, portBusy: "error", dataDir: dir },
        mountedAt(here, () => state),
      )
      const { url } = yield* all.serve(outageAnswers("all", "it is asked for one of many", ""))
      yield* noteAddress(data, `${url}/treasury/sandbox/`)
      return (yield* run("status", "--data", data)).stdout
    }).pipe(Effect.scoped, Effect.provide(metrics))
    assert.match(yield* ofMany, /^BAD A daemon waits at 127\.0\.0\.1:\d+: .*disk full/)
  })

  it.each<readonly [title: string, answer: (response: ServerResponse) => void, warning: RegExp]>([
    [
      "answers with nonsense",
      (response) => response.end("nonsense"),
      /^warn the daemon's answer is not JSON: nonsense/,
    ],
    [
      "breaks off in its answer",
      (response) => response.writeHead(200, { "content-length": 9 }).write("{", () => response.destroy()),
      /^warn the daemon cannot be reached: aborted/,
    ],
  ])("halt a daemon that %s by the HALT file", async (title, answer, warning) => {
    const data = join(dir, title.replaceAll(" ", "-"))
    mkdirSync(data, { mode: 0o700 })
    const server = createServer((_, response) => answer(response))
    await new Promise<void>((resolve) => {
      server.listen(join(data, socketFile), resolve)
    })
    const { code, stdout, stderr } = await inTime("the halt", callCofferer(["halt", ...reason, "--data", data]))
    server.close()
    assert.strictEqual(code, 0, stderr)
    assert.match(stderr, warning)
    assert.include(stdout, `wrote ${data}/HALT, which halts the daemon at its next check; `)
    assert.include(readFileSync(join(data, "HALT"), "utf8"), "emergency")
  })

  it("pause everything by the HALT file if the daemon does not understand", async () => {
    const data = join(dir, "hanging")
    mkdirSync(data, { mode: 0o700 })
    const server = createServer((_, response) => response.end("nonsense"))
    await new Promise<void>((resolve) => {
      server.listen(join(data, socketFile), resolve)
    })
    const narrow = ["--scope", "party:hot", "--for", "2h"]
    const { code, stdout, stderr } = await callCofferer(["pause", ...reason, ...narrow, "--data", data])
    server.close()
    assert.strictEqual(code, 0, stderr)
    assert.match(stderr, /^warn the daemon's answer is not JSON: nonsense/)
    const instead = "everything is stopped instead of party:hot for 2h, and until someone resumes it: "
    assert.include(stdout, `${instead}wrote ${data}/HALT, which halts the daemon at its next check; `)
    assert.include(stdout, `"cofferer resume --reason TEXT --data ${data}" removes it`)
    assert.include(readFileSync(join(data, "HALT"), "utf8"), "emergency")
  })

  it.effect("write no HALT file where the daemon understood a pause and refused it", () =>
    controlled(function* (options) {
      const done = yield* run("pause", "--scope", "party:nobody", ...reason, "--data", options.dataDir)
      assert.strictEqual(done.code, 2, done.stderr)
      assert.match(done.stderr, /scope "party:nobody" names nothing/)
      assert.isFalse(existsSync(join(options.dataDir, "HALT")))
    }),
  )

  it("stop nothing in a directory that is not there, and say so", async () => {
    const { code, stdout, stderr } = await callCofferer(["halt", ...reason, "--data", join(dir, "nowhere")])
    assert.deepStrictEqual([code, stdout], [4, ""])
    assert.match(stderr, /nowhere is not a data directory: nothing is halted; name the right one with --data DIR$/m)
    assert.isFalse(existsSync(join(dir, "nowhere")))
  })
})
