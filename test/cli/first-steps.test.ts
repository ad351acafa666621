import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { callCofferer, startHere } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const chapter = readFileSync(join(root, "docs/getting-started.md"), "utf8")
const blocks = [...chapter.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block)
const treasury = blocks[0] ?? ""
const tests = blocks.find((block) => block.startsWith("# tests.yaml\n")) ?? ""
const play = blocks.find((block) => block.startsWith("# play.yaml\n")) ?? ""

const dir = tempDir("first")
const written = (name: string, text: string): string => {
  const file = join(dir, name)
  writeFileSync(file, text)
  return file
}
const file = written("treasury.yaml", treasury)

/** Commands of a step of the page, with values in the place of those that only a reader has. */
const commandsOf = (step: number, values: Readonly<Record<string, string>>): ReadonlyArray<ReadonlyArray<string>> =>
  [...(chapter.split(`\n## ${step}. `)[1]?.split("\n## ")[0] ?? "").matchAll(/^ {4}cofferer (.*?)(?: +#.*)?$/gm)].map(
    ([, line = ""]) =>
      [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = ""]) => quoted ?? values[word] ?? word),
  )

describe("the first steps", () => {
  it("begin with a file without keys, which warns and still runs", async () => {
    const { code, stdout, stderr } = await callCofferer(["check", file])
    assert.strictEqual(code, 0, stderr)
    const reserve = join(dir, "secrets/reserve")
    assert.include(
      stdout,
      `:11:109  no such file: ${reserve}; restore it, or for a new party make it: cofferer keys new ${reserve}, and set publicKey`,
    )
    assert.lengthOf(stdout.match(/no such file/g) ?? [], 1)
    assert.lengthOf(stdout.match(/^warn/gm) ?? [], 2)
  })

  it("test the rule as the page shows", async () => {
    const { code, stdout } = await callCofferer(["test", written("tests.yaml", tests), "-c", file])
    assert.strictEqual(code, 0, stdout)
    const [line = ""] = stdout.split("\n")
    assert.include(chapter, `\n    ${line}\n`)
  })

  it("make a payer's key, which the file then names, and which live needs", async () => {
    const live = written("live.yaml", treasury.replace("mode: shadow", "mode: live"))
    const refused = await callCofferer(["check", live])
    assert.strictEqual(refused.code, 3)
    assert.match(refused.stderr, /live\.yaml:11:109 {2}no such file: .*; .*cofferer keys new .*secrets\/reserve$/m)
    let text = treasury.replace("mode: shadow", "mode: live")
    for (const name of ["reserve"]) {
      const key = join(dir, "secrets", name)
      const made = await callCofferer(["keys", "new", key])
      assert.strictEqual(made.code, 0, made.stderr)
      assert.match(made.stdout, /^[0-9a-f]{64}\n$/)
      assert.strictEqual(statSync(key).mode & 0o777, 0o600)
      assert.match(readFileSync(key, "utf8"), /^[0-9a-f]{64}\n$/)
      const again = await callCofferer(["keys", "new", key])
      assert.deepStrictEqual([again.code, again.stdout], [1, ""])
      assert.match(again.stderr, /the file exists, and no key is overwritten/)
      text = text.replace(new RegExp(`( ${name}: +{ publicKey: )"[0-9a-f]{64}"`), `$1"${made.stdout.trim()}"`)
    }
    const { code, stderr } = await callCofferer(["check", written("live.yaml", text)])
    assert.strictEqual(code, 0, stderr)
    const other = await callCofferer(["check", file])
    assert.strictEqual(other.code, 3, "keys that are there are the right ones, whatever the mode")
    assert.lengthOf(other.stderr.match(/holds the key of/g) ?? [], 1)
  })

  it("say what starts a daemon where none runs", async () => {
    for (const command of [["plan"], ["explain", "fund-hot"]]) {
      const data = join(dir, "nowhere")
      const { code, stderr } = await callCofferer([...command, "-c", file, "--data", data])
      assert.strictEqual(code, 4)
      assert.include(stderr, `it has no database; start it: cofferer run ${file} --data ${data}`)
    }
  })

  it("name no command of a file that this folder does not have", async () => {
    const { code, stderr } = await callCofferer(["status"], { env: { COFFERER_DATA_DIR: join(dir, "nowhere") } })
    assert.strictEqual(code, 4)
    assert.include(
      stderr,
      "it has no database; there is no treasury.yaml here: name its data directory with --data DIR, or its file with -c FILE",
    )
  })

  it("say what an embedded network needs of the file", async () => {
    const { code, stderr } = await callCofferer(["sandbox", file, "--data", join(dir, "nowhere")])
    assert.strictEqual(code, 3)
    assert.match(stderr, /sandbox is missing; add sandbox: \{ seed: /)
  })

  it("name every key that the embedded network makes otherwise, with the right one", async () => {
    const right = await callCofferer(["check", "-c", file, "-c", written("play.yaml", play)])
    assert.deepStrictEqual([right.code, right.stderr], [0, ""])
    assert.notMatch(right.stdout, /publicKey|no such file/)
    const keys = [...play.matchAll(/publicKey: ("[0-9a-f]{64}"), signer/g)].map(([, key = ""]) => key)
    assert.lengthOf(keys, 1)
    const others = written(
      "others.yaml",
      keys.reduce((text, key, i) => text.replace(key, `"${`${i + 1}`.repeat(64)}"`), play),
    )
    for (const command of ["check", "run"]) {
      const data = join(dir, "nowhere")
      const { code, stderr } = await callCofferer([command, "-c", file, "-c", others, "--data", data])
      assert.strictEqual(code, 3)
      for (const [i, key] of keys.entries()) {
        assert.match(stderr, new RegExp(`others\\.yaml:${5 + i}:\\d+ .*; write publicKey: ${key}`))
      }
    }
    const nobody = written("nobody.yaml", play.replace("sandbox: reserve }", "sandbox: reserve-3 }"))
    const { stderr } = await callCofferer(["check", "-c", file, "-c", nobody])
    assert.match(stderr, /nobody\.yaml:5:\d+ {2}the sandbox has no party "reserve-3"; /)
  })

  it("end with a payment of play money", async () => {
    written("treasury-soon.yaml", treasury.replace("for: 10s", "for: 0s"))
    // Nobody takes money in between, so that the amount is the one of the page.
    const faster = play
      .replace(/^ {2}spenders:.*\n(?: {4}.*\n)+/m, "")
      .replace(
        /^sandbox:\n/m,
        'sandbox:\n  blockInterval: 200ms\n  pow: { difficulty: "6" }\n  listen: "127.0.0.1:0"\n',
      )
      .replace(/^network: \{/m, "network: { poll: { busy: 100ms, idle: 100ms },")
    written("faster.yaml", faster)
    const files = ["-c", join(dir, "treasury-soon.yaml"), "-c", join(dir, "faster.yaml")]
    const daemon = startHere(["run", ...files, "--sandbox", "--data", join(dir, "play"), "--output", "json"], {
      env: { COFFERER_LISTEN: "127.0.0.1:0" },
    })
    try {
      const paid = await daemon.line((line) => line["msg"] === "payment confirmed")
      const { amount, asset, fee, from, to } = paid
      assert.deepStrictEqual([amount, asset, fee, from, to], ["16000.00", "USDT", "1.00", "reserve", "hot"])
      const said: Array<string> = []
      for (const command of commandsOf(5, { play: join(dir, "play") })) {
        const { code, stdout, stderr } = await callCofferer([...command, "-c", file])
        assert.strictEqual(code, 0, stderr)
        said.push(stdout)
      }
      assert.lengthOf(said, 6)
      assert.match(said[1] ?? "", /^fund-hot hot\/USDT /)
      assert.match(said[3] ?? "", /paused \(all\) by \S+: first try/)
      assert.match(said[5] ?? "", /confirmed +16,000\.00 USDT +reserve -> hot/)

      const { urls } = await daemon.line((line) => line["msg"] === "gateways configured")
      mkdirSync(join(dir, "live"))
      const own = { "treasury.yaml": join(dir, "live/treasury.yaml"), "https://gateway.example": String(urls) }
      const commands = commandsOf(6, own)
      assert.deepStrictEqual(
        commands.map(([name]) => name),
        ["init", "check", "doctor"],
      )
      for (const command of commands) {
        const { code, stdout, stderr } = await callCofferer(command, { env: { COFFERER_LISTEN: "127.0.0.1:0" } })
        assert.strictEqual(code, 0, stdout + stderr)
      }
    } finally {
      await daemon.stop()
    }
  }, 60_000)
})
