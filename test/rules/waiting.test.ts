import { assert, describe, it } from "@effect/vitest"
import { afterUnpaid, type Backing, decisionValidMillis, judgeWait, waitAlertMillis } from "../../src/rules/waiting.ts"

const hour = 3_600_000
const decided = Date.parse("2026-11-22T09:00:10Z")
const planned = (missed: "once" | "skip"): Backing => ({
  _tag: "Planned",
  at: Date.parse("2026-11-22T09:00:00Z"),
  missed,
  lateMillis: 2 * hour,
})

const rows: ReadonlyArray<{
  readonly title: string
  readonly backing: Backing
  readonly after: number
  readonly needsApproval?: true
  readonly says: string | RegExp
}> = [
  {
    title: "a level's within its time",
    backing: { _tag: "Level", together: false },
    after: decisionValidMillis,
    says: "Waits never",
  },
  {
    title: "a level's after it",
    backing: { _tag: "Level", together: false },
    after: decisionValidMillis + 1,
    says: "DecidedAnew",
  },
  {
    title: "a level's that people approved",
    backing: { _tag: "Level", together: false },
    after: hour,
    needsApproval: true,
    says: "Waits never",
  },
  {
    title: "a part of what is begun",
    backing: { _tag: "Part" },
    after: 9_000 * hour,
    says: `Waits ${waitAlertMillis}`,
  },
  { title: "a person's", backing: { _tag: "Submitted" }, after: 9_000 * hour, says: `Waits ${waitAlertMillis}` },
  {
    title: "a planned one, however late",
    backing: planned("once"),
    after: 9_000 * hour,
    says: `Waits ${2 * hour - 10_000}`,
  },
  { title: "a planned one that may be late", backing: planned("skip"), after: 2 * hour - 10_000, says: "Waits never" },
  {
    title: "one that is too late",
    backing: planned("skip"),
    after: 2 * hour - 9_999,
    says: /^Over .*09:00Z.*missed: skip/,
  },
  {
    title: "a late one that people approved",
    backing: planned("skip"),
    after: 3 * hour,
    needsApproval: true,
    says: "Waits never",
  },
  {
    title: "one that is decided long after its time",
    backing: { ...planned("once"), at: decided - 9 * hour } as Backing,
    after: 1_000,
    says: "Waits 60000",
  },
  {
    title: "one without a rule",
    backing: { _tag: "Gone" },
    after: decisionValidMillis + 1,
    says: /^Over no rule in force/,
  },
  {
    title: "one without a rule that people were asked to approve",
    backing: { _tag: "Gone" },
    after: decisionValidMillis + 1,
    needsApproval: true,
    says: /^Over no rule in force/,
  },
]

describe("a payment that waits for its signature", () => {
  it.each(rows)("$title", ({ backing, after, needsApproval = false, says }) => {
    const wait = judgeWait(backing, {
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
    for (const backing of [planned("once"), { _tag: "Part" }, { _tag: "Submitted" }, { _tag: "Gone" }] as const) {
      assert.include(afterUnpaid(backing), "cofferer submit")
    }
  })
})
