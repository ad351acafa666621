/**
 * Characters that could end a log line, colour a terminal, turn the writing direction or hide: controls, format
 * characters, line and paragraph separators, lone surrogates, and all that Unicode draws as nothing (UAX 44,
 * Default_Ignorable_Code_Point; U+2800 is a Braille pattern without dots).
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu
/** The same, but for the end of a line. */
const unsafeInLine = new RegExp(`(?!\n)${unsafe.source}`, "gu")

const inBraces = (char: string): string => `\\u{${char.codePointAt(0)!.toString(16)}}`

const asUnits = (char: string): string =>
  Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")

/** A text in which such characters are written as \u{…}: what people see of it is all that it holds. */
export const visible = (text: string): string => text.replace(unsafe, inBraces)

/** The same for a text of several lines. */
export const visibleLines = (text: string): string => text.replace(unsafeInLine, inBraces)

/** JSON with integers of 64 bits and more as strings. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one), indent)

/** JSON that says the same in characters that are seen: the others as \uXXXX. It may be laid out in lines. */
export const visibleJson = (json: string): string => json.replace(unsafeInLine, asUnits)

/** Age of a block by our clock, for people; null: the clock is not to be relied on. */
export const ageText = (seconds: number | null): string => {
  if (seconds === null) return "of unknown age"
  // Clocks differ by a little, and a block is no older than it is.
  return seconds < -1 ? `${(-seconds).toFixed(1)} s ahead of this clock` : `${Math.max(0, seconds).toFixed(1)} s old`
}

/** A word as a shell reads it: quoted where anything in it would mean more than itself. */
export const shellWord = (word: string): string =>
  /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** Reasons of a rule that is healthy and has nothing to do. */
const restful: ReadonlySet<string | null> = new Set(["in_band", "not_due", "outside_hours", "maintenance"])

/** Word for a rule's state; one that needs nothing is "OK", "held" if it could not pay, "idle" if it was not judged. */
export const ruleWord = ({ state, reason }: { readonly state: string; readonly reason: string | null }): string =>
  state !== "inactive" ? state : reason === null ? "idle" : restful.has(reason) ? "OK" : "held"

/** "1 rule", "2 rules": a count with its word. */
export const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`

const namesMax = 3

/** "a, b, c and 2 more": the first three of more than `allMax` words, else all of them. */
export const several = (words: ReadonlyArray<string>, allMax = namesMax): string =>
  words.length <= allMax
    ? words.join(", ")
    : `${words.slice(0, namesMax).join(", ")} and ${words.length - namesMax} more`

/** A quoted command with its spaces replaced: pasted from two lines, its first line alone would run. */
const joined = (text: string): string => text.replace(/"cofferer [^"]+"/g, (command) => command.replaceAll(" ", "\0"))

/** Lines of at most so many columns, broken between words; a longer word, or command, has a line of its own. */
export const wrapped = (text: string, columns: number | undefined): ReadonlyArray<string> => {
  if (columns === undefined || text.length <= columns) return [text]
  const lines: Array<string> = []
  let rest = joined(text)
  while (rest.length > columns) {
    const space = Math.max(0, rest.lastIndexOf(" ", columns))
    const end = rest.slice(0, space).trim() === "" ? rest.indexOf(" ", columns) : space
    if (end < 0) break
    lines.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest].map((line) => line.replaceAll("\0", " "))
}

/** Columns that a cell on its own lines has at least. */
const cellColumnsMin = 30

const wordMax = (text: string): number => Math.max(...text.split(" ").map(({ length }) => length))

/**
 * A row of a table, or a sentence, in lines of at most so many columns: what does not fit goes on below its last cell
 * that leaves it room, else indented. `columns` undefined: as it is.
 */
export const fitted = (line: string, columns: number | undefined): string => {
  if (columns === undefined || line.length <= columns) return line
  const starts = [...line.matchAll(/ {2,}(?=\S)/g)].map(({ index, 0: gap }) => index + gap.length)
  const lead = line.length - line.trimStart().length
  const fits = (start: number) => start + Math.max(cellColumnsMin, wordMax(line.slice(start))) <= columns
  const at = starts.findLast((start) => start > lead && fits(start)) ?? lead
  const indent = at === lead ? lead + 4 : at
  const lines: Array<string> = []
  for (const cell of line.slice(at).split(/ {2,}/)) {
    const before = lines.at(-1)
    const room = columns - (lines.length === 0 ? at : indent)
    if (before !== undefined && before.length + 2 + cell.length <= room) lines[lines.length - 1] = `${before}  ${cell}`
    else lines.push(...wrapped(cell, columns - indent))
  }
  return line.slice(0, at) + lines.join(`\n${" ".repeat(indent)}`)
}

/** A written value in quotes. A long one may be a secret in the wrong place: its beginning and length say enough. */
export const excerpt = (text: string, lengthMax = 24): string =>
  text.length <= lengthMax ? `"${text}"` : `"${text.slice(0, 4)}…" (${text.length} characters)`
