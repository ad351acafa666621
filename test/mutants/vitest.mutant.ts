import { readFileSync } from "node:fs"
import type { Edit } from "../simulation/planted.ts"
import { planter } from "../simulation/planter.ts"
import { root } from "../support/Cofferer.ts"

/** What MUTANT names: a file with the edits, the tests and a part of their title. */
const { edits, include, title } = JSON.parse(readFileSync(process.env["MUTANT"] ?? "", "utf8")) as {
  readonly edits: ReadonlyArray<Edit>
  readonly include: ReadonlyArray<string>
  readonly title?: string
}

const onPostgres = {
  globalSetup: "test/support/startPostgres.ts",
  setupFiles: "test/support/onPostgres.ts",
  env: { COFFERER_TEST_STORE: "postgres" },
}

export default {
  root,
  plugins: [planter(edits)],
  test: {
    // What was transformed for another mistake, or for none, must not be taken for this one.
    fsModuleCache: false,
    include: [...include],
    ...(include.some((path) => path.includes(".postgres.")) ? onPostgres : {}),
    ...(title === undefined ? {} : { testNamePattern: title }),
    bail: 1,
    maxWorkers: 2,
    testTimeout: 60_000,
  },
}
