import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readBytes } from "../../src/config/yaml/readBytes.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { ask, controlled } from "../support/Control.ts"
import { tempDir } from "../support/tempDir.ts"
import { threadCpuMicros } from "../support/threadCpu.ts"

const dir = tempDir("files")
const good = readFileSync(join(root, "config/sandbox.yaml"), "utf8")

const at = (name: string): string => join(dir, name)
const written = (name: string, content: string | Buffer): string => {
  writeFileSync(at(name), content)
  return at(name)
}
/** A file that takes no room on the disk and is as long as it says. */
const sparse = (name: string, bytes: number): string => {
  writeFileSync(at(name), "")
  truncateSync(at(name), bytes)
  return at(name)
}

const many = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("")

/** So much of one thing, on lines that are short enough. */
const lines = (unit: string, bytes: number): string => {
  const line = `${unit.repeat(Math.floor(9_900 / unit.length))}\n`
  return line.repeat(Math.ceil(bytes / line.length))
}

/** Texts that a parser of YAML could spend seconds or a gigabyte on. */
const texts: Readonly<Record<string, string>> = {
  "a megabyte of [": "[".repeat(1_000_000),
  "a megabyte of {": "{a: ".repeat(250_000),
  "a megabyte of !": "!".repeat(1_000_000),
  "a megabyte of quotes": '"'.repeat(1_000_000),
  "a megabyte of backslashes": `a: "${"\\".repeat(1_000_000)}"`,
  "[ on lines of its own": "[\n".repeat(15_000),
  "{ a: on lines of its own": "{ a:\n".repeat(15_000),
  "200,000 keys": many(200_000, (i) => `k${i}: 1\n`),
  "4,900 keys in each of three maps": many(3, (j) => `k${j}:\n${many(4_900, (i) => `  k${i}: 1\n`)}`),
  "19,000 keys that are almost known": many(19_000, (i) => `rule${i}: 1\n`),
  "19,000 times the same key": "rules: 1\n".repeat(19_000),
  "19,000 items": `rules:\n${"  - a\n".repeat(19_000)}`,
  "a line of 300 kB": `version: 1\nname: ${"a".repeat(300_000)}\n`,
  "a line of 300 kB in quotes": `version: 1\nname: "${"a b ".repeat(75_000)}"\n`,
  "a key of 300 kB": `${"a".repeat(300_000)}: 1\n`,
  "50,000 anchors": many(50_000, (i) => `k${i}: &a${i} 1\n`),
  "aliases that unfold": `a: &a [${"x,".repeat(9)}]\n${many(9, (i) => `k${i}: &${"bcdefghij"[i]} [${`*${"abcdefghi"[i]},`.repeat(9)}]\n`)}`,
  "an alias of itself": "a: &a [*a]\n",
  "5,000 aliases of nothing": many(5_000, (i) => `k${i}: *a${i}\n`),
  "1,500 levels": many(1_500, (i) => `${" ".repeat(i)}a:\n`),
  "60 levels of brackets": `${"[".repeat(60)}${"]".repeat(60)}\n`,
  "quotes that never close": `version: "${"a\n".repeat(19_000)}`,
  "10,000 documents": "---\na: 1\n".repeat(9_000),
  "19,000 merge keys": "<<: {}\n".repeat(19_000),
  "a megabyte of ]": lines("]", 1_000_000),
  "4 MB of pairs of brackets": lines("[]", 3_900_000),
  "4 MB of empty quotes": lines('""', 3_900_000),
  "4 MB of aliases": lines("*a ", 3_900_000),
  "numbers of 9,000 digits": `version: ${"1".repeat(9_000)}\n`,
  exponents: `version: 1e999999999\n`,
  "a byte order mark in the middle": `version: 1\n\uFEFFname: a\n`,
  "a NUL in a name": `version: 1\nname: "a\\0b"\n`,
  "the prototype of everything": "__proto__: { polluted: 1 }\nconstructor: { prototype: { polluted: 1 } }\n",
  "one word": "treasury\n",
}

/** Paths that are no files of text. */
const paths: Readonly<Record<string, () => string>> = {
  "a pipe": () => {
    execFileSync("mkfifo", [at("pipe")])
    return at("pipe")
  },
  "a link to a pipe": () => {
    symlinkSync(at("pipe"), at("to-pipe"))
    return at("to-pipe")
  },
  "a socket": () => at("socket"),
  "a device without an end": () => "/dev/zero",
  "a device of chance": () => "/dev/urandom",
  "a device that is empty": () => "/dev/null",
  "a terminal": () => "/dev/tty",
  "a folder of nothing": () => {
    mkdirSync(at("empty"))
    return at("empty")
  },
  "a folder that holds a pipe": () => {
    mkdirSync(at("piped"))
    execFileSync("mkfifo", [join(at("piped"), "treasury.yaml")])
    return at("piped")
  },
  "a link to itself": () => {
    symlinkSync(at("loop"), at("loop"))
    return at("loop")
  },
  "a link to nothing": () => {
    symlinkSync(at("nothing"), at("dangling"))
    return at("dangling")
  },
  "4 TB": () => sparse("terabytes.yaml", 4_000_000_000_000),
  "5 MB": () => sparse("megabytes.yaml", 5_000_000),
  "its own memory": () => "/proc/self/mem",
  "a file that says it is empty": () => "/proc/self/maps",
  "bytes that are no text": () => written("bytes.yaml", Buffer.from([0xff, 0xfe, 0x00, 0x80])),
  "half of a character": () => written("half.yaml", Buffer.from([0x61, 0x3a, 0x20, 0xe2, 0x82])),
  "an archive": () => written("archive.yaml", Buffer.from("1f8b0800000000000003", "hex")),
  "a path of 5,000 characters": () => `/${"a".repeat(5_000)}`,
  "a path with a NUL": () => "/tmp/a\0b",
  "rules that are a pipe": () => {
    execFileSync("mkfifo", [at("rules.ts")])
    return written("piped.yaml", good.replace(/^rules:\n[\s\S]*?(?=^\S)/m, "rules: ./rules.ts\n"))
  },
  "rules without an end": () => {
    symlinkSync("/dev/zero", at("endless.ts"))
    return written("endless.yaml", good.replace(/^rules:\n[\s\S]*?(?=^\S)/m, "rules: ./endless.ts\n"))
  },
  "a key that is a pipe": () =>
    written("keyed.yaml", good.replace("signer: { sandbox: reserve }", `signer: { file: ${at("pipe")} }`)),
}

/** Milliseconds of processor time that the loop was held at most while something ran. */
const holding = async <A>(run: () => Promise<A>) => {
  let last = threadCpuMicros() / 1_000
  let longest = 0
  const beat = () => {
    const now = threadCpuMicros() / 1_000
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(beat, 5)
  const done = await run()
  beat()
  clearInterval(timer)
  return { done, longest }
}

describe("a file that is not a treasury", () => {
  let server: Server | undefined

  beforeAll(async () => {
    const listening = createServer()
    server = listening
    await new Promise<void>((resolve) => listening.listen(at("socket"), resolve))
  })

  afterAll(async () => {
    await new Promise((resolve) => server?.close(resolve))
  })

  it("is refused in words that name it, and holds nobody up", async () => {
    const tried = [
      ...Object.entries(texts).map(([title, text], i) => [title, () => written(`text-${i}.yaml`, text)] as const),
      ...Object.entries(paths),
    ]
    const through: Array<string> = []
    const slow: Array<readonly [number, string]> = []
    for (const [title, make] of tried) {
      const path = make()
      const { done, longest } = await holding(() => callCofferer(["check", path]))
      slow.push([Math.round(longest), title])
      const isTold = done.code === 3 && done.stdout === "" && done.stderr.includes(path.slice(0, 60).split("\0")[0]!)
      if (!isTold || done.stderr.length > 40_000) through.push(`${title}: ${done.code} ${done.stderr.slice(0, 200)}`)
    }
    console.log(`files: tried ${tried.length} through ${through.length}`)
    assert.deepStrictEqual(through, [])
    assert.isAtLeast(tried.length, 50)
    assert.isUndefined(({} as { polluted?: unknown }).polluted)
    // Without bounds of their own some of these take ten seconds and more.
    assert.deepStrictEqual(
      slow.filter(([millis]) => millis > 5_000),
      [],
    )
  }, 300_000)

  it("is not read unless it is a regular file within bounds", () => {
    assert.deepStrictEqual(readBytes("/dev/zero", 1_000), { problem: "is not a file", code: undefined })
    assert.deepStrictEqual(readBytes(dir, 1_000), { problem: "is not a file", code: "EISDIR" })
    const small = written("small", "abc")
    assert.deepStrictEqual(readBytes(small, 3), Buffer.from("abc"))
    assert.deepStrictEqual(readBytes(small, 2), { problem: "has more than 0.002 kB", code: undefined })
    const maps = readBytes("/proc/self/maps", 100)
    assert.deepStrictEqual(maps, { problem: "has more than 0.1 kB", code: undefined })
  })

  it.effect("is named by a daemon's plan and terms, never shown", () =>
    controlled(function* (options) {
      const secret = written("secret", "root:$6$c0ffee$hash:19000:0:99999:7:::\n")
      for (const verb of ["plan", "terms/approve"]) {
        const { status, text } = yield* ask(options, `/api/v1/${verb}`, { files: [secret] })
        assert.isAtLeast(status, 400)
        assert.include(text, secret)
        assert.notInclude(text, "c0ffee")
        assert.notInclude(text, "root")
      }
    }),
  )
})
