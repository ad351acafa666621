import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { HoldReason } from "../../src/domain/Decision.ts"
import { logDecisions, type RoundChange } from "../../src/engine/report.ts"
import { layer } from "../../src/telemetry/Logging.ts"
import { it } from "../support/it.ts"

/** The rule's decision about one subject, before and now. */
const change = (subject: string, [from, to]: readonly [HoldReason, HoldReason], detail: string): RoundChange => {
  const memory = {
    rule: "keep",
    subject,
    episode: 1,
    firingSince: undefined,
    observations: 0,
    lastObservation: 0n,
    state: "inactive" as const,
    reason: to,
    detail,
    reasonSince: 0,
    decidedAt: 0,
  }
  return { memory, before: { ...memory, reason: from }, intents: [], notices: [], isBroken: false }
}

/** The lines of one round of a rule with so many subjects. */
const told = Effect.fnUntraced(function* (subjects: number, changes: ReadonlyArray<RoundChange>) {
  const lines: Array<string> = []
  const destination = { write: (line: string) => void lines.push(line) }
  yield* logDecisions(changes, () => subjects).pipe(
    Effect.provide(layer({ level: "Info", format: "text", destination, startedAt: 0 })),
  )
  return lines.map((line) => line.replace(/^ *[0-9.]+ s +/, "").trimEnd())
})

const stale = "the newest final block is older than 30.0 s"
const toStale = (subject: string) => change(subject, ["in_band", "stale"], stale)

describe("what a round tells", () => {
  it.effect("is one line where all subjects of a rule share a reason", function* () {
    assert.deepStrictEqual(yield* told(2, [toStale("a/TOK"), toStale("b/TOK")]), [`hold       keep    stale: ${stale}`])
  })

  it.effect("names the accounts where it is true of some", function* () {
    assert.deepStrictEqual(yield* told(3, [toStale("a/TOK"), toStale("b/TOK")]), [
      `hold       keep    a/TOK, b/TOK: stale: ${stale}`,
    ])
    const many = ["a", "b", "c", "d", "e"].map((name) => toStale(`${name}/TOK`))
    assert.deepStrictEqual(yield* told(9, many), [`hold       keep    a/TOK, b/TOK, c/TOK and 2 more: stale: ${stale}`])
  })

  it.effect("keeps apart what differs, and says nothing of what did not change", function* () {
    const changes = [
      change("a/TOK", ["in_band", "pending"], "90 is below 100; must stay so for 3 s"),
      change("b/TOK", ["stale", "in_band"], "200 is not below 100"),
      change("c/TOK", ["stale", "stale"], stale),
    ]
    assert.deepStrictEqual(yield* told(3, changes), [
      "pending    keep    a/TOK: 90 is below 100; must stay so for 3 s",
      "hold       keep    b/TOK: in band: 200 is not below 100",
    ])
  })
})
