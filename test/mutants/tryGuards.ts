import type { Guard } from "./guards.ts"
import type { Catch } from "./Mutant.ts"
import { mutantOf } from "./mechanical.ts"
import type { Reaching } from "./reaching.ts"
import { runPlan } from "./runPlan.ts"
import { type Schema, schemataOf } from "./schemata.ts"
import { inTests } from "./tryMutant.ts"

/** What the tests say of the mutant of one guard. */
export interface Judged {
  readonly guard: Guard
  readonly catch: Catch | undefined
  /** Tests that reach it, and how many of them were run with it. */
  readonly reached: number
  readonly tried: number
  readonly seconds: number
}

/** Time of tests that a mutant has used up after the first round; each later one has so many times more. */
const firstMillis = 500
const growth = 4

/** How long a test may take with a mutant, three runs, before it counts as one that does not end. */
const tryMillisMax = (millis: number) => 15_000 + 15 * millis

interface State {
  readonly guard: Guard
  /** Tests that are still to be run, in order. */
  left: ReadonlyArray<{ readonly test: string; readonly millis: number }>
  /** Test files that are run with it in a process of their own. */
  readonly cold: Set<string>
  caught: Catch | undefined
  tried: number
  usedMillis: number
  millis: number
}

const fileOf = (test: string): string => test.split(" > ")[0]!

interface Setting {
  readonly reaching: Reaching
  readonly schemata: ReadonlyArray<Schema>
  readonly workers: number
}

const catchBy = (state: State, words: string) => {
  state.caught ??= { by: "test", words }
}

/** One process: takes what it says into the states. */
const runOnce = async (
  setting: Setting,
  byNumber: ReadonlyMap<number, State>,
  due: ReadonlyMap<number, Set<string>>,
) => {
  const tries: Record<string, Array<number>> = {}
  for (const [number, tests] of due) {
    if (byNumber.get(number)!.caught !== undefined) continue
    for (const test of tests) tries[test] = [...(tries[test] ?? []), number]
  }
  const files = [...new Set(Object.keys(tries).map(fileOf))]
  const millisMaxOf = (test: string) => tryMillisMax(setting.reaching.millisOf.get(test) ?? 0)
  const { schemata, workers } = setting
  const { events, broken, output } = await runPlan({ schemata, files, tries, workers }, millisMaxOf)
  const isDone = (mutant: number, test: string, millis: number) => {
    due.get(mutant)?.delete(test)
    const state = byNumber.get(mutant)!
    state.tried++
    state.millis += millis
    return state
  }
  let count = 0
  for (const event of events) {
    if (event._tag === "Recorded" || event._tag === "Begun") continue
    count++
    const state = isDone(event.mutant, event.test, event.millis)
    if (event._tag === "Caught") catchBy(state, event.words)
    // What it left behind may be why: a process of its own decides.
    if (event._tag === "Spoiled") state.cold.add(fileOf(event.test))
  }
  if (broken !== undefined) catchBy(isDone(broken.mutant, broken.test, 0), broken.words)
  if (count > 0 || broken !== undefined) return
  // No try was made of what is left: such tests are run by a process of their own, which says when none runs there.
  if (events.length === 0 && output.includes("Error")) throw new Error(`nothing was tried: ${output}`)
  for (const [number, tests] of due) {
    for (const test of tests) byNumber.get(number)!.cold.add(fileOf(test))
    tests.clear()
  }
}

/** The tests that each mutant runs in this round. */
const dueOf = (states: ReadonlyArray<State>, untilMillis: number): ReadonlyMap<number, Set<string>> => {
  const due = new Map<number, Set<string>>()
  for (const state of states) {
    if (state.caught !== undefined) continue
    let count = 0
    for (const { millis } of state.left) {
      if (count > 0 && state.usedMillis + millis > untilMillis) break
      state.usedMillis += millis
      count++
    }
    if (count === 0) continue
    due.set(state.guard.number, new Set(state.left.slice(0, count).map(({ test }) => test)))
    state.left = state.left.slice(count)
  }
  return due
}

const judgedOf = ({ guard, caught, tried, millis }: State, reached: number): Judged => ({
  guard,
  catch: caught,
  reached,
  tried,
  seconds: Math.round(millis / 1_000),
})

const inNewProcess = ({ guard }: State, files: ReadonlySet<string>): Promise<Catch | undefined> =>
  inTests({ ...mutantOf(guard), tests: [...files].map((file) => file.slice("test/".length)) })

/**
 * Tries the mutants with the tests that reach them: in rounds, many in one process, each by its own tests until the
 * first that fails. Those that no such test catches are tried with a process of their own where a test file reaches
 * them as it is loaded.
 */
export const tryGuards = async (
  guards: ReadonlyArray<Guard>,
  setting: {
    readonly all: ReadonlyArray<Guard>
    readonly reaching: Reaching
    readonly workers: number
    /** Time of tests that one mutant may use up. */
    readonly millisMax: number
    readonly onJudged: (judged: Judged) => Promise<void>
  },
): Promise<void> => {
  const { warm, cold } = setting.reaching
  const schemata = schemataOf(setting.all)
  const reachedBy = (guard: Guard) => warm.get(guard.number)?.length ?? 0
  const states = guards.map((guard): State => {
    const left = warm.get(guard.number) ?? []
    return { guard, left, cold: new Set(cold.get(guard.number)), caught: undefined, tried: 0, usedMillis: 0, millis: 0 }
  })
  const byNumber = new Map(states.map((state) => [state.guard.number, state]))
  const judged = new Set<State>()
  const judge = async (state: State) => {
    if (judged.has(state)) return
    judged.add(state)
    await setting.onJudged(judgedOf(state, reachedBy(state.guard)))
  }
  for (let until = firstMillis; ; until = Math.min(until * growth, setting.millisMax)) {
    const due = dueOf(states, until)
    const isOpen = () => [...due].some(([number, tests]) => tests.size > 0 && !byNumber.get(number)!.caught)
    while (isOpen()) {
      await runOnce({ ...setting, schemata }, byNumber, due)
      for (const state of states) if (state.caught !== undefined) await judge(state)
    }
    if (until >= setting.millisMax) break
  }
  for (const state of states) {
    if (state.caught === undefined && state.cold.size > 0) state.caught = await inNewProcess(state, state.cold)
    await judge(state)
  }
}
