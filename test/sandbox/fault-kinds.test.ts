import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type FaultKind, faultKinds } from "../../src/sandbox/Faults.ts"
import { scenarioText, withSandbox } from "../support/TestSandbox.ts"
import { answers } from "./kinds/answers.ts"
import type { Seen } from "./kinds/Seen.ts"
import { submissions } from "./kinds/submissions.ts"
import { worlds } from "./kinds/worlds.ts"

/** Every kind is seen happening over HTTP: a new one without a test does not compile. */
const seen = { ...submissions, ...answers, ...worlds } satisfies Record<FaultKind, Seen>

const text = scenarioText(
  {},
  { deposits: Array.from({ length: 2 }, () => ({ party: "eve", asset: "USDT", amount: "1_000" })) },
)

describe("a fault of kind", () => {
  it("any is in one of the tables alone", () => {
    const rows = [submissions, answers, worlds].flatMap((table) => Object.keys(table))
    assert.deepStrictEqual(rows.sort(), [...faultKinds].sort())
  })

  for (const kind of faultKinds) {
    const { says, see } = seen[kind]
    it.effect(`${kind} ${says}`, () =>
      Effect.andThen(TestClock.setTime(Date.UTC(2026, 0, 1)), withSandbox({ text }, see)),
    )
  }
})
