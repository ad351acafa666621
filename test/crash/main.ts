import { type Fail, readFlags } from "../support/Flags.ts"
import { crashRun } from "./crashRun.ts"
import { powerCutNeeds } from "./disk.ts"
import type { Verdict } from "./judge.ts"
import { type PowerVerdict, powerRun } from "./powerRun.ts"
import { readFaults } from "./reads/readFaults.ts"
import { readsRun } from "./reads/readsRun.ts"
import { tableOf } from "./Schedule.ts"

const usage = `usage: npm run crash -- [--kills N] [--power N] [--reads [--blocks N] [--faults NAMES]] [--aim TEXT] [--seed S]

  --kills   kills the daemon N times at its steps and at random moments, and judges what it paid; default 200
  --power   cuts the power N times instead: what was not synced is lost or torn
  --reads   kills a daemon that reads balances instead, by default 20 times, and judges the rows that it stored; then
            under each fault of reads, with a fifth of the blocks and three of twenty kills
  --blocks  of the reads without a fault, 1 to 40 rows each; default 1000
  --faults  names with commas between them, all or none; default all
  --aim     kills at steps with this in their names alone, such as Alert
  --seed    of all draws; default 1`

const flags = readFlags("crash", usage, {
  kills: undefined,
  power: undefined,
  reads: false,
  blocks: "1000",
  faults: "all",
  aim: "",
  seed: "1",
})
const { values, whole } = flags
const fail: Fail = flags.fail
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
  const result = await crashRun({ kills, seed: values.seed, aim: values.aim, say })
  console.log(tableOf(result.hits))
  const others = ["any step", "the clock"].map((name) => `${name} ${result.hits.get(name)?.start ?? 0}`)
  console.log(`elsewhere: ${others.join(", ")}`)
  for (const name of result.missed) console.log(`never hit: ${name}`)
  const wrong = tell(result)
  console.log(
    `seed ${values.seed}, ${result.intents} payments decided, ${result.executed} executed, ${result.alerts} alerts`,
  )
  console.log(`kills ${result.kills} lost ${result.lost.length} duplicate ${result.duplicate.length}`)
  return wrong + result.missed.length === 0
}

const namesOf = (text: string): ReadonlyArray<string> => {
  if (text === "none") return []
  const known = Object.keys(readFaults)
  const names = text === "all" ? known : text.split(",")
  const unknown = names.find((name) => !known.includes(name))
  return unknown === undefined ? names : fail(`no fault is named ${unknown}; known: ${known.join(", ")}`)
}

const read = async (kills: number): Promise<boolean> => {
  const blocks = whole("blocks", values.blocks)
  const parts = await readsRun({ blocks, kills, seed: values.seed, faults: namesOf(values.faults), say })
  for (const { name, examples } of parts) for (const example of examples) console.log(`${name}: ${example}`)
  const sum = (count: (part: (typeof parts)[number]) => number) => parts.reduce((all, part) => all + count(part), 0)
  const [missing, duplicate, wrong] = [sum((p) => p.missing), sum((p) => p.duplicate), sum((p) => p.wrong)]
  console.log(`seed ${values.seed}, ${parts.length - 1} faults, kills ${sum((p) => p.kills)}`)
  console.log(`reads: rows ${sum((p) => p.rows)} missing ${missing} duplicate ${duplicate} wrong ${wrong}`)
  return missing + duplicate + wrong === 0
}

const power = values.power === undefined ? undefined : whole("power", values.power)
const kills = values.kills === undefined ? undefined : whole("kills", values.kills)
const isPowerSound = power === undefined || (await cutPower(power))
const isReadSound = !values.reads || (await read(kills ?? 20))
const isElsewhere = values.reads || (power !== undefined && kills === undefined)
const isWhole = isElsewhere || (await kill(kills ?? 200))
process.exitCode = isPowerSound && isReadSound && isWhole ? 0 : 1
