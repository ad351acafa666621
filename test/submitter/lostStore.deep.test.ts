import { describe, it } from "@effect/vitest"
import { assertPaidOnce } from "./lostStore.ts"

const first = Number(process.env["COFFERER_TEST_SEED"] ?? 1)
const seeds = Array.from({ length: Number(process.env["COFFERER_TEST_ROUNDS"] ?? 8) }, (_, i) => `lost-${first + i}`)

describe("stores that are lost", () => {
  it.effect.each(seeds)("pay nothing twice, and pay what is owed: %s", assertPaidOnce)
})
