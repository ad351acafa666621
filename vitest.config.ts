import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// The workers and what they start leave each other their compiled code; counting branches needs it fresh.
if (!process.argv.includes("--coverage"))
  process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url))

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/PlainReporter.ts"],
    include: ["test/**/*.test.ts"],
    // Far beyond what any test needs: a machine under load may take ten times as long, and is no failure.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    coverage: {
      provider: "v8",
      reporter: ["text"],
      // What may not have a branch that no test takes: the states, the evidence, the policy.
      include: [
        "src/domain/{Intent,Attempt}.ts",
        "src/rules/Policy.ts",
        "src/submitter/{evidence,classify,schedule}.ts",
      ],
      thresholds: { 100: true },
    },
  },
})
