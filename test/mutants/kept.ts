import { guards } from "../simulation/guards.ts"
import { planted } from "../simulation/planted.ts"
import { classics } from "./classics.ts"
import { leases } from "./leases.ts"
import type { Mutant } from "./Mutant.ts"
import { worlds } from "./worlds.ts"

/** Mistakes that somebody made or thought of. */
export const keptMutants: ReadonlyArray<Mutant> = [
  ...classics,
  ...leases,
  ...planted.map(({ name, edits, oracles }): Mutant => ({ name, edits, by: "simulation", oracles, tests: [] })),
  ...worlds,
  ...guards.map(
    ({ name, edits, test, title }): Mutant => ({ name, edits, by: "test", tests: [test.slice("test/".length)], title }),
  ),
]
