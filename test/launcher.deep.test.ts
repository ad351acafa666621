import { spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"

const source = (name: string) => fileURLToPath(new URL(`../src/${name}`, import.meta.url))

/** A checkout of its own, and a PATH that holds a few tools and what the test puts there. */
let tree: string
let bin: string

const tools = ["sh", "dirname", "readlink", "grep", "date", "touch"]

beforeEach(() => {
  // The space is on purpose: folders have them.
  tree = join(
    mkdtempSync(join(realpathSync(process.env["COFFERER_TEST_PROGRAMS"] ?? tmpdir()), "cofferer-launcher-")),
    "a checkout",
  )
  bin = join(tree, "../bin")
  mkdirSync(join(tree, "src"), { recursive: true })
  mkdirSync(join(tree, "node_modules/effect"), { recursive: true })
  writeFileSync(join(tree, "node_modules/.package-lock.json"), "{}")
  mkdirSync(bin)
  for (const name of ["cofferer.sh", "install.sh", "main.ts"]) copyFileSync(source(name), join(tree, "src", name))
  for (const tool of tools) {
    const folder = process.env["PATH"]!.split(delimiter).find((folder) => existsSync(join(folder, tool)))
    assert.isDefined(folder, `${tool} is on this machine`)
    symlinkSync(join(folder, tool), join(bin, tool))
  }
})

afterEach(() => rmSync(dirname(tree), { recursive: true, force: true }))

const executable = (path: string, lines: ReadonlyArray<string>) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, ["#!/bin/sh", ...lines, ""].join("\n"))
  chmodSync(path, 0o755)
}

/** A Node that tells the version it is given, and its arguments one per line when it is asked to run something. */
const fakeNode = (path: string, version: string) =>
  executable(path, [
    `if [ "$1" = -p ]; then echo ${version}; exit; fi`,
    `echo "node ${version}"`,
    'printf "%s\\n" "$@"',
  ])

const start = (command: string, ...args: ReadonlyArray<string>) => startWith({}, command, ...args)

const startWith = (env: Readonly<Record<string, string>>, command: string, ...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync("/bin/sh", [command, ...args], {
    cwd: tree,
    env: { PATH: bin, ...env },
    encoding: "utf8",
    timeout: 120_000,
  })
  return { status, lines: stdout.split("\n").slice(0, -1), stderr }
}

const launcher = () => join(tree, "src/cofferer.sh")

describe("the launcher", () => {
  it("prefers the packaged Node, whatever the machine has", () => {
    fakeNode(join(bin, "node"), "99.0.0")
    fakeNode(join(tree, "node_modules/.bin/node"), "24.21.0")
    assert.strictEqual(start(launcher(), "version").lines[0], "node 24.21.0")
  })

  it("hands on every argument as it is, and keeps the inspector shut", () => {
    fakeNode(join(tree, "node_modules/.bin/node"), "24.21.0")
    const { lines } = start(launcher(), "submit", "two words", "", "*", "--flag=$HOME")
    assert.deepStrictEqual(lines.slice(1), [
      "--inspect-port=192.0.2.1:9229",
      "--report-exclude-env",
      "--no-maglev",
      "--max-semi-space-size=4",
      "--max-old-space-size=1024",
      "--disable-warning=ExperimentalWarning",
      join(tree, "src/main.ts"),
      "submit",
      "two words",
      "",
      "*",
      "--flag=$HOME",
    ])
  })

  it("gives many treasuries more memory for what is new", () => {
    fakeNode(join(tree, "node_modules/.bin/node"), "24.21.0")
    const folder = join(tree, "treasuries")
    mkdirSync(folder)
    writeFileSync(join(folder, "daemon.yaml"), "version: 1\n")
    const { lines } = start(launcher(), "run", folder)
    assert.include(lines, "--max-semi-space-size=32")
    assert.notInclude(lines, "--no-maglev")
  })

  it("starts the real Node on TypeScript, and ends as it ends", () => {
    mkdirSync(join(tree, "node_modules/.bin"), { recursive: true })
    symlinkSync(realpathSync(process.execPath), join(tree, "node_modules/.bin/node"))
    writeFileSync(join(tree, "src/main.ts"), "const n: number = process.argv.length\nconsole.log(n)\nprocess.exit(7)\n")
    assert.deepStrictEqual(start(launcher(), "a", "b"), { status: 7, lines: ["4"], stderr: "" })
  })

  const realNode = (...lines: ReadonlyArray<string>) => {
    mkdirSync(join(tree, "node_modules/.bin"), { recursive: true })
    symlinkSync(realpathSync(process.execPath), join(tree, "node_modules/.bin/node"))
    writeFileSync(join(tree, "src/main.ts"), lines.join("\n"))
  }

  it("clears variables that change or expose Node, and reports them once", () => {
    const names = ["NODE_OPTIONS", "NODE_PATH", "NODE_V8_COVERAGE", "NODE_DEBUG", "OPENSSL_CONF"]
    realNode(
      `console.log(JSON.stringify([${JSON.stringify(names)}.filter((n) => n in process.env), process.execArgv]))`,
    )
    const preload = join(tree, "preload.cjs")
    writeFileSync(preload, 'console.log("preloaded")')
    const values = [`--require=${JSON.stringify(preload)}`, tree, join(tree, "v"), "http,tls", preload]
    const env = Object.fromEntries(names.map((name, i) => [name, values[i]!]))
    const { status, lines, stderr } = startWith(env, launcher())
    assert.deepStrictEqual([status, lines.length], [0, 1])
    assert.deepStrictEqual((JSON.parse(lines[0]!) as [unknown])[0], [])
    assert.match(stderr, /^cofferer: not used: [^\n]*\n$/)
    for (const name of names) assert.include(stderr, name)
    assert.notInclude(stderr, preload, "a value may be a secret")
    assert.isFalse(existsSync(join(tree, "v")))
  })

  it("opens no inspector at SIGUSR1, and passes the signal on", () => {
    realNode(
      'import { url } from "node:inspector"',
      "const wait = () => new Promise((done) => setTimeout(done, 300))",
      'process.kill(process.pid, "SIGUSR1")',
      "await wait()",
      "const before = url()",
      'const taken = new Promise((done) => process.on("SIGUSR1", done))',
      'process.kill(process.pid, "SIGUSR1")',
      "const alive = setInterval(() => {}, 1_000)",
      "await taken",
      "clearInterval(alive)",
      'console.log("taken", before, url())',
    )
    assert.deepStrictEqual(start(launcher()).lines, ["taken undefined undefined"])
  })

  it("keeps a certificate authority of the operator's own", () => {
    realNode("console.log(process.env.NODE_EXTRA_CA_CERTS)")
    const { lines } = startWith({ NODE_EXTRA_CA_CERTS: "/nowhere.pem" }, launcher())
    assert.deepStrictEqual(lines, ["/nowhere.pem"])
  })

  it("takes compiled code from its own folder, or from one of this user", () => {
    realNode("console.log(process.env.NODE_COMPILE_CACHE)")
    assert.deepStrictEqual(startWith({ NODE_COMPILE_CACHE: tree }, launcher()).lines, [tree])
    // Of root; who is root needs somebody else.
    const other = process.getuid?.() === 0 ? join(tree, "other") : "/proc/1"
    if (process.getuid?.() === 0) {
      mkdirSync(other)
      chownSync(other, 10_001, 10_001)
    }
    const { lines, stderr } = startWith({ NODE_COMPILE_CACHE: other }, launcher())
    assert.deepStrictEqual(lines, startWith({}, launcher()).lines)
    assert.match(lines[0] ?? "", /\/node_modules\/\.cache\/compiled$/)
    assert.include(stderr, "not used: NODE_COMPILE_CACHE:")
  })

  it("allows no memory image, which would hold the keys", () => {
    realNode(
      'import { readFileSync } from "node:fs"',
      'const limit = /^Max core file size +(\\S+) +(\\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))',
      "console.log(limit?.[1], limit?.[2])",
    )
    const raised = spawnSync("/bin/sh", ["-c", `ulimit -c unlimited 2>/dev/null; exec sh "$0"`, launcher()], {
      env: { PATH: bin },
      encoding: "utf8",
      timeout: 120_000,
    })
    assert.strictEqual(raised.stdout, "0 0\n")
    writeFileSync(join(tree, "src/main.ts"), 'process.kill(process.pid, "SIGABRT")')
    const ended = spawnSync("/bin/sh", ["-c", `ulimit -c unlimited 2>/dev/null; exec sh "$0"`, launcher()], {
      cwd: tree,
      env: { PATH: bin },
      timeout: 120_000,
    })
    assert.strictEqual(ended.signal, "SIGABRT")
    assert.deepStrictEqual(
      readdirSync(tree).filter((name) => name.startsWith("core")),
      [],
    )
  })

  it("tells no variable of the environment in a diagnostic report", () => {
    realNode("console.log(JSON.stringify(process.report.getReport()))")
    const { lines } = startWith({ SECRET_OF_A_PLATFORM: "c0ffee" }, launcher())
    assert.notInclude(lines.join(""), "c0ffee")
    assert.include(lines.join(""), "javascriptHeap")
  })

  it.each(["22.19.0", "22.20.1", "24.0.0", "24.21.0", "100.1.0"])("takes the machine's own Node %s", (version) => {
    fakeNode(join(bin, "node"), version)
    const { status, lines, stderr } = start(launcher(), "version")
    assert.deepStrictEqual([status, lines[0], stderr], [0, `node ${version}`, ""])
  })

  it.each(["22.18.0", "22.2.0", "20.20.2", "8.19.0", "nonsense"])(
    "refuses the machine's own Node %s in one line",
    (v) => {
      fakeNode(join(bin, "node"), v)
      const { status, lines, stderr } = start(launcher(), "version")
      assert.deepStrictEqual([status, lines], [1, []])
      assert.match(stderr, /^cofferer: needs Node 22\.19 or newer and found [^\n]*\n$/)
      assert.include(stderr, v)
      assert.include(stderr, `'npm ci' in ${tree}`)
    },
  )

  it.each([
    ["are missing", "node_modules"],
    ["were not all installed", "node_modules/.package-lock.json"],
  ])("names the command that installs the packages where they %s", (_, missing) => {
    fakeNode(join(bin, "node"), "24.0.0")
    rmSync(join(tree, missing), { recursive: true })
    const stderr = `cofferer: its packages are not installed: run 'npm ci --ignore-scripts' in ${tree}\n`
    assert.deepStrictEqual(start(launcher(), "version"), { status: 1, lines: [], stderr })
  })

  it("says so in one line where there is no Node at all", () => {
    const { status, lines, stderr } = start(launcher(), "version")
    assert.deepStrictEqual([status, lines], [1, []])
    assert.match(stderr, /^cofferer: needs Node 22\.19 or newer and found none: [^\n]*\n$/)
  })

  it("runs a bundle where there are no sources, and never beside them", () => {
    fakeNode(join(tree, "node_modules/.bin/node"), "24.21.0")
    const [sources, bundle] = ["main.ts", "main.mjs"].map((name) => join(tree, "src", name)) as [string, string]
    writeFileSync(bundle, "")
    assert.include(start(launcher(), "version").lines, sources)
    rmSync(sources)
    assert.include(start(launcher(), "version").lines, bundle)
  })

  it("finds its checkout through links, absolute and relative, one after the other", () => {
    fakeNode(join(tree, "node_modules/.bin/node"), "24.21.0")
    const elsewhere = join(tree, "../elsewhere")
    mkdirSync(elsewhere)
    symlinkSync(launcher(), join(elsewhere, "absolute"))
    symlinkSync("absolute", join(elsewhere, "relative"))
    symlinkSync("../elsewhere/relative", join(bin, "cofferer"))
    for (const link of [join(elsewhere, "absolute"), join(elsewhere, "relative"), join(bin, "cofferer")]) {
      assert.include(start(link, "version").lines, join(tree, "src/main.ts"))
    }
  })
})

describe("the installer", () => {
  const install = () => start(join(tree, "src/install.sh"))
  const lock = () => join(tree, "package-lock.json")
  const installed = () => join(tree, "node_modules/.package-lock.json")

  beforeEach(() => {
    rmSync(installed())
    writeFileSync(lock(), '{ "packages": {\n"": {},\n"node_modules/a": {},\n"node_modules/b": {}\n} }\n')
    executable(join(bin, "npm"), [
      'echo "npm $*" >&2',
      'echo "$*" >>"../npm.log"',
      // As npm does: the file of what is installed may be older than the lock file.
      "[ -d node_modules ] || /bin/mkdir node_modules",
      "touch -d 2001-01-01 node_modules/.package-lock.json",
    ])
  })

  const calls = () => (existsSync(join(tree, "../npm.log")) ? readFileSync(join(tree, "../npm.log"), "utf8") : "")

  it("says what it will do before it does it, and runs no install scripts", () => {
    const { status, lines, stderr } = install()
    assert.deepStrictEqual([status, lines], [0, []])
    assert.match(
      stderr,
      /^cofferer {2}first run: installing 2 pinned packages, .*npm ci --ignore-scripts --no-progress\n\d+ s\n$/s,
    )
    assert.strictEqual(calls(), "ci --ignore-scripts --no-progress\n")
  })

  it("is silent when everything is up to date", () => {
    install()
    assert.deepStrictEqual(install(), { status: 0, lines: [], stderr: "" })
    assert.strictEqual(calls(), "ci --ignore-scripts --no-progress\n")
  })

  it("installs again when the lock file is newer", () => {
    install()
    const later = new Date(Date.now() + 60_000)
    utimesSync(lock(), later, later)
    assert.strictEqual(install().status, 0)
    assert.lengthOf(calls().trim().split("\n"), 2)
  })

  it("fails when npm fails, and tries again the next time", () => {
    executable(join(bin, "npm"), ['echo "$*" >>"../npm.log"', "exit 3"])
    assert.strictEqual(install().status, 3)
    assert.isFalse(existsSync(installed()))
    assert.strictEqual(install().status, 3)
    assert.lengthOf(calls().trim().split("\n"), 2)
  })
})
