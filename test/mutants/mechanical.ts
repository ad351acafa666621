import { readFileSync } from "node:fs"
import type { Edit } from "../simulation/planted.ts"
import { isNode, lineAt, listFiles, type Node, parseCode, root, walk } from "../tidy/Source.ts"
import type { Mutant } from "./Mutant.ts"

/** Where a guard of the money path may stand, and the tests of the room. */
const rooms: ReadonlyArray<readonly [files: RegExp, tests: ReadonlyArray<string>]> = [
  [/^src\/submitter\//, ["submitter"]],
  [/^src\/signer\//, ["signer"]],
  [/^src\/gateway\/(agreed|together|believed|onChain)/, ["gateway"]],
  [/^src\/store\/(Outbox|outbox(Reads|Writes|Rows)|SpendLog|Findings|Epochs|Approvals)\.ts$/, ["store", "submitter"]],
  [/^src\/store\/(Brake|Lease|Clearance|guarded|trip)\.ts$/, ["store", "submitter"]],
  [/^src\/engine\/(record|isWanted|submitPayment|Engine|lockRules|signedUses)\.ts$/, ["engine", "submitter"]],
]

const wordsMax = 70
const oneLine = (text: string): string => {
  const words = text.replace(/\s+/g, " ")
  return words.length > wordsMax ? `${words.slice(0, wordsMax)}…` : words
}

/** Each condition of an `if` the other way round, and each AND of a statement made an OR: the guard is gone. */
const editsIn = (file: string, text: string, tree: Node): ReadonlyArray<Edit & { readonly shown: string }> => {
  const edits: Array<Edit & { readonly shown: string }> = []
  const add = (at: number, source: string, instead: string, shown: string) =>
    edits.push({ file, at, source, instead, shown: `${lineAt(text, at)}: ${oneLine(shown)}` })
  walk(tree, (node) => {
    const { test } = node as { readonly test?: unknown }
    if (node.type === "IfStatement" && isNode(test)) {
      const source = text.slice(test.start, test.end)
      add(test.start, source, `!(${source})`, `if (${source})`)
    }
    if (node.type !== "TemplateElement") return
    const source = text.slice(node.start, node.end)
    for (const { 0: word, index } of source.matchAll(/\bAND\b/g)) {
      add(node.start + index, word, "OR", `${source.slice(index)}`)
    }
  })
  return edits
}

/** Every guard of the money path, negated mechanically, in the order of the files. */
export const mechanicalMutants = (): ReadonlyArray<Mutant> =>
  listFiles("src").flatMap((path) => {
    const tests = rooms.find(([files]) => files.test(path))?.[1]
    if (tests === undefined) return []
    const text = readFileSync(`${root}${path}`, "utf8")
    const { tree } = parseCode(path, text)
    const file = path.slice("src/".length)
    return editsIn(file, text, tree).map(({ shown, ...edit }) => ({ name: `${file}:${shown}`, edits: [edit], tests }))
  })
