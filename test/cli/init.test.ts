import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { callCofferer } from "../support/CommandLine.ts"
import { it } from "../support/it.ts"
import { scenarioText, tether, usdt, withSandbox } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("init")
let count = 0
const newFolder = (): string => {
  const folder = join(dir, `desk-${++count}`)
  mkdirSync(folder)
  return folder
}

const levels = ["--below", "10", "--target", "25"]
const modeOf = (file: string): number => statSync(file).mode & 0o777
const call = (args: ReadonlyArray<string>, typed?: ReadonlyArray<string>) =>
  Effect.promise(() => callCofferer(["init", ...args], typed === undefined ? {} : { typed }))

/** Names of everything in a folder, folders included. */
const namesIn = (folder: string) => readdirSync(folder, { recursive: true }).map(String).toSorted()

describe("init", () => {
  it.live("writes a file that check passes, with keys of their owner alone, and never overwrites", () =>
    withSandbox({}, function* (_, { url }) {
      const folder = newFolder()
      const file = join(folder, "treasury.yaml")
      const { code, stdout, stderr } = yield* call([file, "--gateway", url, "--asset", "USDT", ...levels])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, /^wrote .*treasury\.yaml: mode shadow, chain sandbox-1, asset USDT$/m)
      assert.match(stdout, /^next:\n {2}1\. back up .*secrets\/reserve and .*secrets\/hot:/m)
      assert.deepStrictEqual(namesIn(folder), ["secrets", "secrets/hot", "secrets/reserve", "treasury.yaml"])
      assert.deepStrictEqual(
        ["secrets", "secrets/reserve", "secrets/hot"].map((name) => modeOf(join(folder, name))),
        [0o700, 0o600, 0o600],
      )
      const text = readFileSync(file, "utf8")
      assert.include(text, `USDT: { id: "${usdt}", decimals: 6 }`)
      assert.match(text, /maxFee: 0\.2% +# the network takes 0\.1% now/)
      const checked = yield* Effect.promise(() => callCofferer(["check", file]))
      assert.deepStrictEqual([checked.code, checked.stderr], [0, ""])
      assert.match(checked.stdout, /ok {3}1 rule, 2 parties, 1 asset, mode shadow/)
      assert.match(checked.stdout, /reserve -> hot +100 USDT \(25 each/)
      const secret = readFileSync(join(folder, "secrets/reserve"), "utf8").trim()
      assert.notInclude(stdout + text, secret)
      const again = yield* call([file, "--gateway", url, "--asset", "USDT", ...levels])
      assert.strictEqual(again.code, 1)
      assert.match(again.stderr, /^cofferer: .*treasury\.yaml exists, and nothing is overwritten; name another file/)
      assert.strictEqual(readFileSync(file, "utf8"), text)
    }),
  )

  it.live("takes keys that exist, a public key, several gateways and the mode as given", () =>
    withSandbox({}, function* (_, { url }) {
      const folder = newFolder()
      const file = join(folder, "harbor.yaml")
      const own = join(folder, "own.key")
      const made = yield* Effect.promise(() => callCofferer(["keys", "new", own]))
      const payee = "ab".repeat(32)
      const { code, stdout, stderr } = yield* call([
        ...[file, "--gateway", url, "--gateway", url.replace("127.0.0.1", "localhost"), "--asset", usdt, ...levels],
        ...["--payer-key", own, "--payee-public-key", payee, "--mode", "live", "--output", "json"],
      ])
      assert.deepStrictEqual([code, stderr], [0, ""])
      const parsed = JSON.parse(stdout) as { readonly treasury: string; readonly parties: unknown }
      assert.strictEqual(parsed.treasury, "harbor")
      assert.deepStrictEqual(parsed.parties, [
        { name: "reserve", publicKey: made.stdout.trim(), file: own },
        { name: "hot", publicKey: payee, file: null },
      ])
      assert.deepStrictEqual(namesIn(folder), ["harbor.yaml", "own.key"])
      assert.include(readFileSync(file, "utf8"), 'signer: { file: "own.key" }')
      const checked = yield* Effect.promise(() => callCofferer(["check", file]))
      assert.strictEqual(checked.code, 0, checked.stderr)
    }),
  )

  it.live("writes the network's fee where it is above the default", () =>
    withSandbox({ text: scenarioText({ feeFactor: "0.0075" }) }, function* (_, { url }) {
      const file = join(newFolder(), "treasury.yaml")
      const { code, stderr } = yield* call([file, "--gateway", url, "--asset", "USDT", ...levels])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(readFileSync(file, "utf8"), /maxFee: 0\.75% +# as the network has it/)
    }),
  )

  it.live("writes nothing where an answer is wrong or a file is there", () =>
    withSandbox({ text: scenarioText({}, { assets: [{ ...tether, id: "cd".repeat(32) }] }) }, function* (_, { url }) {
      const folder = newFolder()
      const file = join(folder, "treasury.yaml")
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
        [["--gateway", url], 2, /--asset SYMBOL, --below AMOUNT, --target AMOUNT are missing; on a terminal "cof/],
        [["--gateway", "http://a.example", "--asset", "USDT", ...levels], 2, /not encrypted; use https/],
        [
          ["--gateway", "http://127.0.0.1:9", "--asset", "USDT", ...levels],
          1,
          /^cofferer: gateway http:\/\/127\.0\.0\.1:9: unreachable: connection refused: .*; check the address, and/,
        ],
        [["--gateway", url, "--asset", "USDX", ...levels], 4, /calls itself USDX; it lists (\w+, )*USDT/],
        [["--gateway", url, "--asset", "USDT", ...levels], 6, /2 assets call themselves USDT; choose one/],
        [["--gateway", url, "--asset", usdt, "--below", "1", "--target", "0.0000001"], 2, /--target: .*decimals/],
        [["--gateway", url, "--asset", usdt, "--below", "25", "--target", "10"], 3, /treasury\.yaml:\d+:\d+ /],
      ]
      for (const [args, code, says] of cases) {
        const said = yield* call([file, ...args])
        assert.strictEqual(said.code, code, said.stderr)
        assert.match(said.stderr, says)
        assert.deepStrictEqual(namesIn(folder), [])
      }
      const link = join(folder, "link.yaml")
      symlinkSync(join(folder, "elsewhere"), link)
      const linked = yield* call([link, "--gateway", url, "--asset", usdt, ...levels])
      assert.strictEqual(linked.code, 1)
      assert.isFalse(existsSync(join(folder, "elsewhere")))
      mkdirSync(join(folder, "secrets"))
      writeFileSync(join(folder, "secrets/reserve"), "no key\n", { mode: 0o600 })
      const broken = yield* call([file, "--gateway", url, "--asset", usdt, ...levels])
      assert.strictEqual(broken.code, 3)
      assert.match(broken.stderr, /secrets\/reserve {2}not a key file; it holds 32 raw bytes or 64 hex/)
      assert.isFalse(existsSync(file))
    }),
  )

  it.live("asks on a terminal for what the flags leave out, and writes after a yes", () =>
    withSandbox({}, function* (_, { url }) {
      const folder = newFolder()
      const file = join(folder, "treasury.yaml")
      const answers = ["http://127.0.0.1:9", "<enter>", url, "<enter>", "<enter>", "10", "<enter>", "2x", "<enter>"]
      const typed = [...answers, "<backspace>", "5", "<enter>", "y"]
      const { code, stdout, stderr } = yield* call([file], typed)
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, /^gateway http:\/\/127\.0\.0\.1:9: unreachable/m)
      assert.match(stdout, /^chain sandbox-1, 2 enabled assets$/m)
      assert.match(readFileSync(file, "utf8"), /below: "10", target: "25"/)
      const checked = yield* Effect.promise(() => callCofferer(["check", file]))
      assert.strictEqual(checked.code, 0, checked.stderr)
      const next = join(folder, "next.yaml")
      const stopped = yield* call([next, "--gateway", url, "--asset", "USDT", "--below", "10"], ["25", "<enter>", "n"])
      assert.deepStrictEqual([stopped.code, stopped.stderr], [1, "cofferer: stopped; nothing was written\n"])
      const quit = yield* call([next], [])
      assert.deepStrictEqual([quit.code, quit.stderr], [1, "cofferer: stopped; nothing was written\n"])
      assert.isFalse(existsSync(next))
    }),
  )
})
