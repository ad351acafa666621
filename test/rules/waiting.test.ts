import { assert, describe, it } from "@effect/vitest"
import { afterUnpaid, decisionValidMillis, judgeWait, type Standing, waitAlertMillis } from "../../src/rules/waiting.ts"

const hour = 3_600_000
const decided = Date.parse("2026-11-22T09:00:10Z")
const planned = (missed: "once" | "skip"): Standing => ({
  _tag: "Planned",
  at: Date.parse("2026-11-22T09:00:00Z"),
  missed,
  lateMillis: 2 * hour,
})

const rows: ReadonlyArray<{
  readonly title: string
  readonly standing: Standing
  readonly after: number
  readonly needsApproval?: true
  readonly says: string | RegExp
}> = [
  {
    title: "a level's within its time",
    standing: { _tag: "Level", together: false },
    after: decisionValidMillis,
    says: "Waits never",
  },
  {
    title: "a level's after it",
    standing: { _tag: "Level", together: false },
    after: decisionValidMillis + 1,
    says: "DecidedAnew",
  },
  {
    title: "a level's that people approved",
    standing: { _tag: "Level", together: false },
    after: hour,
    needsApproval: true,
    says: "Waits never",
  },
  {
    title: "a part of what is begun",
    standing: { _tag: "Part" },
    after: 9_000 * hour,
    says: `Waits ${waitAlertMillis}`,
  },
  { title: "a person's", standing: { _tag: "Submitted" }, after: 9_000 * hour, says: `Waits ${waitAlertMillis}` },
  {
    title: "a planned one, however late",
    standing: planned("once"),
    after: 9_000 * hour,
    says: `Waits ${2 * hour - 10_000}`,
  },
  { title: "a planned one that may be late", standing: planned("skip"), after: 2 * hour - 10_000, says: "Waits never" },
  {
    title: "one that is too late",
    standing: planned("skip"),
    after: 2 * hour - 9_999,
    says: /^Over .*09:00Z.*missed: skip/,
  },
  {
    title: "a late one that people approved",
    standing: planned("skip"),
    after: 3 * hour,
    needsApproval: true,
    says: "Waits never",
  },
  {
    title: "one that is decided long after its time",
    standing: { ...planned("once"), at: decided - 9 * hour } as Standing,
    after: 1_000,
    says: "Waits 60000",
  },
  {
    title: "one without a rule",
    standing: { _tag: "Gone" },
    after: decisionValidMillis + 1,
    says: /^Over no rule in force/,
  },
  {
    title: "one without a rule that people were asked to approve",
    standing: { _tag: "Gone" },
    after: decisionValidMillis + 1,
    needsApproval: true,
    says: /^Over no rule in force/,
  },
]

describe("a payment that waits for its signature", () => {
  it.each(rows)("$title", ({ standing, after, needsApproval = false, says }) => {
    const wait = judgeWait(standing, {
      now: decided + after,
      since: decided,
      needsApproval,
    })
    const more = wait._tag === "Over" ? wait.why : wait._tag === "Waits" ? wait.alertAt : undefined
    const tell = typeof more === "number" ? more - decided : more
    const words = wait._tag === "DecidedAnew" ? wait._tag : `${wait._tag} ${tell ?? "never"}`
    if (typeof says === "string") assert.strictEqual(words, says)
    else assert.match(words, says)
  })

  it("is decided anew by rules that look at balances alone", () => {
    assert.strictEqual(afterUnpaid({ _tag: "Level", together: false }), "the rule decides again")
    for (const standing of [planned("once"), { _tag: "Part" }, { _tag: "Submitted" }, { _tag: "Gone" }] as const) {
      assert.include(afterUnpaid(standing), "cofferer submit")
    }
  })
})
