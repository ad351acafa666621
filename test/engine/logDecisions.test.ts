import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { HoldReason } from "../../src/domain/Decision.ts"
import { logDecisions, type RoundChange } from "../../src/engine/report.ts"
import { judgeSubject } from "../../src/rules/checks/decide.ts"
import type { Snapshot } from "../../src/rules/Snapshot.ts"
import { subjectsOf } from "../../src/rules/Subject.ts"
import { subjectFacts } from "../../src/rules/SubjectFacts.ts"
import { layerLogging } from "../../src/telemetry/Logging.ts"
import { it } from "../support/it.ts"
import { calmSnapshot, plainParty, plainRule } from "../support/Rules.ts"

const now = 1_800_000_000_000
const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 2 }
const [reserve, hot] = [plainParty("reserve"), plainParty("hot")]
const [subject] = subjectsOf({
  ...{ ...plainRule, name: "keep", forMillis: 3_000, kind: "topUp", from: reserve },
  levels: [{ party: hot, asset, balance: "free", trigger: baseUnits(1_000_000n), target: baseUnits(2_500_000n) }],
})
const snapshot: Snapshot = {
  ...{ ...calmSnapshot, now, asOf: BigInt(now) * 1_000_000n, maxAgeMillis: 30_000 },
  balance: (key) => (key === hot.publicKey ? 879_000n : 9_000_000n),
  ...{ listed: undefined, parameters: undefined },
  policy: { hash: "", digest: "", maxFee: { numerator: 0n, denominator: 1n }, lines: [] },
}
/** The account is below its trigger since now, and must stay so. */
const facts = subjectFacts(subject!, snapshot, undefined)

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
  return { facts, memory, before: { ...memory, reason: from }, intents: [], notices: [], isBroken: false }
}

/** The lines of one round of a rule with so many subjects. */
const written = Effect.fnUntraced(function* (
  format: "json" | "text",
  subjects: number,
  changes: ReadonlyArray<RoundChange>,
) {
  const lines: Array<string> = []
  const destination = { write: (line: string) => void lines.push(line) }
  yield* logDecisions(changes, () => subjects).pipe(
    Effect.provide(layerLogging({ level: "Info", format, destination, startedAt: 0 })),
  )
  return lines
})

const told = (subjects: number, changes: ReadonlyArray<RoundChange>) =>
  Effect.map(written("text", subjects, changes), (lines) =>
    lines.map((line) => line.replace(/^ *[0-9.]+ s +/, "").trimEnd()),
  )

const stale = "the newest final block is older than 30.0 s"
const toStale = (subject: string) => change(subject, ["in_band", "stale"], stale)

describe("what a round tells", () => {
  it.effect("is one line where all subjects of a rule share a reason", function* () {
    assert.deepStrictEqual(yield* told(2, [toStale("a/TOK"), toStale("b/TOK")]), [`hold       keep    stale, ${stale}`])
  })

  it.effect("names the accounts where it is true of some", function* () {
    assert.deepStrictEqual(yield* told(3, [toStale("a/TOK"), toStale("b/TOK")]), [
      `hold       keep    a/TOK, b/TOK: stale, ${stale}`,
    ])
    const many = ["a", "b", "c", "d", "e"].map((name) => toStale(`${name}/TOK`))
    assert.deepStrictEqual(yield* told(9, many), [`hold       keep    a/TOK, b/TOK, c/TOK and 2 more: stale, ${stale}`])
  })

  it.effect("keeps apart what differs, and says nothing of what did not change", function* () {
    const changes = [
      change("a/TOK", ["in_band", "pending"], "90 is below 100; must stay so for 3 s"),
      change("b/TOK", ["stale", "in_band"], "200 is not below 100"),
      change("c/TOK", ["stale", "stale"], stale),
    ]
    assert.deepStrictEqual(yield* told(3, changes), [
      "pending    keep    a/TOK: 90 is below 100; must stay so for 3 s",
      "idle       keep    b/TOK: has nothing to do: 200 is not below 100",
    ])
  })

  it.effect("has the numbers of its sentence as fields in JSON", function* () {
    const { decision } = judgeSubject(facts)
    const lines = yield* written("json", 1, [
      change("hot/TOK", ["in_band", "pending"], decision.detail),
      change("hot/TOK", ["in_band", "stale"], stale),
    ])
    const [pending, old] = lines.map(
      (line) =>
        JSON.parse(line) as { until?: string; seconds?: number; inputs?: ReadonlyArray<Record<string, unknown>> },
    )
    assert.include(decision.detail, "8,790.00 is below 10,000")
    assert.strictEqual(pending?.until, new Date(now + 3_000).toISOString())
    const { subject: name, asset: symbol, trigger, least, accounts, wanted, firing } = pending?.inputs?.[0] ?? {}
    assert.deepStrictEqual(
      { name, symbol, trigger, least, accounts, wanted, firing },
      {
        ...{ name: "hot/TOK", symbol: "TOK", trigger: "10000", least: "0.01" },
        accounts: [
          { account: "hot/TOK", role: "watched", balance: "8790.00", rehearsed: null, reserved: "0.00", floor: "0" },
          { account: "reserve/TOK", role: "pays", balance: "90000.00", rehearsed: null, reserved: "0.00", floor: "0" },
        ],
        wanted: [{ from: "reserve", to: "hot", amount: "16210.00", spendable: "90000.00" }],
        firing: { since: new Date(now).toISOString(), observations: 1 },
      },
    )
    assert.strictEqual(old?.seconds, 30)
    assert.notProperty(old, "inputs", "what holds every rule alike is not of one account")
  })
})
