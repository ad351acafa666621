import { assert, describe, it } from "vitest"
import { judge, type Testimony } from "./judge.ts"

const whole: Testimony = {
  intents: [
    { id: "paid", state: "confirmed", detail: "" },
    { id: "dropped", state: "abandoned", detail: "" },
  ],
  attempts: [
    { intentId: "paid", transferId: "p1" },
    { intentId: "paid", transferId: "p2" },
    { intentId: "dropped", transferId: "d1" },
  ],
  decided: new Set(["paid", "dropped"]),
  told: new Set(["paid"]),
  executed: ["p2"],
  halts: [],
  alerts: { raised: 7, wrong: [] },
  broken: undefined,
}

const counts = (testimony: Partial<Testimony>) => {
  const { lost, duplicate } = judge({ ...whole, ...testimony })
  return { lost: lost.length, duplicate: duplicate.length }
}

describe("the judge of a crash run", () => {
  it.each<[string, Partial<Testimony>, number, number]>([
    ["a run in which each payment was made once or not at all", {}, 0, 0],
    ["a payment made by two of its attempts", { executed: ["p1", "p2"] }, 0, 1],
    ["a payment made twice by one attempt", { executed: ["p2", "p2"] }, 0, 1],
    ["a payment that is said to be dropped and was made", { executed: ["p2", "d1"] }, 0, 1],
    ["a payment that is said to be made and was not", { executed: [] }, 1, 0],
    ["a payment that nobody knows", { executed: ["p2", "x1"] }, 1, 0],
    ["a decision that the journal holds and the store does not", { decided: new Set(["paid", "dropped", "x"]) }, 1, 0],
    ["a decision that was told and is gone", { told: new Set(["x"]) }, 1, 0],
    ["a payment that no journal holds", { decided: new Set(["paid"]) }, 1, 0],
    ["a treasury that halted", { halts: ["invariant"] }, 1, 0],
    ["an alert that nobody took", { alerts: { raised: 7, wrong: ["alert 7"] } }, 1, 0],
    ["a broken journal", { broken: "entry 7 is missing" }, 1, 0],
    [
      "a payment without an end",
      {
        intents: [...whole.intents, { id: "open", state: "manual", detail: "" }],
        decided: new Set(["paid", "dropped", "open"]),
      },
      1,
      0,
    ],
  ])("judges %s", (_, testimony, lost, duplicate) => {
    assert.deepStrictEqual(counts(testimony), { lost, duplicate })
  })
})
