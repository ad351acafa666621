import { type Explained, explained } from "./explained.ts"
import { type Guard, keyOf, moneyGuards, nameOf } from "./guards.ts"
import type { Tried } from "./Mutant.ts"
import { mutantOf } from "./mechanical.ts"
import { nearFiles, reaching } from "./reaching.ts"
import { tryGuards } from "./tryGuards.ts"
import { inSimulation } from "./tryMutant.ts"

export interface MechanicalOptions {
  /** Of the simulation, for each that no test catches; 0 for none. */
  readonly seeds: number
  readonly workers: number
  /** Time of tests that one mutant may use up. */
  readonly millisMax: number
  readonly onTried: (tried: Tried) => void
}

/** Tries the mutants of some guards: by the tests that reach them, and by the simulation where none catches them. */
export const tryMechanical = async (guards: ReadonlyArray<Guard>, options: MechanicalOptions): Promise<void> => {
  if (guards.length === 0) return
  const all = moneyGuards()
  const known = await reaching(all, nearFiles(), options.workers)
  await tryGuards(guards, {
    ...options,
    all,
    reaching: known,
    onJudged: async ({ guard, catch: byTest, reached, tried, seconds }) => {
      const began = performance.now()
      const bySeed = byTest === undefined && options.seeds > 0
      const caught = bySeed ? await inSimulation(mutantOf(guard), options.seeds) : byTest
      const simulated = Math.round((performance.now() - began) / 1_000)
      const isRight = caught !== undefined
      options.onTried({
        name: nameOf(guard),
        catch: caught,
        isRight,
        seconds: seconds + simulated,
        reached,
        ran: tried,
      })
    },
  })
}

/** What is known of a mutant that may survive. */
export const explanationOf = (guard: Guard | undefined): Explained | undefined =>
  guard && explained.find((one) => one.guard === keyOf(guard))

/** Explanations of guards that are not there any more. */
export const staleExplanations = (): ReadonlyArray<Explained> => {
  const keys = new Set(moneyGuards().map(keyOf))
  return explained.filter(({ guard }) => !keys.has(guard))
}
