import { execFile } from "node:child_process"
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { prepare } from "../../src/daemon.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { compiledDir, root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { controlled } from "../support/Control.ts"
import { paid, round, states } from "../support/Flow.ts"
import { newestIntent } from "../support/Intents.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"
import { yamlText } from "../support/treasury.ts"

const dir = tempDir("approve")
const run = (...args: ReadonlyArray<string>) => Effect.promise(() => callCofferer(args))
const fileOf = (name: string): string => join(dir, name)
/** Makes an operator's key with the command, and returns its public half. */
const newKey = async (name: string): Promise<string> => {
  const made = await callCofferer(["keys", "operator", "new", fileOf(name)])
  assert.strictEqual(made.code, 0, made.stderr)
  return made.stdout.trim()
}
const publicKeys = { ana: await newKey("ana"), ben: await newKey("ben"), chloe: await newKey("chloe") }
const desk = {
  line: { approval: "desk" },
  more: { approvals: { desk: { need: 2, within: "4h", of: publicKeys } } },
}
/** What a process of its own signs, on a machine that knows nothing of the treasury. */
const signElsewhere = (name: string, text: string) =>
  Effect.callback<string>((resume) => {
    const env = { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: compiledDir }
    const args = [join(root, "src/cofferer.sh"), "approve", "sign", "--key", fileOf(name)]
    const child = execFile("sh", args, { env, timeout: 50_000 }, (_, stdout) => resume(Effect.succeed(stdout.trim())))
    child.stdin?.end(text)
  })

describe("operators at the command line", () => {
  it("have keys of their own, which nobody else may read and nothing overwrites", async () => {
    assert.match(publicKeys.ana, /^[0-9a-f]{64}$/)
    assert.strictEqual(statSync(fileOf("ana")).mode & 0o777, 0o600)
    const again = await callCofferer(["keys", "operator", "new", fileOf("ana")])
    assert.deepStrictEqual([again.code, again.stdout], [1, ""])
    assert.match(again.stderr, /the file exists, and no key is overwritten/)
    assert.notInclude(again.stderr, readFileSync(fileOf("ana"), "utf8").trim())
  })

  it("are named where the file says what it permits at worst", async () => {
    const file = fileOf("desk.yaml")
    const text = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
    const line = 'transfersPer24h: 10, approval: desk, approvalAbove: "20_000" }'
    writeFileSync(file, `${text.replace("transfersPer24h: 10 }", line)}\n${yamlText(desk.more)}`)
    const { code, stdout, stderr } = await callCofferer(["check", file])
    assert.strictEqual(code, 0, stderr)
    const people = "with 2 of ana, ben, chloe)   <-"
    assert.include(stdout, `(25,000 each time, 10 transfers, each above 20,000 ${people} the only money that leaves`)
    writeFileSync(file, readFileSync(file, "utf8").replace('"20_000"', '"1_000"'))
    const small = (await callCofferer(["check", file])).stdout
    assert.include(small, `each above 1,000 ${people} of it, 10,000 USDT is the only money that leaves your control`)
  })

  it.effect("see a coming policy before they sign it, and cannot skip it", () =>
    controlled(function* (options) {
      const { text } = options.treasury.document
      const file = fileOf("wider.yaml")
      writeFileSync(file, text.replace('per24h: "400"', 'per24h: "900"'))
      const args = ["-c", file, "--data", options.dataDir]
      const checked = JSON.parse((yield* run("check", file, "-o", "json")).stdout) as { readonly policy: string }
      const printed = yield* run("approve", "terms", checked.policy, "--print", ...args)
      assert.strictEqual(printed.code, 0, printed.stderr)
      assert.match(printed.stdout, /^cofferer approval: terms\n(.+\n)+$/)
      const without = yield* run("approve", "terms", checked.policy, ...args)
      assert.deepStrictEqual([without.code, without.stdout], [2, ""])
      assert.include(without.stderr, "give one of --key FILE, --signature HEX or --print")
      writeFileSync(file, text)
      const { hash } = options.treasury.policy
      const same = yield* run("approve", "terms", hash, "--print", ...args)
      assert.strictEqual(same.code, 6)
      assert.include(same.stderr, `these terms are in force already`)
      const bare = yield* run("approve", "terms", hash, "--print", "--data", options.dataDir)
      assert.match(bare.stderr, /^t\.yaml {2}no such file/, "it reads the daemon's file where none is named")
    }),
  )

  it.effect("approve a payment, one elsewhere and one here, and it is paid once", () =>
    controlled(function* (options, sandbox) {
      for (let i = 0; i < 4; i++) yield* round(options, sandbox)
      const { id } = yield* newestIntent
      const data = ["--data", options.dataDir]
      const printed = yield* run("approve", id.slice(0, 8), "--print", ...data)
      assert.strictEqual(printed.code, 0, printed.stderr)
      assert.match(printed.stderr, /keep-bob: 150\.00 USDT alice -> bob, fee at most 0\.30/)
      assert.match(printed.stdout, /^cofferer approval: payment\n(.+\n)+$/)
      const signature = yield* signElsewhere("chloe", printed.stdout)
      const first = yield* run("approve", id, "--signature", signature, ...data)
      assert.match(first.stdout, /^approved by chloe; 1 more signature needed of: ana, ben\n$/, first.stderr)
      const shown = yield* run("intents", "show", id, ...data)
      assert.match(shown.stdout, /approved by chloe at .*\n +1 more signature needed of: ana, ben; 3 h 59 min left/)
      const key = ["--key", fileOf("ana")]
      assert.match((yield* run("approve", id, ...key, ...data)).stdout, /by ana; that is enough/)
      assert.match((yield* run("approve", id, ...key, ...data)).stdout, /^approved already by ana/)
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.match((yield* run("intents", "show", id, ...data)).stdout, /approval +ana of desk; key /)
      assert.match((yield* run("approve", id, ...key, ...data)).stderr, /there is nothing to approve/)
    }, desk),
  )

  it.effect("are told in one line what they did wrongly", () =>
    controlled(function* (options, sandbox) {
      for (let i = 0; i < 4; i++) yield* round(options, sandbox)
      const { id } = yield* newestIntent
      const data = ["--data", options.dataDir]
      writeFileSync(fileOf("loose"), readFileSync(fileOf("ana")))
      chmodSync(fileOf("loose"), 0o644)
      yield* Effect.promise(() => newKey("eve"))
      const cases: ReadonlyArray<readonly [number, RegExp, ReadonlyArray<string>]> = [
        [2, /give one of --key FILE, --signature HEX or --print/, ["approve", id]],
        [2, /signature/, ["approve", id, "--signature", "00"]],
        [6, /the signature is of nobody of desk/, ["approve", id, "--signature", "00".repeat(64)]],
        [6, /the signature is of nobody of desk/, ["approve", id, "--key", fileOf("eve")]],
        [3, /^\S+loose {2}others may read the key file/, ["approve", id, "--key", fileOf("loose")]],
        [4, /no payment "zzzz"/, ["approve", "zzzz", "--print"]],
        [2, /reason/, ["reject", id]],
      ]
      for (const [code, says, args] of cases) {
        const done = yield* run(...args, ...data)
        assert.deepStrictEqual([done.code, done.stdout], [code, ""], `${args.join(" ")}: ${done.stderr}`)
        assert.match(done.stderr, says)
      }
      const rejected = yield* run("reject", id, "--reason", "not today", ...data)
      assert.match(rejected.stdout, /is rejected by .*: not today/)
      assert.deepStrictEqual(yield* states, ["rejected"])
    }, desk),
  )

  it.effect("end a halt together, with one reason", () =>
    controlled(function* (options) {
      const controls = yield* Controls
      const resume = (reason: string, ...more: ReadonlyArray<string>) =>
        run("resume", "--reason", reason, ...more, "--data", options.dataDir)
      yield* controls.halt("operator", "stop")
      const asked = yield* resume("looked at it")
      assert.strictEqual(asked.code, 7)
      assert.match(asked.stdout, /^cofferer approval: resume\n(.+\n)*reason: looked at it\nvoid from: .+\n$/)
      assert.match(asked.stderr, /2 of ana, ben, chloe must say "resume" with the same reason/)
      const first = yield* resume("looked at it", "--key", fileOf("ana"))
      assert.deepStrictEqual([first.code, first.stdout], [7, ""])
      assert.lengthOf(first.stderr.match(/^cofferer approval: resume$/gm) ?? [], 1, "it is printed once")
      assert.strictEqual((yield* resume("looked at it", "--key", fileOf("ana"))).code, 7, "one is one")
      const another = yield* resume("another reason", "--key", fileOf("ben"))
      assert.strictEqual(another.code, 7)
      assert.match(
        another.stderr,
        /approved by ben; .*same reason.*; ana has signed it with the reason "looked at it"\n/,
      )
      assert.lengthOf(yield* controls.halts, 1)
      const signature = yield* signElsewhere("ben", asked.stdout)
      const done = yield* resume("looked at it", "--signature", signature)
      assert.match(done.stdout, /^resumed all/, done.stderr)
      assert.lengthOf(yield* controls.halts, 0)
      yield* controls.halt("operator", "again")
      assert.strictEqual((yield* resume("looked at it")).code, 7, "what was signed was for the other halt")
    }, desk),
  )

  it.effect("end the halt of a HALT file together, and only then the file goes", () =>
    controlled(function* (options) {
      const controls = yield* Controls
      const file = join(options.dataDir, "HALT")
      const resume = (...more: ReadonlyArray<string>) =>
        run("resume", "--reason", "looked at it", ...more, "--data", options.dataDir)
      writeFileSync(file, "stop\n")
      yield* prepare(options)
      assert.strictEqual((yield* resume()).code, 7)
      assert.strictEqual((yield* resume("--key", fileOf("ana"))).code, 7)
      assert.isTrue(existsSync(file))
      assert.lengthOf(yield* controls.halts, 1)
      const done = yield* resume("--key", fileOf("ben"))
      assert.match(done.stdout, /^resumed all, and removed the HALT file\n$/, done.stderr)
      assert.isFalse(existsSync(file))
      assert.lengthOf(yield* controls.halts, 0)
      yield* prepare(options)
      assert.lengthOf(yield* controls.halts, 0)
    }, desk),
  )
})
