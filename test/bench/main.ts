import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { answers } from "./answers/bench.ts"
import { type Goal, holds, type Judged, judge, report } from "./Benchmark.ts"
import { poller } from "./poller/bench.ts"
import { sandbox } from "./sandbox/bench.ts"

const benchmarks = [sandbox, poller, answers]

const usage = `usage: npm run bench -- [--json] [--check] [NAME ...]

  --json   prints an array of { name, value, unit, better, samples, goal, floor } on standard output
  --check  exits with 1 where a figure misses its floor (test/bench/goals.json)

${benchmarks.map(({ name, about }) => `  ${name.padEnd(9)}measures ${about}`).join("\n")}`

const fail = (message: string, code: number): never => {
  console.error(message)
  process.exit(code)
}

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: { type: "boolean" }, check: { type: "boolean" }, help: { type: "boolean" } },
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

const goals = JSON.parse(readFileSync(new URL("goals.json", import.meta.url), "utf8")) as Record<string, Goal>
const figures: Array<Judged> = []
for (const one of benchmarks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  const found = await one.run((text) => console.error(`${one.name}: ${text}`))
  figures.push(...judge(found, goals))
}
console.log(values.json ? JSON.stringify(figures, null, 2) : report(figures))
const missed = figures.filter((one) => !holds(one))
if (values.check && missed.length > 0) {
  fail(`bench: below the floor: ${missed.map(({ name }) => name).join(", ")}`, 1)
}
