import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/PlainReporter.ts"],
    include: ["test/**/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 90_000,
    maxWorkers: 2,
  },
})
