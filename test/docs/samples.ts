/**
 * Makes what the pages show of real runs: docs/images/page.png, and the samples of output in the README, in
 * docs/getting-started.md and in docs/troubleshooting.md. Needs chromium. Run it with: npm run samples
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const root = join(import.meta.dirname, "../..")
const program = join(root, "src/cofferer.sh")
const pageSize = "1280,800"
/** Longest run, milliseconds. */
const runMillisMax = 120_000

const dir = mkdtempSync(join(tmpdir(), "cofferer-samples-"))
const data = join(dir, "data")

interface Run {
  readonly files: ReadonlyArray<string>
  readonly confirmations: number
  /** Called with each line of the log. */
  readonly onLine?: (line: string, lines: ReadonlyArray<string>) => void
  /** Called while the daemon still runs. */
  readonly atEnd?: () => void
}

/** Lines of the text log until so many payments are confirmed. */
const run = async ({ files, confirmations, onLine, atEnd }: Run): Promise<ReadonlyArray<string>> => {
  rmSync(data, { recursive: true, force: true })
  const flags = ["--sandbox", ...files.flatMap((file) => ["-c", file]), "--data", data, "--output", "text"]
  const env = { ...process.env, COFFERER_LISTEN: "127.0.0.1:0", NO_COLOR: "1" }
  const daemon = spawn(program, ["run", ...flags], { cwd: dir, env, stdio: ["ignore", "pipe", "inherit"] })
  const timer = setTimeout(() => daemon.kill(), runMillisMax)
  const lines: Array<string> = []
  try {
    for await (const line of createInterface({ input: daemon.stdout })) {
      lines.push(line)
      onLine?.(line, lines)
      if (lines.filter((one) => / s {2}confirmed /.test(one)).length < confirmations) continue
      atEnd?.()
      return lines
    }
    throw new Error(`the run ended before ${confirmations} payments were confirmed:\n${lines.join("\n")}`)
  } finally {
    clearTimeout(timer)
    daemon.kill()
  }
}

const drawPage = (address: string): void => {
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000"]
  const files = [`--user-data-dir=${join(dir, "chromium")}`, `--screenshot=${join(root, "docs/images/page.png")}`]
  const args = [...flags, ...files, `--window-size=${pageSize}`, address]
  execFileSync("chromium", args, { stdio: "ignore", timeout: 60_000 })
}

const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** Puts lines of output in the place of the block of the page that matches. */
const replaceBlock = (path: string, block: RegExp, lines: ReadonlyArray<string>): void => {
  const text = read(path)
  if (!block.test(text)) throw new Error(`${path} has no block like ${block}`)
  writeFileSync(
    join(root, path),
    text.replace(block, () => lines.map((line) => `${line.trimEnd()}\n`).join("")),
  )
}

/** Lines with these events; of one event in a row the last. */
const pick = (lines: ReadonlyArray<string>, events: RegExp): ReadonlyArray<string> => {
  const event = (line: string | undefined) => /^ *[\d.]+ s {2}(may pay|\w+)/.exec(line ?? "")?.[1] ?? ""
  const found = lines.filter((line) => events.test(event(line)) && !/Nothing else/.test(line))
  return found.filter((line, i) => event(line) !== event(found[i + 1]))
}

const indented = (lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map((line) => `    ${line}`)

/** Checks that a reader should see, in the order of the output; others are left out. */
const shownChecks = /^ {2}(since|halted|stale|in band|pending|short|known|policy {4}\w|next) ?/

const shortened = (output: string): ReadonlyArray<string> => {
  const lines = output.trimEnd().split("\n")
  const kept = lines.map((line, i) => (i === 0 || shownChecks.test(line) ? line : "  ..."))
  return kept.filter((line, i) => line !== "  ..." || kept[i - 1] !== "  ...")
}

const readmeEvents = /^(cofferer|may pay|pending|ALERT|proposed|signed|unknown|confirmed)$/

const demo = async (): Promise<void> => {
  let explained = ""
  let address = ""
  const lines = await run({
    files: [join(root, "config/sandbox.yaml")],
    confirmations: 2,
    onLine: (line, { length }) => {
      address = / s {2}page +(http\S+)/.exec(line)?.[1] ?? address
      if (explained !== "" || length < 8 || !/ s {2}pending /.test(line)) return
      const args = ["explain", "keep-hot-funded", "hot", "-c", join(root, "config/sandbox.yaml"), "--data", data]
      explained = execFileSync(program, args, { cwd: dir, encoding: "utf8" })
    },
    atEnd: () => drawPage(address),
  })
  replaceBlock("README.md", /(?<=^```text\n)[\s\S]*?(?=^```$)/m, pick(lines, readmeEvents))
  const call = "$ npm run -s cofferer -- explain keep-hot-funded hot"
  replaceBlock("docs/troubleshooting.md", /^ {4}\$ .* explain keep-hot-funded hot\n(?: {4}.*\n)+/m, [
    ...indented([call, ...shortened(explained)]),
  ])
}

/** The files of the first steps, as their page shows them. */
const firstSteps = async (): Promise<void> => {
  const page = "docs/getting-started.md"
  const blocks = [...read(page).matchAll(/^```yaml\n# (\S+)\n([\s\S]*?)^```$/gm)]
  const files = blocks.flatMap(([, name = "", text = ""]) => {
    writeFileSync(join(dir, name), text)
    return name === "tests.yaml" ? [] : [join(dir, name)]
  })
  const lines = await run({ files, confirmations: 1 })
  replaceBlock(page, /^(?: {4,}[\d.]+ s {2}.*\n)+/m, indented(pick(lines, /^(ready|pending|proposed|confirmed)$/)))
}

try {
  await demo()
  await firstSteps()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
