import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { parseCode, root } from "../tidy/Source.ts"
import { explained } from "./explained.ts"
import { type Guard, guardsIn, keyOf, moneyGuards } from "./guards.ts"
import type { Event } from "./Plan.ts"
import { runPlan } from "./runPlan.ts"
import { schemataOf, switched } from "./schemata.ts"

const path = "test/mutants/example/guarded.ts"
const files = ["test/mutants/example/guarded.cases.ts"]
const text = readFileSync(`${root}${path}`, "utf8")
const guards = guardsIn(path, text, parseCode(path, text).tree).map((guard, i): Guard => ({ ...guard, number: i + 1 }))
const numberOf = (words: string) => guards.find((guard) => guard.text.startsWith(words))!.number
const [odd, needless, unreached, endless, and, always, leaves, asked] = [
  numberOf("if (n % 2 !== 0)"),
  numberOf("if (n === 0)"),
  numberOf("if (n === 0) (2)"),
  numberOf("if (n > 0)"),
  numberOf("AND ${"),
  numberOf("AND ${ (2)"),
  numberOf("if (n < 0)"),
  numberOf("if ((yield"),
]
const schemata = schemataOf(guards)
const short = (test: string) => test.split(" > ").at(-1)!

const said = <Tag extends Event["_tag"]>(events: ReadonlyArray<Event>, tag: Tag) =>
  events.filter((event): event is Event & { readonly _tag: Tag } => event._tag === tag)

describe("mutants that are switched", () => {
  it("are off unless one is on, and what each test reaches is noted", async () => {
    const { events } = await runPlan({ schemata, files, workers: 1 })
    const recorded = said(events, "Recorded")
    assert.deepStrictEqual(
      recorded.map(({ test, passed, repeats, reached }) => [short(test), passed, repeats, reached]),
      [
        ["halves", true, true, [[odd, 3]]],
        ["doubles", true, true, [[needless, 3]]],
        ["waits", true, true, [[endless, 1]]],
        [
          "lies between",
          true,
          true,
          [
            [and, 1],
            [always, 1],
          ],
        ],
        ["notes", true, true, [[leaves, 2]]],
        ["has noted nothing", true, true, []],
        ["asks both", true, true, [[asked, 1]]],
      ],
    )
    assert.notInclude(
      recorded.flatMap(({ reached }) => reached.map(([number]) => number)),
      unreached,
    )
  })

  it("are caught by the test that fails with them alone, in one process", async () => {
    const test = (title: string) => `${files[0]} > the example > ${title}`
    const tries = {
      [test("halves")]: [needless, odd],
      [test("doubles")]: [odd, needless],
      [test("lies between")]: [and, always],
      [test("asks both")]: [asked],
    }
    const { events } = await runPlan({ schemata, files, tries, workers: 1 })
    const done = events.flatMap((event) =>
      event._tag === "Caught" || event._tag === "Passed" ? [[event._tag, short(event.test), event.mutant]] : [],
    )
    assert.deepStrictEqual(done, [
      ["Passed", "halves", needless],
      ["Caught", "halves", odd],
      ["Passed", "doubles", needless],
      ["Caught", "lies between", and],
      ["Passed", "lies between", always],
      ["Caught", "asks both", asked],
    ])
  })

  it("are ended where they do not end, and spoil no later ones", async () => {
    const test = (title: string) => `${files[0]} > the example > ${title}`
    const left = { [test("notes")]: [leaves], [test("has noted nothing")]: [odd] }
    const { events } = await runPlan({ schemata, files, tries: left, workers: 1 })
    assert.deepStrictEqual(
      said(events, "Spoiled").map(({ mutant }) => mutant),
      [leaves],
    )
    assert.deepStrictEqual(said(events, "Caught"), [])
    const tries = { [test("waits")]: [endless] }
    const { broken } = await runPlan({ schemata, files, tries, workers: 1 }, () => 1_500)
    assert.deepInclude(broken, { mutant: endless, words: `${test("waits")}: does not end within 2 s` })
  })

  it("are never made of a source that holds something else", () => {
    const [first] = guards
    assert.throws(() => switched(path, text, [{ ...first!, at: first!.at + 1 }]), "holds something else at")
    const and = { ...first!, source: "AND", instead: "OR" }
    assert.throws(() => switched(path, text, [and]), "holds something else at")
  })
})

describe("the guards of the money path", () => {
  it("are all switched, each under a name of its own", () => {
    const all = moneyGuards()
    assert.isAbove(all.length, 450)
    assert.strictEqual(new Set(all.map(keyOf)).size, all.length)
    assert.isAtLeast(schemataOf(all).length, 50)
  })

  it("that are explained are there", () => {
    const keys = new Set(moneyGuards().map(keyOf))
    assert.deepStrictEqual(
      explained.filter(({ guard }) => !keys.has(guard)),
      [],
    )
  })
})
