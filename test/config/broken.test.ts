import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"
import { broken, goodText } from "./Broken.ts"

const dir = tempDir("broken")

const load = (text: string) => {
  const file = join(dir, "harbor.yaml")
  writeFileSync(file, text)
  return loadTreasury(file)
}

/** file:line:column, what is wrong, what to do. */
const form = /^(.+):([0-9]+):([0-9]+) {2}(.+); (.+)$/

describe("a broken treasury file", () => {
  it.effect("would be loaded without its mistake", function* () {
    assert.strictEqual((yield* load(goodText)).rules.length, 4)
    assert.isAtLeast(broken.length, 60)
    assert.lengthOf(new Set(broken.map(({ title }) => title)), broken.length)
  })

  it.effect.each(broken)(
    "is refused for $title, with its line and a remedy",
    function* ({ from, to, says, after = 0 }) {
      assert.strictEqual(goodText.split(from).length, 2, `the file has "${from}" exactly once`)
      const error = yield* Effect.flip(load(goodText.replace(from, to)))
      assert.strictEqual(error._tag, "ConfigError")
      const lines = error.message.split("\n")
      for (const line of lines) assert.match(line, form)
      const said = lines.find((line) => says.test(line)) ?? assert.fail(`no line says ${says}:\n${error.message}`)
      const line = goodText.slice(0, goodText.indexOf(from)).split("\n").length + after
      assert.strictEqual(Number(form.exec(said)?.[2]), line, error.message)
    },
  )

  it.effect("of two documents is refused where the second begins", function* () {
    const error = yield* Effect.flip(load(goodText.replace("alerts:\n", "---\nalerts:\n")))
    assert.match(error.message, /^\S+:\d+:1 {2}a second document begins; remove the line "---"$/)
  })

  it.effect("names the second of an account's two places behind a wrong one", function* () {
    const account = (party: string) => `        - { party: ${party}, asset: USDT }\n`
    const code = `  - name: own\n    code:\n      accounts:\n${["hut", "hot", "hot"].map(account).join("")}`
    const rule = `${code}      from: hot\n      to: cold\n      asset: USDT\n      need: own\n`
    const error = yield* Effect.flip(load(goodText.replace("rules:\n", `rules:\n${rule}`)))
    const line = goodText.split("\n").indexOf("rules:") + 7
    assert.match(error.message, new RegExp(`^\\S+:${line}:\\d+ {2}hot/USDT is given twice; keep one`, "m"))
  })

  it.effect("with an unknown time zone gets that error alone", function* () {
    const hours = 'hours: { office: { weekdays: "monday:friday", times: "08:00-18:00", location: Mars/Base } }\n'
    const error = yield* Effect.flip(load(hours + goodText.replace("for: 30s", "for: 30s\n    during: office")))
    assert.match(error.message, /^\S.* {2}"Mars\/Base" is not a time zone; [^\n]+$/)
  })

  it.effect("with mistakes of form everywhere is told all of them, in the order of the file", function* () {
    const all = broken.filter(({ title }) =>
      [
        "a mode that is none",
        "a misspelled key of the poll",
        "decimals in words",
        "a duration without its unit",
        "a severity that is none",
      ].includes(title),
    )
    const error = yield* Effect.flip(load(all.reduce((text, { from, to }) => text.replace(from, to), goodText)))
    for (const { says } of all) assert.match(error.message, says)
    const lines = error.problems.map(({ line }) => line)
    assert.deepStrictEqual(
      lines,
      lines.toSorted((a, b) => a - b),
    )
    assert.lengthOf(error.problems, all.length, error.message)
  })

  it.effect("with keys given twice and an alias of nothing has its other mistakes told as well", function* () {
    const titles = ["a key given twice", "a merge key", "decimals in words", "a severity that is none"]
    const text = broken
      .filter(({ title }) => titles.includes(title))
      .reduce((given, { from, to }) => given.replace(from, to), goodText)
      .replace("    cooldown: 10m\n", "    cooldown: *pause\n")
      .replace("addresses:\n", "parties: { late: { publicKey: now } }\naddresses:\n")
      .replace("to: cold, asset: VEGA", "to: nobody, asset: VEGA")
    const error = yield* Effect.flip(load(text))
    const expected = [
      /"mode" is given twice/,
      /nothing above is called "&x"/,
      /unknown key "<<"/,
      /decimals/,
      /nothing above is called "&pause"/,
      /"nobody" is not a party/,
      /"parties" is given twice/,
      /publicKey/,
      /severity/,
    ]
    for (const says of expected) assert.match(error.message, says)
    assert.lengthOf(error.problems, expected.length, error.message)
  })

  it.effect("has its mistakes of form, names and money told in one go", function* () {
    const titles = ["a misspelled key of the poll", "a severity that is none"]
    const ofForm = broken.filter(({ title }) => titles.includes(title))
    const text = ofForm.reduce((given, { from, to }) => given.replace(from, to), goodText)
    const more = `
hours: { office: { weekdays: "monday:friday", times: "08:00-18:00", location: Mars/Base } }
`
    const rules = text.replace(
      "rules:\n",
      `rules:
  - { name: odd, sweep: { from: hot, to: nobody, asset: USDT, above: "9", target: "1" } }
  - { name: bad, sweep: { from: hot, to: nowhere, asset: USDT, above: nine, target: "1" } }
  - { name: denied, payout: { from: reserve, to: hot, asset: VEGA, amount: "4" }, schedule: { cron: "0 9 1 * *", location: UTC } }
`,
    )
    const error = yield* Effect.flip(load(more + rules))
    for (const { says } of ofForm) assert.match(error.message, says)
    assert.match(error.message, /Mars\/Base/)
    assert.match(error.message, /"nobody" is not a party/)
    assert.match(error.message, /rules #2 sweep\.above/)
    assert.match(error.message, /no policy line allows denied to pay/)
    assert.notMatch(error.message, /nowhere/, "a rule that is not read whole is judged by its form")
    for (const line of error.message.split("\n")) assert.match(line, form)
  })

  it.effect("is told once for a mistake from which others follow", function* () {
    for (const [from, to] of [
      ["decimals: 6", "decimals: six"],
      ["chainId:", "chianId:"],
    ] as const) {
      const error = yield* Effect.flip(load(goodText.replace(from, to)))
      assert.lengthOf(error.problems, 1, error.message)
    }
  })

  it.effect("has each mistake told beside any other, and nothing that follows from them", function* () {
    const titles = [
      "a misspelled key of the poll",
      "decimals in words",
      "a duration without its unit",
      "a limit below one transfer",
      "an address with a wrong capital",
      "a payment to itself",
      "a withdrawal to nobody",
      "one gateway under two names",
    ]
    const some = broken.filter(({ title }) => titles.includes(title))
    assert.lengthOf(some, titles.length)
    const unknown = goodText
      .replace("cooldown:", "cooldwon:")
      .replace("parties:", "partys:")
      .replace("version: 1\n", "version: 1\nfoo: 1\n")
    for (const one of some) {
      const error = yield* Effect.flip(load(unknown.replace(one.from, one.to)))
      assert.match(error.message, one.says)
      assert.lengthOf(error.problems, 4, error.message)
    }
  })

  it.effect("is judged without a key that may only look like another", function* () {
    const error = yield* Effect.flip(load(goodText.replace("for: 30s", "fro: reserve").replace("to: cold", "to: colt")))
    assert.deepStrictEqual(
      error.problems.map(({ message }) => message),
      ['unknown key "fro"', '"colt" is not a party'],
    )
  })
})
