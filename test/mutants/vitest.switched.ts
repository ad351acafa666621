import { root } from "../support/Cofferer.ts"
import { readPlan } from "./Plan.ts"

const { schemata, files, workers } = readPlan()
const byPath = new Map(schemata.map((schema) => [`${root}${schema.path}`, schema]))

/** Loads the source that holds all mutants. One that is another source by now ends the run: nothing was tried. */
const switching = {
  name: "switching",
  enforce: "pre" as const,
  transform: (code: string, id: string): string | undefined => {
    const schema = byPath.get(id.split("?")[0]!)
    if (schema !== undefined && schema.before !== code) throw new Error(`${schema.path} holds something else at load`)
    return schema?.after
  },
}

export default {
  root,
  plugins: [switching],
  test: {
    runner: "./test/mutants/MutantRunner.ts",
    // What was transformed without mutants must not be taken for this.
    fsModuleCache: false,
    include: files,
    // Modules are loaded once for all files; each run of a test is proved by one without the mutant.
    isolate: false,
    maxWorkers: workers,
    // Who hangs is ended from outside.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
}
