import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { haltEnds, haltReasons, remedyOf } from "../../src/domain/Halt.ts"
import { type Falsehood, falsehoods } from "../simulation/falsehoods.ts"
import type { Told } from "../support/wire.ts"
import { casesOf } from "./cases.ts"
import { documentedHalts } from "./documented.ts"
import { type LieBench, makeLieBench } from "./LieBench.ts"
import { beginnings, durations, nameOf, settings } from "./LieCase.ts"
import { LieWorld } from "./LieWorld.ts"
import { runCase } from "./runCase.ts"

const cases = casesOf(false)
const unasked = new Set(["epoch", "withdrawal", "withdrawals"])

describe("the list of lies", () => {
  it("covers each lie for each time, place and beginning", () => {
    assert.isAtLeast(cases.length, 400)
    for (const duration of durations)
      for (const setting of settings)
        for (const beginning of beginnings)
          assert.isTrue(
            cases.some((one) => one.duration === duration && one.setting === setting && one.beginning === beginning),
            `${duration}, ${setting}, ${beginning}`,
          )
    assert.strictEqual(new Set(cases.map(nameOf)).size, cases.length)
  })

  it("is about every field that the money path reads", () => {
    const fieldOf = (name: string) => name.split(": ")[0]
    const told = new Set(cases.map(({ falsehood }) => fieldOf(falsehood.name)))
    for (const { name, operation } of falsehoods) {
      if (!unasked.has(operation) && !/ X-Block-/.test(name)) assert.isTrue(told.has(fieldOf(name)), name)
    }
  })

  it("ends halts by the verbs that the page names", () => {
    for (const reason of haltReasons) {
      const documented = documentedHalts[reason]
      if (documented === undefined) continue
      assert.strictEqual(haltEnds[reason], documented.verb, reason)
      assert.include(remedyOf(reason, ""), `cofferer ${documented.verb}`)
    }
  })
})

describe("a lie", () => {
  let bench: LieBench
  beforeAll(async () => {
    bench = await makeLieBench()
  })
  afterAll(() => bench.close())

  it("changes an answer that the daemon gets", () => {
    const heard: Array<{ readonly method: string; readonly path: string; readonly told: Told }> = []
    const world = new LieWorld({
      treasury: bench.treasuries.alone,
      metrics: bench.metrics,
      dataDir: join(bench.dir, "honest"),
      lie: () => (asked, told) => {
        heard.push({ ...asked, told })
        return told
      },
      tell: () => {},
    })
    world.start()
    for (let second = 0; second < 75; second++) world.second()
    world.end()
    const isTold = ({ concerns, tell }: Falsehood) => heard.some((one) => concerns(one) && tell(one.told) !== one.told)
    const untold = cases.filter(({ falsehood }) => !isTold(falsehood)).map(nameOf)
    assert.deepStrictEqual(untold, [])
  })

  /** One of each kind, by the operation that it is about. */
  const some = [
    "submit code: 51, one answer, alone",
    "transfer answer: not found, four seconds, alone",
    "balanceChanges rows: no rows, four seconds, alone",
    "transfers answer: an error, for ever, one of three",
    "height height: 600 ahead, four seconds, alone, from the start",
  ]
  it.each(some)("is survived: %s", (name) => {
    const one = casesOf(true).find((each) => nameOf(each) === name)
    assert.isDefined(one, name)
    assert.deepStrictEqual(one && runCase(bench, one).faults, [])
  })
})
