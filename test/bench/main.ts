import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, totalmem } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root } from "../support/Cofferer.ts"
import { type Run, regressions, report } from "./Benchmark.ts"
import { benchmarks } from "./benchmarks.ts"
import { baselineFile, chartFile, chartOf, pageFile, pageOf } from "./page.ts"

const usage = `usage: npm run bench -- [--json] [--against FILE] [--write] [--count N] [NAME ...]

  --json   prints { machine, node, figures } on standard output
  --against FILE  exits with 1 where a figure is more than a tenth worse than in FILE, which --json wrote
  --write  writes ${pageFile}, ${chartFile} and ${baselineFile};
           benchmarks that were not run keep their figures there
  --count N    how many payments a benchmark makes that makes payments

${benchmarks.map(({ name, about }) => `  ${name.padEnd(12)}measures ${about}`).join("\n")}`

const fail = (message: string, code: number): never => {
  console.error(message)
  process.exit(code)
}

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean" },
        against: { type: "string" },
        write: { type: "boolean" },
        count: { type: "string" },
        help: { type: "boolean" },
      },
    })
  } catch (error) {
    return fail(`bench: ${error instanceof Error ? error.message : error}\n${usage}`, 2)
  }
}

const { values, positionals } = readArguments()
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const unknown = positionals.filter((name) => !benchmarks.some((one) => one.name === name))
if (unknown.length > 0) fail(`bench: there is no benchmark ${unknown.join(", ")}\n${usage}`, 2)

const count = values.count === undefined ? undefined : Number(values.count)
if (count !== undefined && !(count > 0)) fail(`bench: --count ${values.count} is not a number above 0\n${usage}`, 2)

const readRun = (file: string): Run => {
  try {
    const run = JSON.parse(readFileSync(file, "utf8")) as Run
    return Array.isArray(run.figures) ? run : fail(`bench: ${file} is no run of --json`, 2)
  } catch (error) {
    return fail(`bench: ${error instanceof Error ? error.message : error}`, 2)
  }
}
// Before anything is measured: what --write keeps may be what --against compares with.
const before = values.against === undefined ? undefined : readRun(values.against)
const kept = readRun(join(root, baselineFile))

const chosen = benchmarks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const date = new Date().toISOString().slice(0, 10)
const figures: Array<Run["figures"][number]> = []
for (const one of chosen) {
  const found = await one.run((text) => console.error(`${one.name}: ${text}`), { count })
  figures.push(...found.map((figure) => ({ ...figure, date })))
}

const run: Run = {
  machine: `${availableParallelism()} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  node: process.version,
  figures,
}

/** The page shows the newest run of each benchmark, in the order in which they run. */
const write = () => {
  const all = benchmarks.flatMap(({ name }) =>
    (chosen.some((one) => one.name === name) ? figures : kept.figures).filter((one) => one.name.split(" ")[0] === name),
  )
  const page = { ...run, figures: all }
  writeFileSync(join(root, baselineFile), `${JSON.stringify(page, null, 2)}\n`)
  writeFileSync(join(root, pageFile), pageOf(page))
  writeFileSync(join(root, chartFile), chartOf(page))
}

console.log(values.json ? JSON.stringify(run, null, 2) : report(figures))
if (values.write) write()
const worse = before === undefined ? [] : regressions(figures, before.figures)
if (worse.length > 0) fail(worse.map((text) => `bench: more than a tenth worse: ${text}`).join("\n"), 1)
process.exit(0)
