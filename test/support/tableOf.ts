import { readFileSync } from "node:fs"

/** The sandbox's own. */
const readme = readFileSync(new URL("../../src/sandbox/README.md", import.meta.url), "utf8")

/** The cells of a table of the README: the first one below a heading whose first column has this name. */
export const tableOf = (heading: string, column: string): ReadonlyArray<ReadonlyArray<string>> => {
  const section = readme.split(/\n#+ /).find((part) => part.startsWith(`${heading}\n`)) ?? ""
  const lines = section.split("\n")
  const head = lines.findIndex((line) => line.startsWith(`| ${column} |`))
  const rows = head < 0 ? [] : lines.slice(head + 2)
  const end = rows.findIndex((line) => !line.startsWith("|"))
  return rows.slice(0, end < 0 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  )
}
