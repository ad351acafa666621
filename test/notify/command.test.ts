import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"
import { soon, waitUntil } from "../support/until.ts"
import { allClear, page, sendTo } from "./Services.ts"

const dir = tempDir("command")

/** A real program of a shell. */
const program = (name: string, script: string): string => {
  const file = join(dir, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o700)
  return file
}

const read = (name: string) => readFileSync(join(dir, name), "utf8")

describe("a command", () => {
  it.live("gets the notification as JSON, its arguments as they are, and no environment", function* () {
    const file = program("take", 'cat > got; printf "%s\\n" "$@" > args; env > env')
    const command = { program: file, args: ["$(touch run) ; x", "--to=a b"], text: "{severity} {subject}" }
    yield* soon("its end", sendTo({ name: "desk", command }, page))
    assert.containSubset(JSON.parse(read("got")), { version: 1, key: page.key, detail: page.detail, text: "page r44f" })
    assert.strictEqual(read("args"), "$(touch run) ; x\n--to=a b\n")
    assert.isFalse(existsSync(join(dir, "run")))
    const names = read("env").matchAll(/^(\w+)=/gm)
    assert.deepStrictEqual(
      [...names].map(([, name]) => name).filter((name) => !/^(PWD|OLDPWD|SHLVL|_)$/.test(name!)),
      ["PATH"],
    )
    yield* soon("its end", sendTo({ name: "desk", command }, allClear))
    assert.containSubset(JSON.parse(read("got")), { resolves: [page.key], text: "resolved r44f" })
  })

  it.live("has failed where it ends with a failure, is missing, or reads nothing", function* () {
    const failureOf = (file: string) =>
      Effect.map(
        Effect.flip(soon("its end", sendTo({ name: "desk", command: { program: file } }, page))),
        (e) => e.message,
      )
    assert.strictEqual(yield* failureOf(program("fail", "echo a lot; exit 3")), "desk: ended with 3")
    assert.strictEqual(yield* failureOf(program("die", "kill -9 $$")), "desk: ended with SIGKILL")
    assert.strictEqual(yield* failureOf(join(dir, "missing")), "desk: not started (ENOENT)")
    const long = { ...page, detail: "x".repeat(1_000_000) }
    const deaf = { program: program("deaf", "exec 0<&-; exit 0") }
    yield* soon("its end", sendTo({ name: "desk", command: deaf }, long))
  })

  it.live("may write as much as it likes, and nobody keeps it", function* () {
    const loud = { program: program("loud", "head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2") }
    yield* soon("its end", sendTo({ name: "desk", command: loud }, page))
  })

  it.effect("is killed after 10 s with all that it started", function* () {
    const file = program("hang", "sleep 300 & echo $! > child; echo $$ > parent; wait")
    const sent = yield* Effect.forkChild(Effect.flip(sendTo({ name: "desk", command: { program: file } }, page)))
    yield* waitUntil("the program", () => existsSync(join(dir, "parent")) && read("parent") !== "")
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual((yield* Fiber.join(sent)).message, "desk: did not end within 10 s")
    for (const name of ["parent", "child"])
      yield* waitUntil(`the end of the ${name}`, () => !isAlive(Number(read(name))))
  })
})

/** A zombie is none: nobody waits for a child whose parent is gone but the machine's first process. */
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}
