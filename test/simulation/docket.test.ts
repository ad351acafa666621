import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { keptMutants } from "../mutants/kept.ts"
import { makeDocket, oracleNames, oracles } from "./Docket.ts"
import { makeFigures } from "./figures.ts"

const readme = readFileSync(new URL("README.md", import.meta.url), "utf8")

describe("the oracles of the simulation", () => {
  it("stand in its README, each with what must hold", () => {
    for (const [name, words] of Object.entries(oracles)) assert.include(readme, `| \`${name}\` | ${words} |`)
  })

  it("are each killed by a mistake that is kept", () => {
    const killed = new Set(keptMutants.flatMap(({ oracles = [] }) => oracles))
    assert.deepStrictEqual(
      oracleNames.filter((name) => !killed.has(name)),
      [],
    )
  })

  it("count what they could have found, and begin each violation with their name", () => {
    const docket = makeDocket()
    docket.chance("once", 2)
    docket.chance("once")
    docket.chance("policy", 0)
    docket.event("death", 4)
    docket.wrong("once", "it executed 2 times")
    assert.deepStrictEqual(docket.violations, ["once: it executed 2 times"])
    assert.deepStrictEqual([docket.chances, docket.events], [{ once: 3 }, { death: 4 }])
  })

  it("are summed over runs, those too that saw nothing", () => {
    const docket = makeDocket()
    docket.chance("floor", 7)
    docket.wrong("floor", "too little")
    const figures = makeFigures()
    const rest = { seed: 1, trace: "", intents: 0, executed: 0, byCode: 0, deaths: 0, manual: 0 }
    const { violations, chances, events } = docket
    for (let n = 0; n < 2; n++) figures.add({ ...rest, blocks: 0, statements: 0, violations, chances, events })
    assert.containSubset(figures.sums(), { seeds: 2, violations: 2, chances: { floor: 14 } })
    const lines = figures.lines().filter((line) => /^ {2}/.test(line))
    assert.lengthOf(lines, oracleNames.length)
    assert.include(lines, "          0  once")
  })
})
