import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { answers } from "./answers/bench.ts"
import { type Goal, holds, type Judged, judge, report } from "./Benchmark.ts"
import { backtest } from "./backtest/bench.ts"
import { code } from "./code/bench.ts"
import { latency } from "./latency/bench.ts"
import { poller } from "./poller/bench.ts"
import { pow } from "./pow/bench.ts"
import { rules } from "./rules/bench.ts"
import { sandbox } from "./sandbox/bench.ts"
import { pollerSoak } from "./soak/bench.ts"

const benchmarks = [pow, sandbox, poller, answers, backtest, rules, code, latency, pollerSoak]

const usage = `usage: npm run bench -- [--json] [--check] [--minutes N] [--count N] [NAME ...]

  --json   prints an array of { name, value, unit, better, samples, goal, floor } on standard output
  --check  exits with 1 where a figure misses its floor (test/bench/goals.json)
  --minutes N  for how long a benchmark runs that runs for minutes
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
        check: { type: "boolean" },
        minutes: { type: "string" },
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

const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
if (minutes !== undefined && !(minutes > 0)) fail(`bench: --minutes ${values.minutes} is no time\n${usage}`, 2)
const count = values.count === undefined ? undefined : Number(values.count)
if (count !== undefined && !(count > 0)) fail(`bench: --count ${values.count} is no number\n${usage}`, 2)

const goals = JSON.parse(readFileSync(new URL("goals.json", import.meta.url), "utf8")) as Record<string, Goal>
const figures: Array<Judged> = []
for (const one of benchmarks.filter(({ name, byNameAlone }) =>
  positionals.length === 0 ? byNameAlone !== true : positionals.includes(name),
)) {
  const found = await one.run((text) => console.error(`${one.name}: ${text}`), { minutes, count })
  figures.push(...judge(found, goals))
}
console.log(values.json ? JSON.stringify(figures, null, 2) : report(figures))
const missed = figures.filter((one) => !holds(one))
if (values.check && missed.length > 0) {
  fail(`bench: below the floor: ${missed.map(({ name }) => name).join(", ")}`, 1)
}
