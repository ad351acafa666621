import type { Oracle } from "../simulation/Docket.ts"
import type { Edit } from "../simulation/planted.ts"

/** A mistake in the product's source, and who may catch it. */
export interface Mutant {
  readonly name: string
  readonly edits: ReadonlyArray<Edit>
  /** Test files that are tried: paths or folders below test/. */
  readonly tests: ReadonlyArray<string>
  /** Part of the title of the tests that are run; all where it is missing. */
  readonly title?: string
  /** Who must catch it: nobody else is tried then. Missing: a test, or else the simulation. */
  readonly by?: "simulation" | "test"
  /** Oracles of the simulation that may catch it, where a seed does: by another it is caught wrongly. */
  readonly oracles?: ReadonlyArray<Oracle>
}

/** Who caught a mistake: a seed with its violation, or a test with its title. */
export interface Catch {
  readonly by: "simulation" | "test"
  readonly words: string
}

/** What came of one mistake, as a line of the table. */
export interface Tried {
  readonly name: string
  readonly catch: Catch | undefined
  /** Caught, and by whom it must be. */
  readonly isRight: boolean
  readonly seconds: number
  /** Of a mechanical one: near tests that reach it, and how many of them were run with it. */
  readonly reached?: number
  readonly ran?: number
}
