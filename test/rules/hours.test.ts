import { assert, describe, it } from "@effect/vitest"
import { type Hours, hoursAt, isOpen, openWindow } from "../../src/rules/Schedule.ts"
import { makeDice } from "../support/Dice.ts"

const minutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
const hours = (weekdays: ReadonlyArray<number>, from: string, until: string): Hours => ({
  name: "desk",
  weekdays: new Set(weekdays),
  spans: [{ from: minutes(from), until: minutes(until) }],
  location: "Europe/Zurich",
})
const iso = (millis: number): string => new Date(millis).toISOString().slice(0, 16)

describe("opening hours", () => {
  const desk = hours([1, 2, 3, 4, 5], "08:00", "18:00")

  it.each([
    ["2026-03-27T06:59:59Z", false, "2026-03-27T07:00"],
    ["2026-03-27T07:00:00Z", true, "2026-03-27T17:00"],
    ["2026-03-27T17:00:00Z", false, "2026-03-30T06:00"],
    ["2026-03-30T06:00:00Z", true, "2026-03-30T16:00"],
    ["2026-10-23T16:00:00Z", false, "2026-10-26T07:00"],
  ])("at %s are open: %s, until %s, whatever the clocks do between", (at, open, until) => {
    const found = hoursAt(desk, Date.parse(at))
    assert.deepStrictEqual([found.open, iso(found.until)], [open, until])
  })

  it("reach into the next day where they end before they begin", () => {
    const night = hours([5], "22:00", "06:00")
    const open = (at: string) => hoursAt(night, Date.parse(at)).open
    assert.deepStrictEqual(
      ["2026-11-20T20:59:00Z", "2026-11-20T21:00:00Z", "2026-11-21T04:59:00Z", "2026-11-21T05:00:00Z"].map(open),
      [false, true, true, false],
    )
  })

  it.each(["Europe/Zurich", "Asia/Kathmandu", "Pacific/Chatham", "Australia/Lord_Howe", "UTC"])(
    "in %s change at the minute that is told, and never before",
    (location) => {
      const dice = makeDice(location)
      for (let round = 0; round < 12; round++) {
        const edge = () => dice.below(24 * 60)
        const spans = Array.from({ length: 1 + dice.below(2) }, () => ({ from: edge(), until: edge() }))
        const own = { name: "desk", weekdays: new Set([1, 2, dice.below(7)]), spans, location }
        // Days around which one of these zones changes its clocks, and others.
        const at =
          dice.pick([Date.UTC(2026, 2, 29), Date.UTC(2026, 9, 3), Date.UTC(2026, 3, 4)])! + dice.below(86_400_000)
        const { open, until } = hoursAt(own, at)
        const told = JSON.stringify({ own: { ...own, weekdays: [...own.weekdays] }, at })
        const isSame = (millis: number) => isOpen(own, millis) === open
        assert.isTrue(until - at > 7 * 86_400_000 || !isSame(until), told)
        assert.isTrue(isSame(until - 1), told)
        for (let i = 0; i < 40; i++) assert.isTrue(isSame(at + dice.below(until - at)), told)
      }
    },
  )

  it("may never open", () => {
    const found = hoursAt(hours([], "08:00", "18:00"), Date.parse("2026-01-01T00:00:00Z"))
    assert.deepStrictEqual([found.open, iso(found.until)], [false, "2026-01-09T00:00"])
  })
})

describe("planned windows", () => {
  it("include their beginning and exclude their end; the last one is named", () => {
    const windows = [
      { name: "short", from: 10, until: 20 },
      { name: "long", from: 15, until: 30 },
    ]
    assert.deepStrictEqual(
      [9, 10, 15, 20, 30].map((at) => openWindow(windows, at)?.name),
      [undefined, "short", "long", "long", undefined],
    )
  })
})
