/** One thing that the YAML parser stumbled over. */
interface Fault {
  readonly code: string
  readonly message: string
  readonly pos: readonly [number, number]
}

export interface YamlFault {
  readonly offset: number
  readonly message: string
  readonly remedy: string
}

interface Spot extends Fault {
  /** The line of the file on which it stumbled, and that line's part from there on. */
  readonly line: string
  readonly rest: string
}

type Words = readonly [message: string, remedy: string]

const isOdd = (text: string, mark: string): boolean => (text.split(mark).length - 1) % 2 === 1

const openerOf: Readonly<Record<string, string>> = { "}": "{", "]": "[" }

const tagged = ({ code, message }: Spot): Words | undefined => {
  if (code === "TAB_AS_INDENT") return [message, "indent with spaces"]
  if (code === "MULTIPLE_DOCS") return [message, 'keep one document, and no line "---" inside']
  if (code !== "TAG_RESOLVE_FAILED") return undefined
  if (!message.includes("!include")) return [message, "remove the tag: every value is read as the text that is written"]
  return [
    "nothing is included by a tag",
    "put the parts into one folder and name that, or name a file of rules: ./rules.ts",
  ]
}

const dashed = ({ line }: Spot): Words | undefined =>
  /^\s*-[A-Za-z]/.test(line)
    ? ['a "-" without a space behind it begins no item', `write "${line.trim().replace("-", "- ")}"`]
    : undefined

const quoted = ({ line }: Spot): Words | undefined => {
  const mark = ['"', "'"].find((each) => isOdd(line.replaceAll('\\"', ""), each))
  return mark === undefined ? undefined : ["a quote on this line is not closed", `close it with the same mark: ${mark}`]
}

const unclosed = ({ message }: Spot): Words | undefined => {
  const [, closer] = /end with a ([}\]])$/.exec(message) ?? []
  if (closer === undefined) return undefined
  return [
    `a "${openerOf[closer]}" is not closed before this`,
    `write "${closer}" where it ends; what follows " #" is a comment`,
  ]
}

const uncommaed = ({ code, rest }: Spot): Words | undefined => {
  if (code !== "BLOCK_IN_FLOW") return undefined
  const [, next] = /^\S+\s+([\w.-]+):/.exec(rest) ?? []
  return ['a "," is missing between two values', next === undefined ? "write it" : `write it before "${next}"`]
}

const uncoloned = ({ code, line }: Spot): Words | undefined => {
  if (code !== "MISSING_CHAR" && code !== "MULTILINE_IMPLICIT_KEY" && code !== "BLOCK_AS_IMPLICIT_KEY") return undefined
  const [, name, value] = /^\s*(?:- )?([\w.-]+)(?::(\S[^#]*))?\s*(?:#.*)?$/.exec(line) ?? []
  if (name === undefined) return undefined
  if (value !== undefined) return ['a ":" needs a space behind it', `write "${name}: ${value.trim()}"`]
  return [`"${name}" has no ":" behind it`, `write "${name}:", or take it away`]
}

const unquoted = ({ code, line }: Spot): Words | undefined =>
  code === "BLOCK_AS_IMPLICIT_KEY" && /: [^"'{[]*: /.test(line)
    ? ['a value with ": " in it is taken for a name', "put the value in quotes, or begin a line"]
    : undefined

const unlisted = ({ code, line }: Spot): Words | undefined =>
  code === "BLOCK_AS_IMPLICIT_KEY" && /^\s*- /.test(line)
    ? ["an item of a list stands beside what is none", 'begin each item above it with "- " too']
    : undefined

const deeper = ({ code, message }: Spot): Words | undefined =>
  code === "BLOCK_AS_IMPLICIT_KEY" && message.startsWith("Nested mappings")
    ? ["the lines below this one are indented deeper, and it has a value already", "line them up with their own keys"]
    : undefined

const misplaced = ({ code, message, line }: Spot): Words | undefined => {
  if (code !== "BAD_INDENT" && !message.startsWith("Sequence item without")) return undefined
  const spaces = line.length - line.trimStart().length
  const count = `${spaces} ${spaces === 1 ? "space" : "spaces"}`
  return [`the line is indented by ${count}, unlike those around it`, "line it up with the keys that it belongs to"]
}

/** In the order in which they are told apart; the parser's own words otherwise. */
const readers = [tagged, dashed, quoted, unclosed, uncommaed, uncoloned, unlisted, unquoted, deeper, misplaced]

const wordsOf = (text: string, fault: Fault): YamlFault => {
  const [offset] = fault.pos
  const start = text.lastIndexOf("\n", offset - 1) + 1
  const end = text.indexOf("\n", offset)
  const until = end < 0 ? text.length : end
  const message = fault.message.split("\n")[0] ?? fault.code
  const spot = { ...fault, message, line: text.slice(start, until), rest: text.slice(offset, until) }
  for (const read of readers) {
    const words = read(spot)
    if (words !== undefined) return { offset, message: words[0], remedy: words[1] }
  }
  return { offset, message, remedy: "mend the YAML there" }
}

/** Each one costs a look at the text around it. */
const faultsMax = 200

/** Of those that each stand for themselves all are told, however many there are. */
const plain: ReadonlySet<string> = new Set(["TAB_AS_INDENT", "TAG_RESOLVE_FAILED"])

/** What is wrong with the writing, in plain words. What comes after a break in the writing mostly follows from it. */
export const yamlFaults = (text: string, faults: ReadonlyArray<Fault>): ReadonlyArray<YamlFault> => {
  const ordered = faults.toSorted(
    (a, b) => a.pos[0] - b.pos[0] || Number(plain.has(b.code)) - Number(plain.has(a.code)),
  )
  const [first] = ordered
  if (first === undefined) return []
  return ordered
    .filter((fault) => fault === first || (plain.has(first.code) && plain.has(fault.code)))
    .slice(0, faultsMax)
    .map((fault) => wordsOf(text, fault))
}
