/**
 * Bounds of a text that is parsed as YAML. The parser takes seconds and a gigabyte for a megabyte of brackets, and a
 * time that grows with the square of the anchors: nothing that people write comes near.
 */
const linesMax = 20_000
const lineLengthMax = 10_000
const depthMax = 64
const indentMax = 400
const anchorsMax = 1_000

export const flatter = "write it flatter"

/** A bound that is exceeded at a place, 1-based. */
export interface Beyond {
  readonly line: number
  readonly column: number
  readonly message: string
  readonly remedy: string
}

/** The first bound that a text exceeds, found in one pass; undefined where it keeps all. */
export const boundsOfText = (text: string): Beyond | undefined => {
  let depth = 0
  let anchors = 0
  let lines = 0
  for (let start = 0; start < text.length; ) {
    const end = endOfLine(text, start)
    if (++lines > linesMax) {
      return {
        line: lines,
        column: 1,
        message: `it has more than ${linesMax} lines`,
        remedy: "divide it into files of a folder",
      }
    }
    if (end - start > lineLengthMax) {
      const message = `this line has more than ${lineLengthMax} characters`
      return { line: lines, column: 1, message, remedy: "divide it into lines" }
    }
    const line = text.slice(start, end)
    const indent = /^[ -]*/.exec(line)?.[0] ?? ""
    if (indent.length > indentMax || indent.replaceAll(" ", "").length > depthMax) {
      return { line: lines, column: 1, message: "this line is nested too deep", remedy: flatter }
    }
    anchors += line.match(anchor)?.length ?? 0
    if (anchors > anchorsMax) {
      return {
        line: lines,
        column: 1,
        message: `it has more than ${anchorsMax} anchors`,
        remedy: "write the values out",
      }
    }
    for (const { 0: mark, index } of line.replace(quotes, blank).matchAll(brackets)) {
      depth = Math.max(0, depth + (mark === "[" || mark === "{" ? 1 : -1))
      if (depth > depthMax) {
        return {
          line: lines,
          column: index + 1,
          message: `more than ${depthMax} brackets are open here`,
          remedy: flatter,
        }
      }
    }
    start = end + 1
  }
  return undefined
}

const endOfLine = (text: string, start: number): number => {
  const end = text.indexOf("\n", start)
  return end < 0 ? text.length : end
}

const anchor = /(^|[\s,[{])&[^\s,[\]{}]/g
const brackets = /[[\]{}]/g
/** Quoted parts of a line, and its comment. */
const quotes = /"(?:[^"\\]|\\.)*"|'[^']*'|(?:^|\s)#.*$/g
const blank = (part: string): string => " ".repeat(part.length)
