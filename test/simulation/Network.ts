import { Effect, type Fiber } from "effect"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import type { Chain } from "../../src/sandbox/Chain.ts"
import type { World } from "../../src/sandbox/http/Answer.ts"
import { noLedgerFile } from "../../src/sandbox/LedgerFile.ts"
import { type LedgerNode, makeNode } from "../../src/sandbox/LedgerNode.ts"
import { profiles } from "../../src/sandbox/Profiles.ts"
import { decodeScenario } from "../../src/sandbox/Scenario.ts"
import { usdt } from "../support/TestSandbox.ts"
import { type Book, funded, plainBook } from "./Book.ts"
import type { Plan } from "./Plan.ts"

export const chainId = "simulation-1"
/** Of all runs: keys follow from it, and are the same in each. */
export const keySeed = "simulation"

/** The network of a run: the real ledger, mempool and faults, with nothing on disk. */
export interface Network {
  readonly world: World
  readonly node: LedgerNode
  /** The truth, for those who judge. */
  readonly chain: Chain
  /** Runs an effect among the network's own fibers: it goes on whoever stops waiting for it. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

/** What each treasury has on it is written for it; all else is as the first has it. */
const scenarioText = (plans: Plans): string => {
  const [plan] = plans
  return `sandbox:
  seed: ${keySeed}
  listen: "127.0.0.1:0"
  profile: "${plan.profile}"
  rateLimit: off
  pow: { difficulty: ${plan.difficulty}, pastBlocks: ${plan.window}, txPerBlock: ${plan.txPerBlock}, increaseDifficulty: ${plan.increaseDifficulty} }
  powChanges: [${plan.workChanges.map((c) => `{ block: ${c.block}, pastBlocks: ${c.window}, difficulty: ${c.difficulty} }`).join(", ")}]
  epochLength: ${plan.epochSeconds}s
  transfersPerEpoch: ${plan.transfersPerEpoch}
  parties: [${plans.flatMap(partiesOf).join(", ")}]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
  deposits:
${plans
  .flatMap(depositsOf)
  .map(({ party, amount, block }) => `    - { party: ${party}, asset: USDT, amount: "${amount}", block: ${block} }`)
  .join("\n")}
  spenders:
${plans.map(spendersText).join("")}`
}

const bookOf = ({ wild }: Plan): Book => wild?.book ?? plainBook

const spendersText = (plan: Plan): string => {
  const { who } = bookOf(plan)
  const lines = (["hot", "warm"] as const).map((from) => {
    const at = plan.spends
      .filter((spend) => spend.from === from)
      .map(({ block, amount }) => `{ block: ${block}, amount: "${amount}" }`)
    return `    - { from: ${who}${from}, to: spender, asset: USDT, at: [${at.join(", ")}] }\n`
  })
  return `${lines.join("")}${makerText(plan)}`
}

/** What comes to the maker: a split or a withdrawal takes it away again. */
const makerText = (plan: Plan): string => {
  const { blocks } = plan
  const { who, maker } = bookOf(plan)
  if (maker === undefined) return ""
  const times = Array.from({ length: Math.max(1, Math.floor(blocks / 30)) }, (_, n) => 8 + 30 * n)
  const at = times.map((block, n) => `{ block: ${block}, amount: "${3_500 + 700 * n}" }`)
  return `    - { from: spender, to: ${who}maker, asset: USDT, at: [${at.join(", ")}] }\n`
}

const partiesOf = (plan: Plan): ReadonlyArray<string> => {
  const { who, payouts, maker } = bookOf(plan)
  const names = [
    ...["reserve", "hot", "warm"],
    ...(who === "" ? ["spender"] : []),
    ...(maker === undefined ? [] : ["maker"]),
    ...(payouts.length === 0 && maker !== "split" ? [] : ["ops"]),
    ...(maker === "split" ? ["aux"] : []),
  ]
  return names.map((name) => `${who}${name}`)
}

interface Deposit {
  readonly party: string
  /** Whole units. */
  readonly amount: number
  readonly block: number
}

/** Where there is a floor, one of two accounts can be filled above it, and not both, until the trouble is over. */
const depositsOf = (plan: Plan, _: number, plans: ReadonlyArray<Plan>): ReadonlyArray<Deposit> => {
  const { blocks } = plan
  const { who, floor, maker } = bookOf(plan)
  const isFunded = plans.some((other) => bookOf(other).funds === who)
  const plain = isFunded ? funded.first : 5_000_000
  const [first, later] = floor === undefined ? [plain, 0] : [floor + 21_000 + (floor % 13_000), 5_000_000]
  return [
    { party: `${who}reserve`, amount: first, block: 1 },
    { party: `${who}hot`, amount: 12_000, block: 1 },
    { party: `${who}warm`, amount: 9_000, block: 1 },
    ...(maker === undefined ? [] : [{ party: "spender", amount: 50_000, block: 1 }]),
    ...(later === 0 ? [] : [{ party: `${who}reserve`, amount: later, block: blocks + 10 }]),
  ]
}

/** The first says how the network is. */
type Plans = readonly [Plan, ...ReadonlyArray<Plan>]

type Run = <A, E>(effect: Effect.Effect<A, E>) => A

/** Builds the network of a plan, or of several treasuries' plans. `run` brings an effect to its end at once. */
export const makeNetwork = (plans: Plans, fork: Network["fork"], run: Run): Network =>
  networkOf(scenarioText(plans), fork, run)

/** Builds the network that a scenario describes, and its first block. */
export const networkOf = (text: string, fork: Network["fork"], run: Run): Network => {
  const scenario = run(
    Effect.flatMap(parseYaml("simulation.yaml", text), (document) => decodeScenario(document, chainId)),
  )
  const file = noLedgerFile(scenario)
  const chain = run(file.load)
  const node = run(makeNode(chain, file))
  run(node.stepBlock)
  return { world: { node, scenario, profile: profiles[scenario.profile] }, node, chain, fork }
}
