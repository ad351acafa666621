import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"

const folder = join(root, "src/sandbox")
const readme = readFileSync(join(folder, "README.md"), "utf8")

/** The rows of the table of files: what each names, and its text. */
const rows = (readme.split("| file | what it owns |")[1] ?? "").split("\n\n")[0]?.split("\n").slice(2) ?? []
const words = (cell: string): ReadonlyArray<string> => [...cell.matchAll(/`([\w/.]+)`/g)].map((match) => match[1] ?? "")
const named = rows.flatMap((row) => words(row.split("|")[1] ?? ""))

/** Folders below one, with those inside of them. */
const foldersIn = (path: string): ReadonlyArray<string> =>
  readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [`${path}${entry.name}/`, ...foldersIn(`${path}${entry.name}/`)] : [],
  )
const filesIn = (path: string): ReadonlyArray<string> =>
  readdirSync(join(folder, path)).flatMap((name) => (name.endsWith(".ts") ? [name.slice(0, -3)] : []))

describe("the table of files in src/sandbox/README.md", () => {
  it("names each file and each folder once", () => {
    const inside = named.filter((name) => name.endsWith("/") || !name.includes("/"))
    assert.deepStrictEqual([...inside].sort(), [...filesIn(""), ...foldersIn("")].sort())
  })

  it("names nothing that is not there", () => {
    const gone = named.filter((name) => !existsSync(join(folder, name.endsWith("/") ? name : `${name}.ts`)))
    assert.deepStrictEqual(gone, [])
  })

  it("names all files inside a short folder", () => {
    for (const row of rows) {
      const [, first = "", text = ""] = row.split("|")
      const path = words(first)[0] ?? ""
      if (!path.endsWith("/")) continue
      const files = filesIn(path)
      const told = words(text)
      assert.deepStrictEqual(
        told.filter((name) => !files.includes(name)),
        [],
        path,
      )
      if (files.length < 12) assert.deepStrictEqual([...told].sort(), [...files].sort(), path)
    }
  })

  it("has links that lead somewhere", () => {
    for (const file of ["README.md", "SCENARIO.md"]) {
      const text = readFileSync(join(folder, file), "utf8")
      const dead = [...text.matchAll(/\]\(([^)#]+)\)/g)].filter((match) => !existsSync(join(folder, match[1] ?? "")))
      assert.deepStrictEqual(
        dead.map((match) => match[1]),
        [],
        file,
      )
    }
  })
})
