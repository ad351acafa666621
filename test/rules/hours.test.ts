import { assert, describe, it } from "@effect/vitest"
import { type Hours, hoursAt, openWindow } from "../../src/rules/Schedule.ts"

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
