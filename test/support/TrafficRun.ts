import assert from "node:assert/strict"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { openLedgerFile } from "../../src/sandbox/LedgerFile.ts"
import { makeNode, type Submission } from "../../src/sandbox/LedgerNode.ts"
import { auditBlock, digestOf, emptyBooks } from "./Books.ts"
import { noLedgerFile } from "./noLedgerFile.ts"
import { scenarioOf } from "./TestSandbox.ts"
import { makeTraffic, nextOf, settle } from "./Traffic.ts"
import { actions } from "./TrafficActions.ts"
import { trafficScenario } from "./TrafficScenario.ts"

export interface TrafficOptions {
  readonly seed: string
  readonly profile: string
  readonly blocks: number
  /** Where the network keeps what it did: in a database in memory, or nowhere. */
  readonly file: "memory" | "none"
}

const byName = new Map(actions.map((action) => [action.name, action]))

const answerOf = (said: Submission): string => (said._tag === "Turned" ? "known" : `${said.code} ${said.text}`)

/** What is the same in every run of a seed. */
export interface TrafficOutcome {
  /** How often the mempool said, and blocks made, what. */
  readonly tally: ReadonlyMap<string, number>
  readonly included: number
  /** The digest after half a minute, and at the end. */
  readonly early: string
  readonly final: string
}

/** Blocks a second apart, full of what the dice say. Judges every answer, every result and every block. */
export const runTraffic = Effect.fnUntraced(function* ({ seed, profile, blocks, file: kind }: TrafficOptions) {
  yield* TestClock.setTime(Date.parse("2026-11-21T10:00:00Z"))
  const scenario = yield* scenarioOf(trafficScenario(seed, profile))
  const file = kind === "none" ? noLedgerFile(scenario) : yield* openLedgerFile(":memory:", scenario)
  const node = yield* makeNode(yield* file.load, file)
  const traffic = makeTraffic(yield* node.read((chain) => chain))
  const { chain, dice } = traffic
  const books = emptyBooks()
  const tally = new Map<string, number>()
  const judge = (name: string, word: "says" | "ends", text: string): void => {
    if (byName.get(name)?.[word]?.test(text) !== true) {
      assert.fail(`seed ${seed}, ${word === "says" ? "after" : "in"} block ${chain.height}: ${name}: ${text}`)
    }
    const what = `${word === "says" ? "answered" : "ended with"} ${text.split(" ")[0]}`
    tally.set(what, (tally.get(what) ?? 0) + 1)
    tally.set(name, (tally.get(name) ?? 0) + 1)
  }
  let early = ""
  yield* node.stepBlock
  auditBlock(books, traffic)
  while (chain.height < blocks) {
    for (let n = 25 + dice.below(40); n > 0; n--) {
      const sent = nextOf(traffic)
      judge(sent.action, "says", answerOf(yield* node.submit(sent.bytes)))
    }
    yield* TestClock.adjust("1 second")
    yield* node.stepBlock
    const included = auditBlock(books, traffic)
    for (const { hash, code, error } of included) {
      judge(traffic.sent.get(hash)?.action ?? "", "ends", `${code} ${error}`)
    }
    settle(traffic, included)
    if (chain.height === 30) early = digestOf(chain)
  }
  const final = digestOf(chain)
  if (kind === "memory") assert.strictEqual(digestOf(yield* file.load), final, `seed ${seed}: what the file holds`)
  const outcome: TrafficOutcome = { tally, included: chain.included.length, early, final }
  return outcome
})
