import { broken, isSettled } from "./judge.ts"
import { essence, type Rules, start, stepsOf, type World } from "./model.ts"

/** What an exploration found. */
export interface Explored {
  readonly worlds: number
  readonly steps: number
  /** Attempts in the world that has the most. */
  readonly attemptsMost: number
  /** Worlds in which the intent is settled. */
  readonly settled: number
  /** Worlds from which no way leads to a settled one. */
  readonly stuck: number
  /** What broke first, and the shortest way to it. */
  readonly violation: { readonly what: string; readonly trace: ReadonlyArray<string> } | undefined
}

const keyOf = (world: World): string =>
  `${world.intent}|${world.awaits.join()}|${world.tries
    .map((t) => [t.state, t.age, t.sent, t.refused, t.waiting, t.executed ?? "", t.failed, t.absent ?? ""].join())
    .join(";")}`

interface Seen {
  readonly world: World
  readonly from: number
  readonly step: string
}

/** Visits every world that can be reached, nearest first, and stops at the first that must not be. */
export const explore = (rules: Rules): Explored => {
  const index = new Map<string, number>([[keyOf(start), 0]])
  const seen: Array<Seen> = [{ world: start, from: -1, step: "" }]
  const before: Array<Array<number>> = [[]]
  let steps = 0
  const traceTo = (at: number): ReadonlyArray<string> => {
    const trace: Array<string> = []
    for (let i = at; i > 0; i = seen[i]!.from) trace.unshift(seen[i]!.step)
    return trace
  }
  const result = (violation: Explored["violation"]): Explored => ({
    worlds: seen.length,
    steps,
    attemptsMost: seen.reduce((most, { world }) => Math.max(most, world.tries.length), 0),
    settled: seen.filter(({ world }) => isSettled(world)).length,
    stuck: violation === undefined ? countStuck(seen, before) : 0,
    violation,
  })
  for (let at = 0; at < seen.length; at++) {
    const { world } = seen[at]!
    let next: ReturnType<typeof stepsOf>
    try {
      next = stepsOf(world, rules)
    } catch (error) {
      return result({ what: error instanceof Error ? error.message : String(error), trace: traceTo(at) })
    }
    for (const { name, world: exact } of next) {
      steps++
      const reached = essence(exact)
      const key = keyOf(reached)
      const known = index.get(key)
      if (known !== undefined) {
        before[known]!.push(at)
        continue
      }
      index.set(key, seen.length)
      seen.push({ world: reached, from: at, step: name })
      before.push([at])
      const what = broken(reached)
      if (what !== undefined) return result({ what, trace: traceTo(seen.length - 1) })
    }
  }
  return result(undefined)
}

const countStuck = (seen: ReadonlyArray<Seen>, before: ReadonlyArray<ReadonlyArray<number>>): number => {
  const reaches = new Uint8Array(seen.length)
  const queue = seen.flatMap(({ world }, i) => (isSettled(world) ? [i] : []))
  for (const i of queue) reaches[i] = 1
  for (let i = queue.pop(); i !== undefined; i = queue.pop()) {
    for (const earlier of before[i]!) {
      if (reaches[earlier] === 1) continue
      reaches[earlier] = 1
      queue.push(earlier)
    }
  }
  return reaches.reduce((stuck, value) => stuck + (value === 0 ? 1 : 0), 0)
}
