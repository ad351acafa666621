import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { keptMutants } from "./kept.ts"

const below = (dir: string, name: string) => join(import.meta.dirname, "../..", dir, name)
const read = (path: string) => readFileSync(path, "utf8")
const testsOf = (name: string): string =>
  statSync(below("test", name)).isDirectory()
    ? readdirSync(below("test", name), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".test.ts"))
        .map((file) => read(join(below("test", name), file)))
        .join("")
    : read(below("test", name))

describe("the kept mistakes", () => {
  it("have a name of their own each", () => {
    const names = keptMutants.map(({ name }) => name)
    assert.deepStrictEqual(
      names.filter((name, i) => names.indexOf(name) !== i),
      [],
    )
  })

  it("stand at one place of the source each", () => {
    const lost = keptMutants.flatMap(({ name, edits }) =>
      edits.flatMap(({ file, source, at }) => {
        const text = read(below("src", file))
        const isThere = at === undefined ? text.split(source).length === 2 : text.startsWith(source, at)
        return isThere ? [] : [`${name}: ${file}: ${source}`]
      }),
    )
    assert.deepStrictEqual(lost, [])
  })

  it("are caught by tests that exist", () => {
    const lost = keptMutants.flatMap(({ name, tests, title }) =>
      title === undefined || title === "" || tests.some((test) => testsOf(test).includes(title))
        ? []
        : [`${name}: ${tests.join(", ")}: ${title}`],
    )
    assert.deepStrictEqual(lost, [])
  })
})
