import { existsSync } from "node:fs"
import { join, posix } from "node:path"
import { parsePage } from "./Markdown.ts"
import { complaint, readSource, root, type Source } from "./Source.ts"

export const isPage = ({ path }: Source): boolean => path.endsWith(".md") || path === "docs/llms.txt"

const isThere = (path: string): boolean => existsSync(join(root, path))

/** Whether a file has a heading of that name; of a source itself its own text counts. */
const hasAnchor = (path: string, anchor: string, own: Source): boolean =>
  parsePage(path === own.path ? own.text : readSource(path).text).anchors.includes(anchor)

/** Links between files lead to a file that is there, and to a heading that it has. */
export const linksLead = (source: Source): ReadonlyArray<string> =>
  parsePage(source.text).links.flatMap(({ text, line }) => {
    if (/^[a-z]+:/.test(text)) return []
    const [file = "", anchor] = text.split("#")
    const target = file === "" ? source.path : posix.join(posix.dirname(source.path), file)
    if (target !== source.path && !isThere(target)) return [complaint(source.path, line, `no file ${target}`)]
    if (anchor === undefined || hasAnchor(target, anchor, source)) return []
    return [complaint(source.path, line, `${target} has no heading #${anchor}`)]
  })

/** Paths that a page tells of which another release had. */
const former: ReadonlySet<string> = new Set(["test/previous/"])

/** What stands between backticks and looks like a path from the root, or from the page's folder, is one. */
export const pathsExist = (source: Source): ReadonlyArray<string> =>
  parsePage(source.text).spans.flatMap(({ text, line }) => {
    if (!/^((config|docs|src|test)\/[\w./-]+|[\w-]+(\/[\w-]+)+\.ts)$/.test(text)) return []
    return former.has(text) || [".", "src", posix.dirname(source.path)].some((from) => isThere(posix.join(from, text)))
      ? []
      : [complaint(source.path, line, `no file ${text}`)]
  })

/** A page that a text names, as an error does that sends people there, exists, and so does the heading. */
export const hintsLead = (source: Source): ReadonlyArray<string> =>
  source.text.split("\n").flatMap((line, i) =>
    [...line.matchAll(/(?:"([^"]+)" in )?\b(docs\/[\w-]+\.md)\b/g)].flatMap(([, heading, path = ""]) => {
      if (!isThere(path)) return [complaint(source.path, i + 1, `no file ${path}`)]
      const { text } = readSource(path)
      return heading === undefined || text.split("\n").includes(`## ${heading}`)
        ? []
        : [complaint(source.path, i + 1, `${path} has no heading "${heading}"`)]
    }),
  )

export const readmeBytesMax = 8_192
export const pageBytesMax = 12_288

/** A page of docs answers one question, and the README the first ones. */
export const pagesAreShort = ({ path, text }: Source): ReadonlyArray<string> => {
  const max = path === "README.md" ? readmeBytesMax : path.startsWith("docs/") ? pageBytesMax : Number.MAX_SAFE_INTEGER
  const bytes = Buffer.byteLength(text)
  return bytes <= max ? [] : [complaint(path, 1, `${bytes} bytes; a page of this kind has at most ${max}`)]
}

/** A page begins with its name and one line that says what it is for. */
export const pagesSayWhatFor = ({ path, text }: Source): ReadonlyArray<string> => {
  if (!path.startsWith("docs/") || !path.endsWith(".md")) return []
  const [name = "", gap, purpose = "", end] = text.split("\n")
  const isWhole = /^# \S/.test(name) && gap === "" && /^\w.*\.$/.test(purpose) && end === ""
  return isWhole ? [] : [complaint(path, 1, "does not begin with its name and one line that says what it is for")]
}

/** An index leads to every page. */
export const pagesAreListed = (index: Source, pages: ReadonlyArray<string>): ReadonlyArray<string> => {
  const targets = parsePage(index.text).links.map(({ text }) => posix.join(posix.dirname(index.path), text))
  return pages.filter((path) => !targets.includes(path)).map((path) => complaint(index.path, 1, `no link to ${path}`))
}
