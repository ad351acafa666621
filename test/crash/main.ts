import { parseArgs } from "node:util"
import { crashRun } from "./crashRun.ts"
import { powerCutNeeds } from "./disk.ts"
import type { Verdict } from "./judge.ts"
import { type PowerVerdict, powerRun } from "./powerRun.ts"
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

/** Prints what is wrong; returns how much. */
const tell = ({ lost, duplicate }: Verdict): number => {
  for (const sentence of lost) console.log(`lost: ${sentence}`)
  for (const sentence of duplicate) console.log(`duplicate: ${sentence}`)
  return lost.length + duplicate.length
}

const cutPower = async (cuts: number): Promise<boolean> => {
  const result = await powerRun({ cuts, seed: values.seed, say })
  if (result === undefined) {
    console.log(`skipped: ${powerCutNeeds}`)
    return true
  }
  const { sound, control } = result
  const line = ({ cuts: n, lost, duplicate, payments, changes: { synced, kept, torn, dropped } }: PowerVerdict) =>
    [
      `${payments} payments, ${synced} changes synced, of the others ${kept} kept, ${torn} torn, ${dropped} dropped`,
      `power cuts ${n} lost ${lost.length} duplicate ${duplicate.length}`,
    ].join("; ")
  const wrong = tell(sound)
  console.log(`control, commits that do not wait for the disk: ${line(control)}`)
  if (control.lost.length === 0) console.log("the control lost nothing: this run proves nothing")
  console.log(`seed ${values.seed}, ${line(sound)}`)
  return wrong === 0 && control.lost.length > 0
}

const kill = async (kills: number): Promise<boolean> => {
  const result = await crashRun({ kills, seed: values.seed, say })
  console.log(tableOf(result.hits))
  const others = ["any step", "the clock"].map((name) => `${name} ${result.hits.get(name)?.start ?? 0}`)
  console.log(`elsewhere: ${others.join(", ")}`)
  for (const name of result.missed) console.log(`never hit: ${name}`)
  const wrong = tell(result)
  console.log(`seed ${values.seed}, ${result.intents} payments decided, ${result.executed} executed`)
  console.log(`kills ${result.kills} lost ${result.lost.length} duplicate ${result.duplicate.length}`)
  return wrong + result.missed.length === 0
}

const power = values.power === undefined ? undefined : whole("power", values.power)
const kills = values.kills === undefined ? undefined : whole("kills", values.kills)
const isPowerSound = power === undefined || (await cutPower(power))
const isWhole = (power !== undefined && kills === undefined) || (await kill(kills ?? 200))
process.exitCode = isPowerSound && isWhole ? 0 : 1
