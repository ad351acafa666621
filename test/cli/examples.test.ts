import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { examples } from "../../src/cli/root.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { lineWith, type SteppedDaemon, startStepped, steppedSandbox, urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"
import { callsOf, flagsOfCommands, problemsOf } from "../tidy/commands.ts"
import { parsePage } from "../tidy/Markdown.ts"

const typed = Object.entries(examples)
const wordsOf = (line: string) => callsOf(parsePage(`\n    cofferer ${line}\n`))[0]!

describe("the examples of help", () => {
  it("are one for each command", async () => {
    assert.sameMembers(Object.keys(examples), [...(await flagsOfCommands()).keys()])
  })

  it.each(typed)("%s: is a whole call, which its help shows", async (path, [line]) => {
    assert.isTrue(line.startsWith(path))
    assert.deepStrictEqual(await problemsOf(wordsOf(line)), [])
    const { stdout, code } = await callCofferer([...path.split(" "), "--help"])
    assert.strictEqual(code, 0)
    assert.include(stdout.replaceAll(/\s+/g, " "), `cofferer ${line}`)
  })
})

describe("completion", () => {
  it.each(["bash", "zsh", "fish"])("has a script for %s that knows commands and flags", async (shell) => {
    const { code, stdout, stderr } = await callCofferer(["--completions", shell])
    assert.deepStrictEqual([code, stderr], [0, ""])
    for (const word of ["cofferer", "doctor", "payer-key"]) assert.include(stdout, word)
  })
})

describe("the examples beside a daemon that has paid", () => {
  const dir = tempDir("examples")
  const file = join(dir, "treasury.yaml")
  const data = join(dir, "data")
  let daemon: SteppedDaemon

  beforeAll(async () => {
    writeFileSync(file, steppedSandbox())
    daemon = startStepped(file, data)
    await daemon.payFirst()
  })

  afterAll(async () => {
    await daemon.stop()
  })

  /** Exit codes other than 0: the payment is paid, or its account moved just now. */
  const codes: Readonly<Record<string, number>> = {
    "intents resolve": 6,
    "intents reject": 6,
    "intents cancel": 6,
    "intents abandon": 6,
    reject: 6,
    "balances rebase": 6,
  }
  const run = [
    ...["doctor", "check", "status", "explain", "plan", "intents", "intents show", "intents resolve", "intents reject"],
    ...["intents cancel", "intents abandon", "reject", "keys list", "reload", "adopt", "recover", "backfill"],
    ...["verify", "export", "assets", "balances", "balances rebase", "sandbox fault list", "sandbox fault arm"],
    ...["sandbox fault clear", "pause", "halt", "resume", "alerts list", "version"],
  ]

  it.each(run)("%s does what it says", async (path) => {
    const network = urlOf(await daemon.line(lineWith("gateways configured")))
    const flags = (await flagsOfCommands()).get(path)
    const words = wordsOf(examples[path]![0]).words.filter((word) => word !== "treasury.yaml")
    const args = [
      ...words,
      ...(flags?.has("--config") === true ? ["--config", file] : []),
      ...(flags?.has("--data") === true ? ["--data", data] : []),
      ...(flags?.has("--gateway") === true ? ["--gateway", network] : []),
    ]
    const { code, stdout, stderr } = await callCofferer(args, { env: { COFFERER_LISTEN: "127.0.0.1:0" } })
    assert.strictEqual(code, codes[path] ?? 0, `${stdout}\n${stderr}`)
  })
})
