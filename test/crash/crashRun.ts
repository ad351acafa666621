import { type Dice, makeDice } from "../support/Dice.ts"
import { nameOf } from "./failpoints.ts"
import { faultsFor, someFaults } from "./faults.ts"
import { judge, type Verdict } from "./judge.ts"
import { type Hits, missesMax, scheduleOf, type Target } from "./Schedule.ts"
import { type LifePlan, makeWorld, type World } from "./World.ts"

export interface CrashRun {
  readonly kills: number
  readonly seed: string
  /** Part of the names of steps at which all kills are aimed; empty: any. */
  readonly aim: string
  readonly say: (text: string) => void
}

export interface CrashResult extends Verdict {
  readonly kills: number
  /** Kills by failpoint, by span count or by the clock. */
  readonly hits: ReadonlyMap<string, Hits>
  /** Steps that were to be hit and were not. */
  readonly missed: ReadonlyArray<string>
  readonly intents: number
  readonly executed: number
  /** Alerts to the receiver. */
  readonly alerts: number
}

const worldsCount = 2
const boundMillis = 4_000
/**
 * An attempt's window takes six seconds; that it is over is proven by an absence that lasts for thirty, at a block that
 * has stood for ten to twenty.
 */
const boundMillisOf = { expiry: 75_000, fresh: 5_000 } as const
/**
 * A life in which open payments come to their ends after a step was missed: lives of four seconds never see that an end
 * lasts for five, and where nobody unlocks the rule after three lost payments nothing is decided any more.
 */
const settleMillisOf = (misses: number): number => (misses > 2 ? 45_000 : 15_000)
/** A step that was missed is tried again, also beyond the number of kills: up to so many times as many. */
const triesMax = 1.5

/** What the worlds share: how many kills are left, and what is still to be hit. */
interface Shared {
  readonly run: CrashRun
  kills: number
  readonly queue: Array<ReadonlyArray<Target>>
  readonly hits: Map<string, Hits>
  readonly missed: Array<string>
}

/** Kills daemons until the number is reached, lets all come to rest, and judges. */
export const crashRun = async (run: CrashRun): Promise<CrashResult> => {
  const { fresh, groups } = scheduleOf(run.kills, makeDice(`crash ${run.seed}`), run.aim)
  const shared: Shared = { run, kills: 0, queue: [...groups], hits: new Map(), missed: [] }
  const worlds = await Promise.all(Array.from({ length: worldsCount }, makeWorld))
  let isWhole = false
  try {
    await allOf(
      worlds.map((world, n) => killAll(world, shared, makeDice(`crash ${run.seed} ${n}`), n === 0 ? fresh : [])),
    )
    run.say(`${shared.kills} kills; every payment is brought to its end`)
    const verdicts = await allOf(worlds.map(judged))
    const lost = verdicts.flatMap((verdict) => verdict.lost)
    const duplicate = verdicts.flatMap((verdict) => verdict.duplicate)
    isWhole = lost.length + duplicate.length === 0
    return {
      kills: shared.kills,
      hits: shared.hits,
      missed: [...shared.missed, ...shared.queue.flat().map(wordsOf)],
      lost,
      duplicate,
      intents: verdicts.reduce((sum, { intents }) => sum + intents, 0),
      executed: verdicts.reduce((sum, { executed }) => sum + executed, 0),
      alerts: verdicts.reduce((sum, { alerts }) => sum + alerts, 0),
    }
  } finally {
    for (const world of worlds) await world.close(!isWhole)
    if (!isWhole) run.say(`kept: ${worlds.map(({ dir }) => dir).join(", ")}`)
  }
}

/** Their values once all have ended: none is left running behind the failure of another. */
const allOf = async <A>(running: ReadonlyArray<Promise<A>>): Promise<ReadonlyArray<A>> => {
  const ends = await Promise.allSettled(running)
  for (const end of ends) if (end.status === "rejected") throw end.reason
  return Promise.all(running)
}

const judged = async (world: World) => {
  await world.rest()
  const testimony = await world.testimony()
  const { intents, executed, alerts } = testimony
  return { ...judge(testimony), intents: intents.length, executed: executed.length, alerts: alerts.raised }
}

const wordsOf = ({ point, moment }: Target): string => `${moment === "start" ? "before" : "after"} ${nameOf(point)}`

const killAll = async (world: World, shared: Shared, dice: Dice, fresh: ReadonlyArray<Target>): Promise<void> => {
  try {
    await aimAtAll(world, shared, dice, fresh)
    await killOn(world, shared, dice)
  } catch (error) {
    // The other world need not go on.
    shared.kills = triesMax * shared.run.kills
    throw error
  }
}

const isOver = ({ kills, queue, run }: Shared): boolean =>
  kills >= run.kills && (queue.length === 0 || kills >= triesMax * run.kills)

const killOn = async (world: World, shared: Shared, dice: Dice): Promise<void> => {
  while (!isOver(shared)) {
    const waiting = shared.queue.reduce((sum, group) => sum + group.length, 0)
    // A little faster than they need be, so that what is missed can be tried again.
    const left = shared.run.kills - shared.kills
    const isAimed = left <= 0 || dice.next() < (1.4 * waiting) / left
    const group = isAimed ? shared.queue.shift() : undefined
    if (group !== undefined) await aimAtAll(world, shared, dice, group)
    else await killAnywhere(world, shared, dice)
  }
}

const aimAtAll = async (world: World, shared: Shared, dice: Dice, group: ReadonlyArray<Target>): Promise<void> => {
  for (const target of group) {
    if (shared.kills >= triesMax * shared.run.kills) shared.missed.push(wordsOf(target))
    else await aimAt(world, shared, dice, target)
  }
}

const aimAt = async (world: World, shared: Shared, dice: Dice, target: Target): Promise<void> => {
  const { point, moment, misses } = target
  const { circumstance } = point
  const own = faultsFor(circumstance)
  const faults = own ?? (misses === 0 && dice.next() < 0.5 ? someFaults(dice) : [])
  const nth = misses > 1 ? 1 : 1 + dice.below(point.passes ?? 1)
  const bound = circumstance === "expiry" || circumstance === "fresh" ? boundMillisOf[circumstance] : boundMillis
  shared.kills++
  await world.arm(faults)
  const death = await world.live({
    kill: `${nameOf(point)}:${moment}:${nth}`,
    // On a busy machine a step comes later: each miss makes the next life longer.
    boundMillis: bound * (1 + misses),
    circumstance,
  })
  if (death === "failpoint") return count(shared, nameOf(point), moment)
  count(shared, "the clock", "start")
  if (misses + 1 >= missesMax) return void shared.missed.push(wordsOf(target))
  shared.queue.push([{ ...target, misses: misses + 1 }])
  if (circumstance === undefined) await world.settle(settleMillisOf(misses))
}

/** At any step, or at any moment. */
const killAnywhere = async (world: World, shared: Shared, dice: Dice): Promise<void> => {
  const isStep = dice.next() < 0.5
  const plan: LifePlan = isStep
    ? { kill: `*:${dice.next() < 0.5 ? "start" : "end"}:${1 + dice.below(1_500)}`, boundMillis }
    : { kill: undefined, killAtMillis: 200 + dice.below(3_000), boundMillis }
  shared.kills++
  await world.arm(dice.next() < 0.5 ? someFaults(dice) : [])
  const death = await world.live(plan)
  count(shared, death === "failpoint" ? "any step" : "the clock", "start")
}

const count = ({ hits, kills, run }: Shared, name: string, moment: keyof Hits): void => {
  const known = hits.get(name) ?? { start: 0, end: 0 }
  known[moment]++
  hits.set(name, known)
  if (kills % 25 === 0) run.say(`${kills} of ${run.kills}`)
}
