import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// The workers and what they start leave each other their compiled code; counting branches needs it fresh.
if (!process.argv.includes("--coverage"))
  process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url))

const cores = Math.min(2, availableParallelism())
const deep = "test/**/*.deep.test.ts"
/** Of one of the long proofs, run by hand. */
const proof = "test/**/*.proof.test.ts"
/** Run on PostgreSQL as well, but for files of SQLite. */
const contracts = ["test/store/!(schema|tryStore).test.ts"]
const ofPostgres = "test/**/*.postgres.test.ts"

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/PlainReporter.ts"],
    // One more than two cores: a test that waits for a daemon or a disk leaves its core to another.
    maxWorkers: cores + 1,
    // What one file leaves behind is seen by another sooner or later, not on the day of a release.
    sequence: { shuffle: { files: true } },
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: [deep, proof, ofPostgres],
          globalSetup: ["test/support/scratch.ts", "test/support/bundle.ts"],
          setupFiles: "test/support/fewStacks.ts",
          pool: "threads",
          isolate: false,
          // It computes more than it waits: a third worker takes from the caches of the other two.
          maxWorkers: cores,
          // Node strips the types itself: imports stay plain bindings, which run a tenth faster.
          experimental: { viteModuleRunner: false },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: [...contracts, ofPostgres],
          exclude: [deep],
          globalSetup: "test/support/startPostgres.ts",
          setupFiles: ["test/support/fewStacks.ts", "test/support/onPostgres.ts"],
          env: { COFFERER_TEST_STORE: "postgres" },
          pool: "threads",
          isolate: false,
          maxWorkers: cores,
          // After the others: a worker whose next file is of another project ends, and the next begins cold.
          sequence: { groupOrder: 1 },
          experimental: { viteModuleRunner: false },
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "proof",
          include: [proof],
          globalSetup: "test/support/startPostgres.ts",
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: "deep",
          include: [deep],
          globalSetup: ["test/support/startPostgres.ts", "test/support/bundle.ts"],
          isolate: false,
          // A third of their time is spent on waiting for daemons and clocks.
          maxWorkers: cores + 2,
          experimental: { viteModuleRunner: false },
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
    coverage: {
      provider: "v8",
      reporter: ["text"],
      // What may not have a branch that no test takes: the states, the evidence, the policy.
      include: ["src/domain/{Intent,Attempt}.ts", "src/rules/policy/Policy.ts", "src/payments/*.ts"],
      thresholds: { 100: true },
    },
  },
})
