import { parseArgs } from "node:util"
import { crashRun } from "./crashRun.ts"
import { tableOf } from "./Schedule.ts"

const usage = `usage: npm run crash -- [--kills N] [--power N] [--seed S]

  --kills  kills the daemon N times at its steps and at random moments, and judges what it paid; default 200
  --power  cuts the power N times instead: what was not synced is lost or torn
  --seed   of all draws; default 1`

const fail = (message: string): never => {
  console.error(`crash: ${message}\n${usage}`)
  process.exit(2)
}

const readArguments = () => {
  try {
    return parseArgs({
      options: {
        kills: { type: "string" },
        power: { type: "string" },
        seed: { type: "string", default: "1" },
        help: { type: "boolean", default: false },
      },
    }).values
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

const whole = (name: string, text: string): number =>
  /^[1-9]\d{0,5}$/.test(text) ? Number(text) : fail(`--${name} ${text} is no number from 1 on`)

const values = readArguments()
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const began = performance.now()
const say = (text: string) =>
  console.error(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)

const result = await crashRun({ kills: whole("kills", values.kills ?? "200"), seed: values.seed, say })
console.log(tableOf(result.hits))
const others = ["any step", "the clock"].map((name) => `${name} ${result.hits.get(name)?.start ?? 0}`)
console.log(`elsewhere: ${others.join(", ")}`)
for (const name of result.missed) console.log(`never hit: ${name}`)
for (const sentence of result.lost) console.log(`lost: ${sentence}`)
for (const sentence of result.duplicate) console.log(`duplicate: ${sentence}`)
for (const dir of result.kept) console.log(`kept: ${dir}`)
console.log(`seed ${values.seed}, ${result.intents} payments decided, ${result.executed} executed`)
console.log(`kills ${result.kills} lost ${result.lost.length} duplicate ${result.duplicate.length}`)
process.exitCode = result.lost.length + result.duplicate.length + result.missed.length > 0 ? 1 : 0
