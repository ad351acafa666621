import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/PlainReporter.ts"],
    include: ["test/**/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 90_000,
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
