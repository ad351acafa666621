import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { databaseFile } from "../../src/store/database/Database.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { afterPowerCut, compilePowerCut, readDisk, readNotes, watched, writeDisk } from "./disk.ts"
import { failpoints, moments, nameOf } from "./failpoints.ts"
import { someFaults } from "./faults.ts"
import { judge, type Verdict } from "./judge.ts"
import { type LifePlan, makeWorld, type World } from "./World.ts"

export interface PowerRun {
  readonly cuts: number
  readonly seed: string
  readonly say: (text: string) => void
}

/** What the power cuts of one world came to. */
export interface PowerVerdict extends Verdict {
  readonly cuts: number
  readonly payments: number
  /** Changes that the disk was made sure of, and what became of the others. */
  readonly changes: { synced: number; kept: number; torn: number; dropped: number }
}

export interface PowerResult {
  /** As in production: nothing may be lost. */
  readonly sound: PowerVerdict
  /** With commits that do not wait for the disk: a harness that sees nothing lost there sees nothing. */
  readonly control: PowerVerdict
}

const boundMillis = 2_500
/** The first life: the first head that is told counts after ten seconds, and nothing is paid before. */
const beginMillis = 12_000
const controlCuts = 8
/** Worlds that the control may take: by chance one of them loses nothing. */
const controlWorlds = 4
/** With what the store forgot some payments may have no end: not waited for as long as where all must have one. */
const controlRestMillis = 20_000

/** Cuts the power, lets all come to rest, and judges. Undefined where there is nothing to do it with. */
export const powerRun = async (run: PowerRun): Promise<PowerResult | undefined> => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-power-"))
  try {
    const library = compilePowerCut(dir)
    if (library === undefined) return undefined
    const weakened = ["--import", new URL("weaken.ts", import.meta.url).href]
    const [sound, control] = await Promise.allSettled([
      powerOf({ run, library, cuts: run.cuts, nodeArgs: [], restMillis: undefined, world: 1 }),
      controlOf({ run, library, cuts: controlCuts, nodeArgs: weakened, restMillis: controlRestMillis }),
    ])
    if (sound.status === "rejected") throw sound.reason
    if (control.status === "rejected") throw control.reason
    return { sound: sound.value, control: control.value }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

interface Half {
  readonly run: PowerRun
  readonly library: string
  readonly cuts: number
  readonly nodeArgs: ReadonlyArray<string>
  readonly restMillis: number | undefined
  /** Which one of several; each has dice of its own. */
  readonly world: number
}

/** The first world that lost something. */
const controlOf = async (half: Omit<Half, "world">): Promise<PowerVerdict> => {
  for (let world = 1; ; world++) {
    const verdict = await powerOf({ ...half, world })
    if (verdict.lost.length > 0 || world === controlWorlds) return verdict
    half.run.say(`the control lost nothing in ${half.cuts} cuts: once more`)
  }
}

const powerOf = async ({ run, library, cuts, nodeArgs, restMillis, world: number }: Half): Promise<PowerVerdict> => {
  const dice = makeDice(`power ${run.seed} ${nodeArgs.length}${number === 1 ? "" : ` ${number}`}`)
  const changes = { synced: 0, kept: 0, torn: 0, dropped: 0 }
  const world = await makeWorld()
  let kept = true
  try {
    await world.live({ kill: undefined, boundMillis: beginMillis })
    for (let n = 1; n <= cuts; n++) {
      await cutOnce(world, { library, dice, nodeArgs, changes })
      if (n % 10 === 0) run.say(`${n} of ${cuts} cuts`)
    }
    if (nodeArgs.length === 0 && changes.synced === 0) {
      throw new Error("powercut.c saw no sync: SQLite does not reach the disk through it")
    }
    await world.rest({ nodeArgs, ...(restMillis === undefined ? {} : { restMillis }) })
    const testimony = await world.testimony()
    const verdict = judge(testimony)
    kept = nodeArgs.length === 0 && verdict.lost.length + verdict.duplicate.length > 0
    return { ...verdict, cuts, payments: testimony.intents.length, changes }
  } finally {
    await world.close(kept)
    if (kept) run.say(`kept: ${world.dir}`)
  }
}

interface Cut {
  readonly library: string
  readonly dice: Dice
  readonly nodeArgs: ReadonlyArray<string>
  readonly changes: PowerVerdict["changes"]
}

/** Steps of payments: where what the store forgets and the network does not would be money. */
const steps = failpoints.filter(
  ({ name, circumstance }) =>
    circumstance === undefined && /^(Outbox|Submitter|Signer|SpendLog|GatewayWriter|Confirm)/.test(name),
)
/** A step is passed up to so many times before the cut: a life with a few payments in it. */
const passesMax = 4
/** Writes and syncs of a life, about. */
const operationsMax = 500

/** How a life ends: at a step, in the middle of a write or a sync, or at any moment. */
const drawEnd = (dice: Dice): Pick<LifePlan, "kill" | "killAtMillis" | "env"> => {
  const drawn = dice.next()
  if (drawn < 0.4) {
    return { kill: undefined, env: { COFFERER_TEST_DISK_CUT: String(1 + dice.below(operationsMax)) } }
  }
  const point = drawn < 0.8 ? dice.pick(steps) : undefined
  return point === undefined
    ? { kill: undefined, killAtMillis: 800 + dice.below(3_000) }
    : { kill: `${nameOf(point)}:${dice.pick(moments)}:${1 + dice.below(passesMax)}` }
}

/** One life until the power fails; the next one finds what the disk was left with. */
const cutOnce = async (world: World, { library, dice, nodeArgs, changes }: Cut): Promise<void> => {
  const disk = join(world.dataDir, databaseFile)
  const log = join(world.dir, "disk.log")
  const before = readDisk(disk)
  rmSync(log, { force: true })
  const end = drawEnd(dice)
  await world.arm(dice.next() < 0.5 ? someFaults(dice) : [])
  await world.live({ ...end, boundMillis, env: { ...watched(library, disk, log), ...end.env }, nodeArgs })
  const notes = existsSync(log) ? readNotes(readFileSync(log)) : []
  const { files, ...fate } = afterPowerCut(before, notes, dice)
  for (const key of Object.keys(changes) as Array<keyof typeof changes>) changes[key] += fate[key]
  writeDisk(disk, files)
}
