import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { loadDaemon } from "../../src/config/DaemonFile.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { decodeYaml } from "../../src/config/yaml/decodeParts.ts"
import { daemonFile } from "../../src/config/yaml/readSources.ts"
import { readYaml } from "../../src/config/yaml/Yaml.ts"
import { parseAmount } from "../../src/domain/Amount.ts"
import { holdReasons } from "../../src/domain/Decision.ts"
import { haltReasons } from "../../src/domain/Halt.ts"
import { intentStates } from "../../src/domain/Intent.ts"
import { SubmitBody } from "../../src/engine/submitPayment.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { rulePages, rulesTreasury } from "../support/ruleExamples.ts"
import { tempDir } from "../support/tempDir.ts"
import { callsOf, flagsOfCommands, isTyped, linesOf, problemsOf } from "./commands.ts"
import { type Page, parsePage } from "./Markdown.ts"
import { complaint, listFiles, readSource, root } from "./Source.ts"

interface NamedPage extends Page {
  readonly path: string
  readonly text: string
}

const named = (path: string, text = readSource(path).text): NamedPage => ({ path, text, ...parsePage(text) })
const files = listFiles()
const everyPage = files.filter((path) => path.endsWith(".md")).map((path) => named(path))
/** What people read who run it. Other pages are about its code, with examples that their own tests run. */
const manual = everyPage.filter(({ path }) => /^(README\.md$|docs\/|config\/)/.test(path))

const dir = tempDir("docs")

let count = 0
/** A file in a folder of its own, in which an example may name others. */
const written = (text: string, name = "treasury.yaml"): string => {
  const folder = join(dir, `${++count}`)
  mkdirSync(folder)
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** The first example in YAML of a page that begins like this. */
const exampleOf = (path: string, begin: RegExp): string =>
  manual
    .find((page) => page.path === path)
    ?.blocks.find(({ language, text }) => language === "yaml" && begin.test(text))?.text ??
  assert.fail(`${path} shows ${begin}`)

const smallest = exampleOf("README.md", /^version:/)
const payment = exampleOf("docs/commands.md", /^idempotencyKey:/)
const tests = exampleOf("docs/testing-rules.md", /^treasury:/)

/** The example with keys that were made for it, as its reader makes them. */
const withKeys = async (text: string): Promise<string> => {
  const file = written(text)
  let own = text
  for (const [, key = "", name = ""] of text.matchAll(/publicKey: "([0-9a-f]{64})", signer: \{ file: (\S+) \}/g)) {
    const made = await callCofferer(["keys", "new", join(file, "..", name)])
    own = own.replace(key, made.stdout.trim())
  }
  writeFileSync(file, own)
  return file
}

const checked = async (...overlays: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { code, stderr } = await callCofferer(["check", ...overlays.flatMap((file) => ["-c", file])])
  return code === 0 ? [] : stderr.trimEnd().split("\n")
}

/** A part of a treasury goes over the smallest one, or over that of the rules where it names more of its parties. */
const checkedPart = async (text: string): Promise<ReadonlyArray<string>> => {
  const part = written(text)
  const found = await checked(await withKeys(smallest), part)
  return found.length === 0 ? [] : await checked(await withKeys(rulesTreasury), part)
}

/** A payment of a person, which the smallest treasury could pay. */
const checkedPayment = (text: string): Promise<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const { transfer } = yield* decodeYaml(SubmitBody, yield* readYaml(written(text)))
    const { parties, assets } = yield* loadTreasury(written(smallest.replace("mode: live", "mode: shadow")))
    const asset = assets.get(transfer.asset)
    const amount = asset === undefined ? undefined : parseAmount(transfer.amount, asset.decimals)
    return [
      ...[transfer.from, transfer.to].filter((name) => !parties.has(name)).map((name) => `"${name}" is not a party`),
      ...(amount === undefined ? [`"${transfer.asset}" is not pinned`] : "error" in amount ? [amount.error] : []),
    ]
  }).pipe(
    Effect.catch(({ message }) => Effect.succeed([message])),
    Effect.runPromise,
  )

/** Tests of the play money's rules, from the folder in which its own tests are. */
const playedTests = async (text: string): Promise<ReadonlyArray<string>> => {
  const file = written(text, "tests.yaml")
  mkdirSync(join(file, "../tests"))
  writeFileSync(join(file, "../tests/rules.yaml"), text)
  writeFileSync(join(file, "../sandbox.yaml"), readFileSync(join(root, "config/sandbox.yaml")))
  const { code, stdout, stderr } = await callCofferer(["test", join(file, "../tests/rules.yaml")])
  return code === 0 ? [] : [stderr + stdout]
}

/** Settings of a process of several treasuries. */
const checkedDaemon = (text: string) => {
  const file = written(text, daemonFile)
  for (const [, secret = ""] of text.matchAll(/urlFile: ([^\s}]+)/g)) {
    mkdirSync(join(file, "..", dirname(secret)), { recursive: true })
    writeFileSync(join(file, "..", secret), "postgres://cofferer@localhost/cofferer")
  }
  return Effect.runPromise(
    Effect.match(loadDaemon(join(file, "..")), { onSuccess: () => [], onFailure: ({ message }) => [message] }),
  )
}

/** What is wrong with an example in YAML, by what it is. */
const problemsOfYaml = async (text: string): Promise<ReadonlyArray<string>> => {
  if (text.startsWith("# daemon.yaml")) return await checkedDaemon(text)
  const value: unknown = parse(text, { schema: "failsafe" })
  const keys = Object.keys(value as object)
  if (keys.includes("version")) return await checked(await withKeys(text))
  if (keys.includes("idempotencyKey")) return await checkedPayment(text)
  if (!keys.includes("tests")) return await checkedPart(text)
  return keys.includes("treasury") ? await playedTests(text) : ["tests of no treasury"]
}

/** What is wrong with an example, by the language of its block. */
const problemsOfBlock = async (language: string, text: string): Promise<ReadonlyArray<string>> => {
  switch (language) {
    case "yaml":
      return await problemsOfYaml(text)
    case "sh":
      return text
        .split("\n")
        .filter((line) => !isTyped(line))
        .map((line) => `no call: ${line}`)
    case "text":
    case "":
      return []
    default:
      return ["no test knows this language"]
  }
}

describe("examples of the pages", () => {
  /** Rules with their tests, and code: test/backtest/reference.test.ts plays each. Other tests: first-steps.test.ts. */
  const isPlayed = (path: string, language: string, text: string) =>
    (rulePages.some((page) => page === path) && (language === "ts" || /^tests:/m.test(text))) ||
    path === "docs/getting-started.md"
  const ran = manual.flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language, text }) => !["", "text"].includes(language) && !isPlayed(path, language, text))
      .map(({ line, language, text }) => [`${path}:${line}`, language, text] as const),
  )

  it("are of each kind", () => {
    for (const begin of [/^version:/, /^# staging\.yaml/, /^policy:/, /^network:/, /^idempotencyKey:/, /^treasury:/]) {
      assert.isTrue(
        ran.some(([, , text]) => begin.test(text)),
        String(begin),
      )
    }
  })

  it.each(ran)("%s: its %s is taken", async (_, language, text) => {
    assert.deepStrictEqual(await problemsOfBlock(language, text), [])
  })

  it("begin with a treasury that no warning is about", async () => {
    const { stdout } = await callCofferer(["check", await withKeys(smallest)])
    assert.match(stdout, /^\S.* {2}ok {3}1 rule, 2 parties, 1 asset, mode live/)
    assert.notMatch(stdout, /^warn/m)
  })

  it.each([
    ["a treasury with an unknown key", "yaml", "version: 1\nname: harbor\nmood: live\n", /unknown key "mood"/],
    ["a rule that no party pays", "yaml", smallest.replace("{ from: reserve, l", "{ from: r, l"), /"r" is not a party/],
    ["a part that does not fit", "yaml", "mode: shadow\nnetwork: { quorum: 2 }\n", /2 of 1 gateways/],
    ["a part with an unknown key", "yaml", "mode: shadow\nrulez: []\n", /unknown key "rulez"/],
    ["a payment to nobody", "yaml", payment.replace("to: hot", "to: hut"), /"hut" is not a party/],
    ["a payment with an unknown key", "yaml", payment.replace("transfer", "transfers"), /unknown key "transfers"/],
    ["tests without steps", "yaml", "treasury: ../sandbox.yaml\ntests: [{ name: a }]\n", /steps/],
    ["tests that fail", "yaml", tests.replace('pays: "16_000"', 'pays: "15_000"'), /1 of 2 tests failed/],
    ["tests of nothing", "yaml", "tests: []\n", /tests of no treasury/],
    ["a script of other lines than calls", "sh", "npm start\nrm -rf x", /no call: rm/],
    ["code that nothing runs", "ts", "export const rules = []\n", /no test knows/],
  ] as const)("would not be taken: %s", async (_, language, text, says) => {
    assert.match((await problemsOfBlock(language, text)).join("\n"), says)
  })
})

describe("calls in the pages", () => {
  const calls = everyPage.flatMap((page) => callsOf(page).map((call) => ({ path: page.path, ...call })))
  const complaintsOf = async (found: typeof calls) => {
    const problems = new Map<string, ReadonlyArray<string>>()
    for (const call of found) {
      const words = JSON.stringify([call.words, call.isWhole])
      if (!problems.has(words)) problems.set(words, await problemsOf(call))
    }
    return found.flatMap((call) =>
      (problems.get(JSON.stringify([call.words, call.isWhole])) ?? []).map((problem) =>
        complaint(call.path, call.line, problem),
      ),
    )
  }

  it("name commands and flags that there are, with values that these take", async () => {
    assert.isAbove(calls.filter(({ isWhole }) => isWhole).length, 10)
    assert.isAbove(calls.length, 100)
    assert.deepStrictEqual(await complaintsOf(calls), [])
  })

  it.each([
    ["`cofferer chek`", 1],
    ["`status --fial`", 1],
    ["`intents cancel|forget ID`", 1],
    ["`approve terms XYZ`", 1],
    ["    cofferer status --fial", 1],
    ["    $ npm run -s cofferer -- halt", 1],
    ["```sh\nsrc/cofferer.sh export --format xml > x\n```", 1],
    ["`status --fail`, `approve terms HASH`, `halt`, `status of it`", 1],
    ["`status --fail`, `approve terms HASH`, `halt`, `stat`, `keys operator new FILE`", 0],
    ["    cofferer approve r44f --signature 5c02... # and so on\n    cofferer explain a b", 0],
    ["    0.1 s  cofferer   0.1.0", 0],
  ])("are read in %j, with %i mistakes", async (text, mistakes) => {
    const found = callsOf(named("docs/a.md", `\n${text}\n`)).map((call) => ({ path: "docs/a.md", ...call }))
    assert.lengthOf(await complaintsOf(found), mistakes)
  })

  it("name scripts of package.json and files that there are", () => {
    const { scripts } = JSON.parse(readSource("package.json").text) as { readonly scripts: Record<string, string> }
    const typed = everyPage.flatMap((page) =>
      [...linesOf(page).filter(({ text }) => isTyped(text)), ...page.spans].map((line) => ({
        ...line,
        path: page.path,
      })),
    )
    const gone = typed.flatMap(({ path, text, line }) => {
      const script = /^npm (?:run (?:-s )?)?([\w-]+)/.exec(text)?.[1]
      const isGone = script !== undefined && script !== "ci" && !Object.hasOwn(scripts, script)
      const paths = [...text.matchAll(/ ((?:config|docs|src|test)\/\S+)| \/app\/(\S+)/g)].map(
        ([, a, b]) => a ?? b ?? "",
      )
      const missing = isTyped(text) ? paths.filter((file) => !existsSync(join(root, file))) : []
      return [...(isGone ? [`no script ${script}`] : []), ...missing.map((file) => `no file ${file}`)].map((what) =>
        complaint(path, line, what),
      )
    })
    assert.isAbove(typed.filter(({ text }) => text.startsWith("npm ")).length, 15)
    assert.deepStrictEqual(gone, [])
  })

  it("mount in a container what its image names", () => {
    const image = readSource("Dockerfile").text
    const mounts = manual.flatMap((page) =>
      linesOf(page).flatMap(({ text }) => [...text.matchAll(/ -v [^ :]+:([^ :]+)/g)].map(([, path = ""]) => path)),
    )
    assert.sameMembers(mounts, ["/config/treasury.yaml", "/config/secrets", "/data"])
    assert.include(image, 'CMD ["run", "/config/treasury.yaml"]')
    assert.include(image, 'VOLUME ["/data"]')
  })
})

describe("tables of the pages", () => {
  const sectionOf = (path: string, heading: string): string =>
    readSource(path).text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? assert.fail(`${path}: ${heading}`)
  const firstCells = (text: string): ReadonlyArray<string> =>
    [...text.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
    )

  it("have a row for each reason of a rule that holds, in order, and count them", () => {
    const reasons = firstCells(sectionOf("docs/rules.md", "Why a rule holds"))
    assert.deepStrictEqual(reasons.toSorted(), holdReasons.toSorted())
    assert.include(readSource("docs/troubleshooting.md").text, `lists all ${holdReasons.length} checks`)
  })

  it("have a row for each state of a payment and for each halt", () => {
    assert.deepStrictEqual(firstCells(sectionOf("docs/safety.md", "States of a payment")), [...intentStates])
    assert.sameMembers([...firstCells(sectionOf("docs/troubleshooting.md", "Halts"))], [...haltReasons])
  })

  it("name the commands that print no JSON", async () => {
    const commands = await flagsOfCommands()
    const withoutJson = [...commands].filter(([, flags]) => !flags.has("--output")).map(([path]) => path)
    const page = readSource("docs/commands.md").text
    const [, said = ""] = /`--output json` a command prints JSON\. ([\s\S]*?)\n\n/.exec(page) ?? []
    const excepted = [...said.matchAll(/`([a-z][a-z ]*)/g)].map(([, call = ""]) => call.trim())
    assert.sameMembers(excepted, withoutJson)
  })
})

describe("output that the pages show", () => {
  const sources = files
    .filter((path) => /^src\/.*\.ts$|^config\/.*\.yaml$/.test(path))
    .map((path) => readSource(path).text)
    .join("\n")
    .replaceAll(/\s+/g, " ")

  /** Names that examples give to parties, assets and rules, and values of a few letters beside them. */
  const shown = /\b(?:reserve|hot|log|sandbox|harbor|USDT|[a-z]+(?:-[a-z]+)+)\b/
  /** Phrases of three words and more that the program does not say, values apart. */
  const strangePhrases = (text: string): ReadonlyArray<string> =>
    text
      .split(/\s{2,}/)
      .flatMap((part) => part.split(shown))
      .flatMap((part) => [...part.matchAll(/[A-Za-z']+(?: [A-Za-z']+){2,}/g)].map(([phrase]) => phrase))
      .filter((phrase) => !sources.includes(phrase))

  it("is in the words of the program", () => {
    const printed = manual.flatMap((page) =>
      linesOf(page)
        .filter(({ text, language }) => language !== "sh" && !isTyped(text))
        .map((line) => ({ path: page.path, ...line })),
    )
    assert.isAbove(printed.length, 30)
    const strange = printed.flatMap(({ path, text, line }) =>
      strangePhrases(text).map((phrase) => complaint(path, line, `the program does not say "${phrase}"`)),
    )
    assert.deepStrictEqual(strange, [])
  })

  it.each([
    ["13.7 s  signed     r44f/1  on block 14 and saved; valid to block 114", 0],
    ["12.8 s  ALERT      sDAI    pending listing -> enabled   info, delivered to log", 0],
    ["13.7 s  signed     r44f/1  on block 14; valid to its last block 114", 1],
    ["13.7 s  signed     r44f/1  on block 14 and saved; its bytes lie on a disk", 1],
  ])("is compared in %j: %i strange", (line, strange) => {
    assert.lengthOf(strangePhrases(line), strange)
  })

  it("names a misspelt key of the smallest treasury as it is named", async () => {
    const file = written(smallest.replace("chainId", "chianId"))
    const { code, stderr } = await callCofferer(["check", file])
    assert.strictEqual(code, 3)
    const [line = ""] = stderr.split("\n").filter((said) => said.includes("chianId"))
    const page = manual.find(({ path }) => path === "docs/configuration.md")
    assert.include(page?.text ?? "", `\n    ${line.replace(join(file, "..", "/"), "")}\n`)
  })
})
