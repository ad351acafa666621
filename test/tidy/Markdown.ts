/** A block of code: fenced, with its language, or indented, without one. */
export interface Block {
  readonly language: string
  readonly text: string
  /** Of its first line of code. */
  readonly line: number
}

/** A piece of a line: the target of a link, or what stands between backticks. */
export interface Piece {
  readonly text: string
  readonly line: number
}

export interface Page {
  readonly blocks: ReadonlyArray<Block>
  readonly links: ReadonlyArray<Piece>
  readonly spans: ReadonlyArray<Piece>
  /** Headings as links name them, those of one text numbered from the second on. */
  readonly anchors: ReadonlyArray<string>
}

/** The anchor that a page of Markdown gives a heading: letters, digits, "-" and "_", words joined by "-". */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

/** Lines of code and their blocks. An indented line in a list goes on with the list, and is no code. */
const splitCode = (lines: ReadonlyArray<string>) => {
  const blocks: Array<Block> = []
  const isCode: Array<boolean> = []
  let fence: { readonly language: string; readonly line: number } | undefined
  let indented: number | undefined
  let isList = false
  const close = (language: string, begin: number, end: number, margin = 0) =>
    blocks.push({
      language,
      text: lines
        .slice(begin, end)
        .map((line) => line.slice(margin))
        .join("\n"),
      line: begin + 1,
    })
  for (const [i, line] of [...lines, ""].entries()) {
    const mark = /^```(\w*)$/.exec(line)
    const isIndented = fence === undefined && mark === null && /^ {4}/.test(line)
    if (indented !== undefined && !isIndented) {
      close("", indented, i, 4)
      indented = undefined
    }
    if (mark !== null) {
      if (fence === undefined) fence = { language: mark[1] ?? "", line: i + 1 }
      else {
        close(fence.language, fence.line, i)
        fence = undefined
      }
    } else if (isIndented && !isList && indented === undefined && lines[i - 1] === "") indented = i
    isCode.push(fence !== undefined || mark !== null || indented !== undefined)
    if (fence === undefined && /^\s*([-*]|\d+\.) /.test(line)) isList = true
    else if (/^\S/.test(line)) isList = false
  }
  return { blocks, isCode }
}

/** A text of Markdown, as far as the tests look at it. */
export const parsePage = (text: string): Page => {
  const lines = text.split("\n")
  const { blocks, isCode } = splitCode(lines)
  const prose = lines.map((line, i) => (isCode[i] === true ? "" : line))
  const counts = new Map<string, number>()
  const anchors = prose.flatMap((line) => {
    const heading = /^#{1,6} (.*)$/.exec(line)?.[1]
    if (heading === undefined) return []
    const anchor = anchorOf(heading)
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return [count === 0 ? anchor : `${anchor}-${count}`]
  })
  // A span may go on in the next line.
  const joined = prose.join("\n")
  const lineAt = (offset: number) => joined.slice(0, offset).split("\n").length
  const spans = [...joined.matchAll(/`([^`]+)`/g)].map(({ 1: span = "", index }) => ({
    text: span.replaceAll(/\s+/g, " "),
    line: lineAt(index),
  }))
  const bare = joined.replaceAll(/`[^`]+`/g, (span) => span.replaceAll(/[^\n]/g, "x"))
  const links = [...bare.matchAll(/\]\(([^)\s]+)\)/g)].map(({ 1: link = "", index }) => ({
    text: link,
    line: lineAt(index),
  }))
  return { blocks, links, spans, anchors }
}
