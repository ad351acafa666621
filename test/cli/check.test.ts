import childProcess from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { assert, describe, it, vi } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const good = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
const dir = tempDir("check")

/** What is replaced by what, and what the one line must say. */
const broken: ReadonlyArray<readonly [title: string, from: string, to: string, says: RegExp]> = [
  ["an unknown key", "  chainId: sandbox-1", "  chianId: sandbox-1", /unknown key "chianId"; did you mean "chainId"\?/],
  ["a wrong amount", 'below: "10_000"', 'below: "10_00"', /groups its digits oddly/],
  ["an amount finer than the asset", 'target: "25_000"', 'target: "25_000.0000001"', /has 6 decimals/],
  [
    "a missing key file",
    "signer: { sandbox: reserve }",
    "signer: { file: nowhere/reserve }",
    /no such file: .*nowhere/,
  ],
  ["a wrong chain id", "chainId: sandbox-1", "chainId: sandbox 1", /network.chainId.*chain id/],
  [
    "one gateway under two names",
    '"http://127.0.0.1:3008" }\n  max',
    '"http://127.0.0.1:3008", b: "http://127.0.0.1:3008/" }\n  max',
    /named twice/,
  ],
  ["a quorum of more gateways than there are", "  maxAge:", "  quorum: 2\n  maxAge:", /2 of 1 gateways cannot agree/],
  [
    "an unencrypted gateway",
    '{ sandbox: "http://127.0.0.1:3008" }',
    '{ sandbox: "http://gateway.example" }',
    /use https/,
  ],
  ["a duration without a unit", "for: 3s", "for: 3", /duration/],
  ["a party that nobody defined", "from: reserve\n", "from: reserv\n", /"reserv" is not a party/],
  ["a watch-only payer", "from: reserve\n", "from: hot\n", /no signer/],
  ["an asset that is not pinned", "{ party: hot, asset: USDT", "{ party: hot, asset: USDC", /"USDC" is not pinned/],
  [
    "a target on the wrong side",
    'target: "25_000" }',
    'target: "2_500" }',
    /target 2_500 is less than the trigger 10_000 \(below\)/,
  ],
  ["a limit below one transfer", 'per24h: "100_000"', 'per24h: "10_000"', /per24h/],
  ["a rule of no kind", "    topUp:\n", "    topup:\n", /unknown key "topup"; did you mean "topUp"/],
  [
    "a rule with the name of people's payments",
    "name: keep-hot-funded",
    "name: submit",
    /is reserved for payments of people/,
  ],
  ["a key given twice", "mode: live", "mode: live\nmode: live", /unique|keep one/i],
  [
    "a scenario without its seed",
    "  seed: first-minute",
    "  sead: first-minute",
    /unknown key "sead"; did you mean "seed"/,
  ],
]
describe("check", () => {
  it("says what the example permits at worst, and exits 0", async () => {
    const { code, stdout, stderr } = await callCofferer(["check", "config/sandbox.yaml"])
    assert.strictEqual(code, 0, stderr)
    assert.include(stdout, "ok   2 rules, 2 parties, 1 asset, mode live")
    const reserve = "100,000 USDT (25,000 each time, 10 transfers)"
    assert.include(
      stdout,
      `  reserve -> hot   ${reserve}   <- the only money that leaves your control without approval\n`,
    )
    assert.include(stdout, "  network quota    reserve 10 of 20 transfers (10 free)")
    assert.include(stdout, "at most 0.2 % of each")
    const page = readFileSync(join(root, "docs/configuration.md"), "utf8")
    assert.include(page, stdout.trimEnd().replace(/^/gm, "    "), "the page shows what it says")
  })

  it("names mistakes of the treasury and of its sandbox in one run", async () => {
    const file = join(dir, "both.yaml")
    const text = good.replace("mode: live", "mode: alive").replace('profile: "0.75"', 'profile: "0.99"')
    writeFileSync(file, text.replace("{ party: hot, asset: USDT, amount", "{ party: hto, asset: USDT, amount"))
    const { code, stderr } = await callCofferer(["check", file])
    assert.strictEqual(code, 3)
    assert.deepStrictEqual(stderr.match(/"(alive|0\.99|hto)"/g), ['"alive"', '"0.99"', '"hto"'], stderr)
    writeFileSync(file, "")
    assert.strictEqual((await callCofferer(["check", file])).code, 3)
  })

  it("names a key file that others may read beside mistakes of the treasury", async () => {
    writeFileSync(join(dir, "open.key"), "ab".repeat(32))
    chmodSync(join(dir, "open.key"), 0o644)
    const file = join(dir, "open.yaml")
    writeFileSync(file, good.replace("mode: live", "mode: alive").replace("{ sandbox: reserve }", "{ file: open.key }"))
    const { code, stderr } = await callCofferer(["check", file])
    assert.strictEqual(code, 3)
    assert.match(stderr, /^\S+:\d+:\d+ {2}mode: "alive" .*\n\S+:\d+:\d+ {2}\S+: others may read the key file .*\n$/)
  })

  it("prints commands that a shell takes as they stand, in a folder with a blank in its name", async () => {
    const folder = join(dir, "my treasury")
    mkdirSync(folder)
    const file = join(folder, "own.yaml")
    const key = join(folder, "own.key")
    writeFileSync(file, good.replace("{ sandbox: reserve }", "{ file: own.key }"))
    assert.include((await callCofferer(["check", file])).stderr, `cofferer keys new '${key}'`)
    writeFileSync(file, good.replace("{ sandbox: reserve }", "{ file: own.key }").replace("mode: live", "mode: shadow"))
    assert.include((await callCofferer(["check", file])).stdout, `cofferer keys new '${key}', and`)
    writeFileSync(key, "ab".repeat(32))
    chmodSync(key, 0o644)
    assert.include((await callCofferer(["check", file])).stderr, `run: chmod 600 '${key}'`)
  })

  it("warns of each secret's file that others may read, and of no other", async () => {
    const written = (name: string, mode: number) => {
      writeFileSync(join(dir, name), "postgres://cofferer@localhost/x")
      chmodSync(join(dir, name), mode)
      return `{ file: ${name} }`
    }
    const gateway = `{ url: "http://127.0.0.1:3008", headers: { token: ${written("token", 0o606)} } }`
    const slack = [written("slack", 0o604), written("closed", 0o600)].map(
      (url, i) => `s${i}: { slack: { url: ${url} } }`,
    )
    const receivers = `{ log: { log: {} }, ${slack.join(", ")} }`
    const text = good
      .replace('"http://127.0.0.1:3008"', gateway)
      .replace("{ log: { log: {} } }", receivers)
      .concat(`\ndatabase: { postgres: { urlFile: address } }\n`)
    written("address", 0o644)
    writeFileSync(join(dir, "secrets.yaml"), text)
    const { code, stdout, stderr } = await callCofferer(["check", join(dir, "secrets.yaml")])
    assert.strictEqual(code, 0, stderr)
    const loose = stdout.match(/^warn \S+ {2}others may read the secret \(mode \d+\); run: chmod 600 \S+$/gm) ?? []
    assert.deepStrictEqual(
      loose.map((line) => line.split("/").at(-1)),
      ["address", "token", "slack"],
      stdout,
    )
  })

  it("refuses a secret's file that cannot be read, at its place", async () => {
    symlinkSync("loop", join(dir, "loop"))
    const text = good.replace("{ log: { log: {} } }", "{ log: { log: {} }, s: { slack: { url: { file: loop } } } }")
    writeFileSync(join(dir, "loop.yaml"), text)
    const { code, stderr } = await callCofferer(["check", join(dir, "loop.yaml")])
    assert.strictEqual(code, 3, stderr)
    assert.match(stderr, /^\S+:\d+:\d+ {2}\S+ cannot be read \(ELOOP\); put the secret there, .*\n$/)
  })

  it("runs a file of rules once, also where it fails", async () => {
    writeFileSync(join(dir, "fails.ts"), "const all = []\nfor (;;) all.push(new Array(1_000_000).fill(1))\n")
    writeFileSync(join(dir, "code.yaml"), good.replace("rules:\n", "rules:\n  - ./fails.ts\n"))
    const spawned = vi.spyOn(childProcess, "spawn")
    syncBuiltinESMExports()
    const { stderr } = await callCofferer(["check", join(dir, "code.yaml")])
    const { length } = spawned.mock.calls
    spawned.mockRestore()
    syncBuiltinESMExports()
    assert.match(stderr, /\.\/fails\.ts: it takes more than 64 MB of heap/)
    assert.strictEqual(length, 1)
  })

  it("refuses what takes any certificate for that of a gateway, where money moves", async () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" }
    for (const command of [["check"], ["run", "--data", join(dir, "data")]]) {
      const { code, stdout, stderr } = await callCofferer([...command, "config/sandbox.yaml"], { env })
      assert.deepStrictEqual([code, stdout], [3, ""])
      assert.match(stderr, /environment {2}NODE_TLS_REJECT_UNAUTHORIZED is 0: .*; unset it, and name /)
    }
    const shadow = await callCofferer(["check", "config/sandbox.yaml"], { env: { ...env, COFFERER_MODE: "shadow" } })
    assert.strictEqual(shadow.code, 0, shadow.stderr)
    assert.include(shadow.stdout, "mode shadow, policy", "the mode that a run would have")
  })

  it("prints the same as JSON", async () => {
    const { code, stdout } = await callCofferer(["check", join(root, "config/sandbox.yaml"), "--output", "json"])
    assert.strictEqual(code, 0)
    const line = { from: ["reserve"], to: ["hot"], amount: "100000000000", transfers: 10, fees: "200000010" }
    const worst = { lines: [{ ...line, leavesTo: ["hot"] }], quotas: [{ party: "reserve", permitted: 10, free: 10 }] }
    assert.containSubset(JSON.parse(stdout) as unknown, { ok: true, rules: 2, mode: "live", warnings: [], worst })
  })

  it("warns of a watermark in a folder that others may write", async () => {
    const folder = join(dir, "open-marks")
    mkdirSync(folder)
    chmodSync(folder, 0o777)
    const file = join(dir, "marked.yaml")
    writeFileSync(file, `${good}\nstore: { watermark: ${join(folder, "mark")} }\n`)
    const { code, stdout } = await callCofferer(["check", file])
    assert.strictEqual(code, 0, stdout)
    const warning = `warn ${folder}  the folder of the watermark may be written by everybody (mode 0777)`
    assert.include(stdout, warning)
    const several = join(dir, "marked")
    mkdirSync(several)
    writeFileSync(join(several, "daemon.yaml"), "version: 1\n")
    copyFileSync(file, join(several, "marked.yaml"))
    assert.include((await callCofferer(["check", several])).stdout, warning, "in a folder of treasuries")
  })

  it("warns of pages that no route takes, and of a receiver that gets nothing", async () => {
    const file = join(dir, "routes.yaml")
    const receivers = 'receivers: { log: { log: {} }, oncall: { webhook: { url: "https://hook.example" } } }'
    const written = (routes: string) =>
      writeFileSync(file, good.replace("receivers: { log: { log: {} } }", `${receivers}\n  routes: [${routes}]`))
    written("{ severity: [ticket, info], to: [log] }, { severity: [page], to: [] }")
    const unheard = await callCofferer(["check", file])
    assert.strictEqual(unheard.code, 0, unheard.stderr)
    assert.match(unheard.stdout, /^warn \S+:\d+:11 {2}no route takes pages: a halt alerts nobody; add .*page/m)
    assert.match(unheard.stdout, /^warn \S+:\d+:\d+ {2}no route names "oncall": it gets no alert; /m)
    written("{ severity: [page], to: [log], escalate: [{ after: 5m, to: [oncall] }] }")
    assert.notInclude((await callCofferer(["check", file])).stdout, "warn ")
  })

  it("refuses a folder for several treasuries that has none", async () => {
    const folder = join(dir, "none")
    mkdirSync(folder)
    writeFileSync(join(folder, "daemon.yaml"), "version: 1\n")
    const { code, stderr } = await callCofferer(["check", folder])
    assert.strictEqual(code, 3)
    assert.match(stderr, /none {2}has no treasury: nothing is watched or paid/)
  })

  it("refuses a key that signs for two treasuries of a folder", async () => {
    const folder = join(dir, "several")
    mkdirSync(folder)
    writeFileSync(join(folder, "daemon.yaml"), "version: 1\n")
    const [first, second] = ["a", "b"].map((name) => good.replace("name: sandbox\n", `name: ${name}\n`))
    writeFileSync(join(folder, "a.yaml"), first!)
    writeFileSync(join(folder, "b.yaml"), second!)
    const { code, stdout, stderr } = await callCofferer(["check", folder])
    assert.strictEqual(code, 3, stdout)
    const refused = stderr.match(/\.yaml:\d+:\d+ {2}treasury [ab] signs with the same key.*$/gm) ?? []
    assert.lengthOf(refused, 2, stderr)
    writeFileSync(join(folder, "b.yaml"), second!.replace("mode: live", "mode: shadow"))
    assert.strictEqual((await callCofferer(["check", folder])).code, 0, "it pays nothing")
  })

  const payer = (name: string) =>
    good
      .replace("name: sandbox\n", `name: ${name}\n`)
      .replace(/publicKey: "\w+", signer: \{ sandbox: reserve \}/, () => {
        return `publicKey: "${publicKeyOf("first-minute", name)}", signer: { sandbox: ${name} }`
      })

  it("refuses a watermark that two treasuries of a folder write", async () => {
    const folder = join(dir, "marks")
    mkdirSync(folder)
    writeFileSync(join(folder, "daemon.yaml"), "version: 1\n")
    const write = (name: string, mark: string) =>
      writeFileSync(join(folder, `${name}.yaml`), `${payer(name)}\nstore: { watermark: ${mark} }\n`)
    write("reserve", "mark")
    write("spender", "./mark")
    const { code, stdout, stderr } = await callCofferer(["check", folder])
    assert.strictEqual(code, 3, stdout)
    const refused = stderr.match(/\.yaml:\d+:\d+ {2}treasury \w+ writes this watermark too.*$/gm) ?? []
    assert.lengthOf(refused, 2, stderr)
    assert.match(refused[0]!, /; give each a file of its own$/)
    write("spender", "other")
    assert.strictEqual((await callCofferer(["check", folder])).code, 0)
  })

  it("warns of an account that two treasuries of a folder fill", async () => {
    const folder = join(dir, "filled")
    mkdirSync(folder)
    writeFileSync(join(folder, "daemon.yaml"), "version: 1\n")
    writeFileSync(join(folder, "a.yaml"), payer("reserve"))
    writeFileSync(join(folder, "b.yaml"), payer("spender"))
    const warned = async () => {
      const { code, stdout, stderr } = await callCofferer(["check", folder])
      assert.strictEqual(code, 0, stderr)
      return stdout.match(/^warn \S+ {2}.*/gm) ?? []
    }
    const both = await warned()
    assert.lengthOf(both, 2)
    assert.match(both[0]!, /a\.yaml:\d+:\d+ {2}treasury spender fills hot\/USDT too: .*; fill it in one treasury$/)
    writeFileSync(join(folder, "b.yaml"), payer("spender").replace("mode: live", "mode: shadow"))
    assert.notInclude((await warned()).join(), "fills")
  })

  it.each(["config/sandbox-storm.yaml", "config/sandbox-many.yaml"])("accepts %s without a warning", async (file) => {
    const { code, stdout, stderr } = await callCofferer(["check", join(root, file), "--output", "json"])
    assert.strictEqual(code, 0, stderr)
    assert.containSubset(JSON.parse(stdout) as unknown, { ok: true, mode: "live", warnings: [] })
  })

  it.each(broken)("refuses %s with its line and a remedy, and exits 3", async (title, from, to, says) => {
    assert.include(good, from, "the example still has what this case breaks")
    const file = join(dir, `${title.replace(/\W+/g, "-")}.yaml`)
    const text = good.replace(from, to)
    writeFileSync(file, text)
    const { code, stdout, stderr } = await callCofferer(["check", file])
    assert.strictEqual(code, 3, stdout + stderr)
    assert.strictEqual(stdout, "")
    const line = good.slice(0, good.indexOf(from)).split("\n").length
    const reported = stderr.split("\n").find((l) => says.test(l)) ?? assert.fail(`no line says ${says}:\n${stderr}`)
    const at = /:(\d+):\d+ {2}(.+); (.+)$/.exec(reported)
    assert.isNotNull(at, reported)
    assert.strictEqual(Number(at?.[1]), title === "a key given twice" ? line + 1 : line, reported)
    assert.isNotEmpty(at?.[3])
  })
})

describe("wrong calls", () => {
  it.each([
    [["chck"], 2, /Unknown subcommand "chck"/],
    [["run", "--nope"], 2, /--nope/],
    [["ch\u202e\u200beck"], 2, /Unknown subcommand "ch\\u\{202e\}\\u\{200b\}eck"/],
    [["check", "nowhere.yaml"], 3, /no such file/],
    ...["check", "plan"].map(
      (command) =>
        [
          [command, "changed.yaml", "-c", "treasury.yaml"],
          2,
          new RegExp(
            `^cofferer: treasury.yaml would be an overlay on changed.yaml .*: cofferer ${command} changed.yaml; .* ${command} -c changed.yaml -c treasury.yaml\\n$`,
          ),
        ] as const,
    ),
    [
      ["check", "no\u2066where\u00ad.yaml"],
      3,
      /no such file.*no\\u\{2066\}where\\u\{ad\}.yaml|no\\u\{2066\}where\\u\{ad\}.yaml.*no such file/,
    ],
    [["resume", "--reason", "x", "--data", "/nonexistent"], 4, /no daemon runs/],
  ] as const)("%j exits %i with one message on standard error", async (args, expected, says) => {
    const { code, stdout, stderr } = await callCofferer(args)
    assert.strictEqual(code, expected, stderr)
    assert.strictEqual(stdout, "")
    assert.match(stderr, says)
  })

  it.each(["status", "intents"])("%s says that no daemon runs, and exits 4", async (command) => {
    const { code, stdout, stderr } = await callCofferer([command, "--data", "/nonexistent"])
    assert.deepStrictEqual([code, stdout], [4, ""])
    assert.match(stderr, /no daemon runs/)
  })

  it("an empty data directory is refused, and not taken for the working directory", async () => {
    const env = { COFFERER_DATA_DIR: "" }
    const { code, stderr } = await callCofferer(["check", "config/sandbox.yaml"], { env })
    assert.strictEqual(code, 3, stderr)
    assert.include(stderr, 'COFFERER_DATA_DIR is ""; name a folder, or unset it')
    const asked = await callCofferer(["status", "--config", "config/treasury.example.yaml"], { env })
    assert.match(asked.stderr, /no daemon runs in .+\/\.cofferer/)
  })

  it.each(["COFFERER_PORT", "COFFERER_METRICS_PORT"])("a port in %s is refused, since none reads it", async (name) => {
    const { code, stderr } = await callCofferer(["check", "config/sandbox.yaml"], { env: { [name]: "9464" } })
    assert.strictEqual(code, 3)
    assert.include(stderr, `unknown variable ${name}`)
  })

  it.each(["COFFERER", "COFFERER_METRICS"])("what Kubernetes sets for a service %s is passed over", async (name) => {
    const env = {
      [`${name}_SERVICE_HOST`]: "10.96.0.7",
      [`${name}_SERVICE_PORT`]: "9464",
      [`${name}_SERVICE_PORT_HTTP`]: "9464",
      [`${name}_PORT`]: "tcp://10.96.0.7:9464",
      [`${name}_PORT_9464_TCP`]: "tcp://10.96.0.7:9464",
      [`${name}_PORT_9464_TCP_PROTO`]: "tcp",
      [`${name}_PORT_9464_TCP_PORT`]: "9464",
      [`${name}_PORT_9464_TCP_ADDR`]: "10.96.0.7",
    }
    const { code, stderr } = await callCofferer(["check", "config/sandbox.yaml"], { env })
    assert.deepStrictEqual([code, stderr], [0, ""])
  })

  it("an unknown COFFERER_ variable names the nearest", async () => {
    const { code, stderr } = await callCofferer(["check", "config/sandbox.yaml"], { env: { COFFERER_DATADIR: "x" } })
    assert.strictEqual(code, 3)
    assert.include(stderr, 'did you mean "COFFERER_DATA_DIR"?')
  })

  it.each(["9464", "127.0.0.1:65536"])("an address that is %s is refused with its remedy", async (listen) => {
    const { code, stderr } = await callCofferer(["check", "config/sandbox.yaml"], { env: { COFFERER_LISTEN: listen } })
    assert.strictEqual(code, 3)
    assert.include(stderr, `COFFERER_LISTEN is "${listen}"; write host:port`)
  })

  it("help is a result: standard output, exit 0", async () => {
    const { code, stdout } = await callCofferer(["run", "--help"])
    assert.strictEqual(code, 0)
    assert.include(stdout, "--sandbox")
  })
})
