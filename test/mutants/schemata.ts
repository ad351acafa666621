import { readFileSync } from "node:fs"
import { type Node, parseCode, root, walk } from "../tidy/Source.ts"
import type { Guard } from "./guards.ts"

/** A source file that holds all of its mutants, each behind its number. */
export interface Schema {
  readonly path: string
  /** What the file must still hold when it is loaded. */
  readonly before: string
  readonly after: string
}

/** A piece that is written anew: a condition, a template whose statement has guards, or the word AND of one of them. */
interface Piece {
  readonly kind: "condition" | "template" | "word"
  readonly start: number
  readonly end: number
  readonly numbers: ReadonlyArray<number>
  readonly inside: Array<Piece>
}

/** The template literal around an AND, with its tag where it has one. */
const templateAround = (around: ReadonlyArray<Node>): Node => {
  const outer = around.at(-2)
  return outer?.type === "TaggedTemplateExpression" ? outer : around.at(-1)!
}

const piecesOf = (tree: Node, guards: ReadonlyArray<Guard>): ReadonlyArray<Piece> => {
  const pieces = new Map<string, Piece>()
  const add = (kind: Piece["kind"], { start, end }: { readonly start: number; readonly end: number }, n: number) => {
    const key = `${kind} ${start}`
    const numbers = [...(pieces.get(key)?.numbers ?? []), n]
    pieces.set(key, { kind, start, end, numbers, inside: [] })
  }
  walk(tree, (node, around) => {
    for (const { number, at, source, instead } of guards) {
      const end = at + source.length
      if (instead !== "OR" && node.type !== "IfStatement" && node.start === at && node.end === end) {
        if (around.at(-1)?.type === "IfStatement") add("condition", { start: at, end }, number)
      }
      if (instead === "OR" && node.type === "TemplateElement" && node.start <= at && end <= node.end) {
        add("template", templateAround(around), number)
        add("word", { start: at, end }, number)
      }
    }
  })
  return [...pieces.values()]
}

/** Pieces inside of others, outermost first; those alone are returned that are in no other. */
const nested = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> => {
  const rank = { condition: 0, template: 1, word: 2 }
  const sorted = pieces.toSorted((a, b) => a.start - b.start || b.end - a.end || rank[a.kind] - rank[b.kind])
  const open: Array<Piece> = []
  const outermost: Array<Piece> = []
  for (const piece of sorted) {
    while (open.length > 0 && open.at(-1)!.end <= piece.start) open.pop()
    const around = open.at(-1)?.inside ?? outermost
    around.push(piece)
    open.push(piece)
  }
  return outermost
}

const global = "globalThis.coffererMutants"

interface Part {
  readonly text: string
  /** Number of the guard whose AND is an OR in this copy. */
  readonly mutant: number
}

/** The source from one offset to another, with all that is in it switched. */
const render = ({ text, mutant }: Part, start: number, end: number, pieces: ReadonlyArray<Piece>): string => {
  let out = ""
  let from = start
  for (const piece of pieces) {
    out += text.slice(from, piece.start) + renderPiece({ text, mutant }, piece)
    from = piece.end
  }
  return out + text.slice(from, end)
}

/**
 * A condition is an argument, not a function: what it yields is yielded where it stood. A statement stands there once
 * for each of its mutants, and one of the copies is evaluated.
 */
const renderPiece = (part: Part, { kind, start, end, numbers, inside }: Piece): string => {
  if (kind === "word") return numbers.includes(part.mutant) ? "OR" : part.text.slice(start, end)
  const copy = (mutant: number) => render({ ...part, mutant }, start, end, inside)
  if (kind === "condition") return `${global}.condition(${numbers[0]}, (${copy(part.mutant)}))`
  return `(${numbers.map((n) => `${global}.isOn(${n}) ? ${copy(n)} : `).join("")}${copy(0)})`
}

/** The file with all mutants of its guards. */
export const switched = (path: string, text: string, guards: ReadonlyArray<Guard>): string => {
  const pieces = piecesOf(parseCode(path, text).tree, guards)
  const made = new Set(pieces.flatMap(({ numbers }) => numbers))
  const missed = guards.find(({ number }) => !made.has(number))
  if (missed !== undefined) throw new Error(`${path} holds something else at ${missed.at} than ${missed.source}`)
  return render({ text, mutant: 0 }, 0, text.length, nested(pieces))
}

/** All files that hold one of the guards. */
export const schemataOf = (guards: ReadonlyArray<Guard>): ReadonlyArray<Schema> =>
  [...Map.groupBy(guards, ({ path }) => path)].map(([path, mine]) => {
    const before = readFileSync(`${root}${path}`, "utf8")
    return { path, before, after: switched(path, before, mine) }
  })
