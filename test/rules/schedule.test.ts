import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { isPaying } from "../../src/rules/Rule.ts"
import { dueAfter, plannedAfter, plannedUntil, type Schedule, timesAfter } from "../../src/rules/Schedule.ts"
import { it } from "../support/it.ts"
import { type Fields, treasuryFrom } from "../support/treasury.ts"

/** The plan as a treasury file spells it. */
const scheduleOf = Effect.fnUntraced(function* (cron: string, more: Fields = {}) {
  const { rules } = yield* treasuryFrom({
    name: "plan",
    mode: "observe",
    network: { chainId: "plan-1", gateways: { main: "https://a.gateway.example" } },
    assets: { TOK: { id: "c".repeat(64), decimals: 2 } },
    parties: {
      reserve: { publicKey: "1".repeat(64), signer: { sandbox: "reserve" } },
      ops: { publicKey: "6".repeat(64) },
    },
    rules: [
      {
        name: "wage",
        payout: { from: "reserve", to: "ops", asset: "TOK", amount: "1" },
        schedule: { cron, ...more },
      },
    ],
    policy: { allow: [] },
  })
  const rule = rules.filter(isPaying)[0]
  if (rule?.kind !== "payout") return assert.fail("no payout")
  return rule.schedule
})

const text = (millis: number): string => new Date(millis).toISOString().slice(0, 16)

const first = (schedule: Schedule, from: string, count: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const at of timesAfter(schedule, Date.parse(from))) {
    found.push(text(at))
    if (found.length === count) break
  }
  return found
}

describe("the last day of a month", () => {
  it.effect("is another number in each month, and another February in leap years", function* () {
    const last = yield* scheduleOf("0 9 last * *")
    assert.deepStrictEqual(
      first(last, "2023-12-31T09:00Z", 14).map((at) => at.slice(0, 10)),
      [
        ...["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-05-31", "2024-06-30", "2024-07-31"],
        ...["2024-08-31", "2024-09-30", "2024-10-31", "2024-11-30", "2024-12-31", "2025-01-31", "2025-02-28"],
      ],
    )
  })

  it.effect("is the last in the schedule's zone, also on clock changes", function* () {
    const zurich = yield* scheduleOf("30 2 last 3 *", { location: "Europe/Zurich" })
    // On 2024-03-31 no clock of Zurich shows half past two: it is an hour later.
    assert.deepStrictEqual(first(zurich, "2023-01-01T00:00Z", 3), [
      "2023-03-31T00:30",
      "2024-03-31T01:30",
      "2025-03-31T00:30",
    ])
    const kiritimati = yield* scheduleOf("0 1 last 2 *", { location: "Pacific/Kiritimati" })
    assert.deepStrictEqual(first(kiritimati, "2023-01-01T00:00Z", 2), ["2023-02-27T11:00", "2024-02-28T11:00"])
  })

  it.effect("stands beside other days, and within months that are named", function* () {
    const twice = yield* scheduleOf("0 9 15,last 1-3 *")
    assert.deepStrictEqual(
      first(twice, "2024-01-01T00:00Z", 7).map((at) => at.slice(5, 10)),
      ["01-15", "01-31", "02-15", "02-29", "03-15", "03-31", "01-15"],
    )
  })

  it.effect("is found in both directions at any time", function* () {
    const last = yield* scheduleOf("0 */8 last * *", { location: "America/New_York" })
    const all: Array<number> = []
    for (const at of timesAfter(last, Date.parse("2023-12-01T00:00Z"))) {
      if (at > Date.parse("2025-04-01T00:00Z")) break
      all.push(at)
    }
    assert.lengthOf(all, 48)
    for (let now = Date.parse("2024-01-01T12:00Z"); now < Date.parse("2025-03-01T00:00Z"); now += 7_777_777) {
      assert.strictEqual(text(plannedUntil(last, now)), text(all.findLast((at) => at <= now) ?? 0))
      assert.strictEqual(text(plannedAfter(last, now)), text(all.find((at) => at > now) ?? 0))
    }
  })
})

const rows: ReadonlyArray<{
  readonly title: string
  readonly missed: "once" | "skip"
  readonly late?: string
  readonly done: string
  readonly now: string
  readonly pays: string | undefined
  readonly missedTimes?: readonly [string, string]
}> = [
  { title: "once, none missed", missed: "once", done: "08:00", now: "08:30", pays: undefined },
  { title: "once, at its time", missed: "once", done: "08:00", now: "09:00", pays: "09:00" },
  { title: "once, several missed", missed: "once", done: "08:00", now: "12:10", pays: "12:00" },
  { title: "skip, at its time", missed: "skip", done: "08:00", now: "09:00", pays: "09:00" },
  { title: "skip, exactly as late as may be", missed: "skip", done: "08:00", now: "10:00", pays: "09:00" },
  {
    title: "skip, a minute too late",
    missed: "skip",
    done: "08:00",
    now: "10:01",
    pays: "10:00",
    missedTimes: ["09:00", "09:00"],
  },
  {
    title: "skip, long away",
    missed: "skip",
    late: "10m",
    done: "08:00",
    now: "12:30",
    pays: undefined,
    missedTimes: ["09:00", "12:00"],
  },
  {
    title: "skip with much time, the oldest first",
    missed: "skip",
    late: "6h",
    done: "08:00",
    now: "12:30",
    pays: "09:00",
  },
  {
    title: "skip with less",
    missed: "skip",
    late: "2h",
    done: "08:00",
    now: "12:30",
    pays: "11:00",
    missedTimes: ["09:00", "10:00"],
  },
]

describe("what is due of a plan", () => {
  it.effect.each(rows)("$title", function* ({ missed, late = "1h", done, now, pays, missedTimes }) {
    const schedule = yield* scheduleOf("0 * * * *", { missed, late })
    const at = (clock: string) => Date.parse(`2026-11-22T${clock}Z`)
    const due = dueAfter(schedule, at(done), at(now))
    assert.deepStrictEqual(
      {
        pays: due.planned === undefined ? undefined : text(due.planned).slice(11),
        missedTimes: due.missedTimes && [due.missedTimes.first, due.missedTimes.last].map((one) => text(one).slice(11)),
      },
      { pays, missedTimes: missedTimes === undefined ? undefined : [...missedTimes] },
    )
  })
})
