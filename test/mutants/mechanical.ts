import { type Guard, moneyGuards, nameOf } from "./guards.ts"
import type { Mutant } from "./Mutant.ts"

/** A mutant that negates one guard: its tests are those that reach it. */
export interface MechanicalMutant extends Mutant {
  readonly guard: Guard
}

export const mutantOf = (guard: Guard): MechanicalMutant => {
  const { path, at, source, instead } = guard
  const edits = [{ file: path.slice("src/".length), at, source, instead }]
  return { name: nameOf(guard), edits, tests: [], guard }
}

/** Every guard of the money path, negated mechanically, in the order of the files. */
export const mechanicalMutants = (): ReadonlyArray<MechanicalMutant> => moneyGuards().map(mutantOf)
