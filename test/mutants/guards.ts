import { readFileSync } from "node:fs"
import { isNode, lineAt, listFiles, type Node, parseCode, root, walk } from "../tidy/Source.ts"

/** A place where the money path decides: the condition of an `if`, or an AND of a statement. */
export interface Guard {
  /** From 1, in the order of the files: what switches its mutant on. */
  readonly number: number
  /** Path from the root. */
  readonly path: string
  readonly line: number
  /** What stands at it, in one line; the second of the same words in its file ends with "(2)", and so on. */
  readonly text: string
  /** Offset of the condition, or of the word AND. */
  readonly at: number
  readonly source: string
  /** What the mutant has in its place. */
  readonly instead: string
}

/** Files of the money path. */
const moneyPath: ReadonlyArray<RegExp> = [
  /^src\/payments\//,
  /^src\/submitter\//,
  /^src\/signer\//,
  /^src\/gateway\/(accepted|agreed|common|quorumGateway|onChain)/,
  /^src\/store\/(payments\/(Outbox|outbox(Reads|Writes|Rows)|SpendLog|LedgerAudit|noteListing|Clearance)|network\/ChainState|balances\/Observations)\.ts$/,
  /^src\/store\/(controls\/(Approvals|Controls)|database\/storeErrors)\.ts$/,
  /^src\/engine\/(record|isWanted|submitPayment|Engine|loadRound|snapshot)\.ts$/,
]

const wordsMax = 70
const oneLine = (text: string): string => {
  const words = text.replace(/\s+/g, " ")
  return words.length > wordsMax ? `${words.slice(0, wordsMax)}…` : words
}

/** Each condition of an `if` the other way round, and each AND of a statement made an OR: the guard is gone. */
export const guardsIn = (path: string, text: string, tree: Node): ReadonlyArray<Omit<Guard, "number">> => {
  const guards: Array<Omit<Guard, "number">> = []
  const seen = new Map<string, number>()
  const add = (at: number, source: string, instead: string, shown: string) => {
    const words = oneLine(shown)
    const count = (seen.get(words) ?? 0) + 1
    seen.set(words, count)
    guards.push({
      path,
      line: lineAt(text, at),
      text: count === 1 ? words : `${words} (${count})`,
      at,
      source,
      instead,
    })
  }
  walk(tree, (node) => {
    const { test } = node as { readonly test?: unknown }
    if (node.type === "IfStatement" && isNode(test)) {
      const source = text.slice(test.start, test.end)
      add(test.start, source, `!(${source})`, `if (${source})`)
    }
    if (node.type !== "TemplateElement") return
    const source = text.slice(node.start, node.end)
    for (const { 0: word, index } of source.matchAll(/\bAND\b/g)) {
      add(node.start + index, word, "OR", source.slice(index))
    }
  })
  return guards
}

/** Every guard of the money path, in the order of the files. */
export const moneyGuards = (): ReadonlyArray<Guard> =>
  listFiles("src")
    .filter((path) => moneyPath.some((files) => files.test(path)))
    .flatMap((path) => {
      const text = readFileSync(`${root}${path}`, "utf8")
      return guardsIn(path, text, parseCode(path, text).tree)
    })
    .map((guard, i) => ({ ...guard, number: i + 1 }))

/** Its mutant's name in lists and tables: file below src, line, words. */
export const nameOf = ({ path, line, text }: Guard): string => `${path.slice("src/".length)}:${line}: ${text}`

/** The same without the line, which stays when the file changes elsewhere. */
export const keyOf = ({ path, text }: Guard): string => `${path.slice("src/".length)}: ${text}`
