import { guards } from "../simulation/guards.ts"
import { planted } from "../simulation/planted.ts"
import { classics } from "./classics.ts"
import type { Mutant } from "./Mutant.ts"

/** Mistakes that somebody made or thought of. */
export const keptMutants: ReadonlyArray<Mutant> = [
  ...classics,
  ...planted.map(({ name, edits }): Mutant => ({ name, edits, tests: ["submitter"] })),
  ...guards.map(
    ({ name, edits, test, title }): Mutant => ({ name, edits, tests: [test.slice("test/".length)], title }),
  ),
]
