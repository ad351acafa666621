import { type Dice, makeDice } from "../support/Dice.ts"

type Mutation = (lines: ReadonlyArray<string>, dice: Dice) => ReadonlyArray<string>

const at = (lines: ReadonlyArray<string>, dice: Dice): number => dice.below(lines.length)

const change =
  (edit: (line: string, dice: Dice) => string): Mutation =>
  (lines, dice) => {
    const i = at(lines, dice)
    return lines.map((line, j) => (i === j ? edit(line, dice) : line))
  }

const wordOf = /[A-Za-z][A-Za-z0-9]*/g

/** Writes another word in place of one of the line's. */
const word = (edit: (word: string, dice: Dice) => string): Mutation =>
  change((line, dice) => {
    const found = dice.pick([...line.matchAll(wordOf)])
    if (found === undefined) return line
    return `${line.slice(0, found.index)}${edit(found[0], dice)}${line.slice(found.index + found[0].length)}`
  })

const value = (values: ReadonlyArray<string>): Mutation =>
  change((line, dice) => {
    const found = dice.pick([...line.matchAll(/: ([^,{}[\]]+)/g)])
    if (found === undefined) return line
    return line.replace(found[0], `: ${dice.pick(values)}`)
  })

const insert =
  (texts: ReadonlyArray<string>): Mutation =>
  (lines, dice) => {
    const i = at(lines, dice)
    const column = dice.below((lines[i]?.length ?? 0) + 1)
    const text = dice.pick(texts)
    return lines.map((line, j) => (i === j ? `${line.slice(0, column)}${text}${line.slice(column)}` : line))
  }

/** Deep enough for a parser to run out of stack. */
const deep = "[".repeat(20_000)

const mutations: Readonly<Record<string, Mutation>> = {
  delete: (lines, dice) => lines.toSpliced(at(lines, dice), 1),
  duplicate: (lines, dice) => {
    const i = at(lines, dice)
    return lines.toSpliced(i, 0, lines[i] ?? "")
  },
  swap: (lines, dice) => {
    const i = at(lines, dice)
    const j = at(lines, dice)
    return lines.with(i, lines[j] ?? "").with(j, lines[i] ?? "")
  },
  misspell: word((text, dice) => {
    const i = dice.below(text.length)
    return `${text.slice(0, i)}${dice.pick(["", "x", text[i] ?? "", "é", "Z"])}${text.slice(i + 1)}`
  }),
  shout: word((text) => (text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase())),
  retype: value(["[]", "{}", "[a, b]", "{ a: b }", "", "~", "true", "'", "[[[[]]]]", "{ a: { b: { c: d } } }"]),
  units: value(["30", "30 s", "3s0", "-1m", "1e3s", "10%", "10 USDT", "$5", "0x10", "0.0000000000000000001", "1,0,0"]),
  huge: value([
    "9".repeat(5_000),
    "1e999",
    "999999999d",
    `-${"9".repeat(80)}`,
    "0".repeat(400),
    "99999999999999999999",
  ]),
  names: value(["__proto__", "constructor", "toString", "hasOwnProperty", "nobody", "any", "name", "0"]),
  tabs: change((line) => line.replace(/^ */, "\t")),
  dedent: change((line, dice) => `${" ".repeat(dice.below(7))}${line.trimStart()}`),
  anchors: insert(["&a ", "*a", "*nobody ", "&a *a", "!!int ", "!mine ", "<<: *a", "? ", "--- ", "%YAML 9 "]),
  signs: insert([
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ":",
    ": ",
    "#",
    " - ",
    "|",
    ">",
    "@",
    "`",
    "\\",
    ", ",
    "\n",
    "\r",
    "\n---\n",
  ]),
  unicode: insert(["\u0000", "\u202e", "\ufeff", "\u2028", "💰", "ﬁ", "\u0301", "\u00a0", "\ud800", "１０"]),
  cycles: change((line, dice) => {
    const colon = line.indexOf(": ")
    return colon < 0 ? line : `${line.slice(0, colon)}: ${dice.pick(["&c { a: *c }", "&c [*c, *c]", "&c { *c : 1 }"])}`
  }),
  bomb: (lines) => {
    const levels = [..."bcdefghi"].map((name, i) => {
      const before = `*${String.fromCharCode(97 + i)}`
      return `${name}: &${name} [${Array.from({ length: 9 }, () => before).join(", ")}]`
    })
    return ["a: &a [x, x]", ...levels, ...lines]
  },
  deep: change((line, dice) => (dice.below(20) === 0 ? deep : `${line.split(":")[0]}: ${deep.slice(0, 60)}`)),
  cut: (lines, dice) => {
    const text = lines.join("\n")
    return text.slice(0, dice.below(text.length)).split("\n")
  },
}

const kinds = Object.keys(mutations)

/** A file changed in one to three ways, always alike for a seed. */
export const mutate = (
  text: string,
  seed: string,
): { readonly text: string; readonly kinds: ReadonlyArray<string> } => {
  const dice = makeDice(seed)
  const chosen = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(kinds) ?? "delete")
  const lines = chosen.reduce<ReadonlyArray<string>>((all, kind) => mutations[kind]!(all, dice), text.split("\n"))
  return { text: lines.join("\n"), kinds: chosen }
}

/** Every kind of mutation that there is. */
export const mutationKinds: ReadonlyArray<string> = kinds
