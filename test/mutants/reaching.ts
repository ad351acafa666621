import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { listFiles, parseCode, readSource, root } from "../tidy/Source.ts"
import type { Guard } from "./guards.ts"
import type { Event } from "./Plan.ts"
import { runPlan } from "./runPlan.ts"
import { schemataOf } from "./schemata.ts"

/** A test that reaches a guard. */
export interface Reach {
  readonly test: string
  readonly millis: number
  /** What the guard was in it: 1 true, 2 false, 3 both. */
  readonly was: number
}

/** Which tests reach each guard, by its number. */
export interface Reaching {
  /** Tests that may be run again and again in one process, in the order in which they are tried. */
  readonly warm: ReadonlyMap<number, ReadonlyArray<Reach>>
  /** Files that reach it as they are loaded, in hooks, or in tests that pass once only: each takes a new process. */
  readonly cold: ReadonlyMap<number, ReadonlySet<string>>
  readonly millisOf: ReadonlyMap<string, number>
}

/** Folders below test/ whose tests reach guards of the money path in a short time. */
const near: ReadonlyArray<string> = ["payments", "submitter", "signer", "gateway", "store", "engine", "model", "http"]

/** Their quick tests: the others take minutes, or a server. */
export const nearFiles = (): ReadonlyArray<string> =>
  near.flatMap((folder) => listFiles(`test/${folder}`).filter((path) => /\/[^/.]+\.test\.ts$/.test(path)))

const cache = `${root}node_modules/.cache/mutants/reaching.json`

type Recorded = Event & { readonly _tag: "Recorded" }
/** What was recorded of each test file, with a hash of all that it may depend on. */
type Cached = Record<string, { readonly hash: string; readonly recorded: ReadonlyArray<Recorded> }>

/** The file and all that it imports below test/, each once. */
const withImports = (file: string, known: Set<string> = new Set()): ReadonlySet<string> => {
  if (known.has(file)) return known
  known.add(file)
  const targets = parseCode(file, readSource(file).text).imports.flatMap(({ target }) => target ?? [])
  for (const target of targets) if (/^test\/.*\.ts$/.test(target)) withImports(target, known)
  return known
}

/** A hash for each file over itself, what it imports of the tests, and everything below src. */
export const hashesOf = (guards: ReadonlyArray<Guard>, files: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const shared = createHash("sha256").update(JSON.stringify(guards))
  for (const path of listFiles("src").filter((path) => path.endsWith(".ts"))) shared.update(readSource(path).text)
  const product = shared.digest("hex")
  const hashOf = (file: string) => {
    const hash = createHash("sha256").update(product)
    for (const path of [...withImports(file)].toSorted()) hash.update(path).update(readSource(path).text)
    return hash.digest("hex")
  }
  return new Map(files.map((file) => [file, hashOf(file)]))
}

const fileOf = (test: string): string => test.split(" > ")[0]!

/** Runs the tests of the files that are not known, and keeps what they reach. */
const record = async (guards: ReadonlyArray<Guard>, files: ReadonlyArray<string>, workers: number) => {
  const cached = (existsSync(cache) ? JSON.parse(readFileSync(cache, "utf8")) : {}) as Cached
  const hashes = hashesOf(guards, files)
  const unknown = files.filter((file) => cached[file]?.hash !== hashes.get(file))
  if (unknown.length > 0) {
    console.log(`finding out what ${unknown.length} test files reach`)
    const { events, output } = await runPlan({ schemata: schemataOf(guards), files: unknown, workers })
    const byFile = Map.groupBy(
      events.filter((event): event is Recorded => event._tag === "Recorded"),
      (event) => fileOf(event.test),
    )
    for (const file of unknown) cached[file] = { hash: hashes.get(file)!, recorded: byFile.get(file) ?? [] }
    if (byFile.size === 0) throw new Error(`no test ran: ${output}`)
    mkdirSync(dirname(cache), { recursive: true })
    writeFileSync(cache, JSON.stringify(cached))
  }
  return files.flatMap((file) => cached[file]?.recorded ?? [])
}

/** A test in which the guard is what it seldom is may be about it: it is tried as if it were so many times quicker. */
const aboutShare = 6

const inOrder = (reaches: ReadonlyArray<Reach>): ReadonlyArray<Reach> => {
  const count = (was: number) => reaches.filter((reach) => (reach.was & was) !== 0).length
  const seldom = count(1) < count(2) ? 1 : 2
  const rank = ({ was, millis }: Reach) => ((was & seldom) === 0 ? millis : millis / aboutShare)
  return reaches.toSorted((a, b) => rank(a) - rank(b))
}

/** Finds out which tests of the files reach which guards. */
export const reaching = async (
  guards: ReadonlyArray<Guard>,
  files: ReadonlyArray<string>,
  workers: number,
): Promise<Reaching> => {
  const warm = new Map<number, Array<Reach>>()
  const cold = new Map<number, Set<string>>()
  const millisOf = new Map<string, number>()
  for (const { test, millis, passed, repeats, reached } of await record(guards, files, workers)) {
    if (!passed) throw new Error(`${test} fails without any mutant`)
    if (repeats) millisOf.set(test, millis)
    for (const [number, was] of reached) {
      if (repeats) warm.set(number, [...(warm.get(number) ?? []), { test, millis, was }])
      else cold.set(number, (cold.get(number) ?? new Set()).add(fileOf(test)))
    }
  }
  return { warm: new Map([...warm].map(([number, reaches]) => [number, inOrder(reaches)])), cold, millisOf }
}
