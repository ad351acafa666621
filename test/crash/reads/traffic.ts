import { publicKeyOf } from "../../../src/sandbox/Keys.ts"
import { type Dice, shuffled } from "../../support/Dice.ts"
import { usdt, vega } from "../../support/TestSandbox.ts"

const keySeed = "reads"
/** Blocks before the first one that moves money: the daemon begins to look in them. */
export const quietBlocks = 4
const pairsCount = 20

const pairs = Array.from({ length: pairsCount }, (_, i) => [`a${i}`, `b${i}`] as const)
/** Gets a deposit where a block is to have an odd number of rows. */
const lone = "lone"
export const watchedNames = [...pairs.flat(), lone]
/** Money of others, which the daemon is not to store. */
const others = ["other-1", "other-2"]

/** Public keys whose accounts the daemon watches. */
export const watchedKeys: ReadonlySet<string> = new Set(watchedNames.map((name) => publicKeyOf(keySeed, name)))

const coinOf = (pair: number) => (pair % 2 === 0 ? "USDT" : "VEGA")

/** What moves in each block: from 1 to 40 rows of watched accounts. */
const plan = (blocks: number, dice: Dice) => {
  const moves = new Map<string, Array<string>>()
  const deposits: Array<string> = []
  let rows = 0
  for (let block = quietBlocks + 1; block <= quietBlocks + blocks; block++) {
    const count = 1 + dice.below(2 * pairsCount)
    rows += count
    const order = shuffled([...pairs.keys()], dice)
    for (const pair of order.slice(0, Math.floor(count / 2))) {
      const [a, b] = pairs[pair]!
      const [from, to] = dice.next() < 0.5 ? [a, b] : [b, a]
      const key = `from: ${from}, to: ${to}, asset: ${coinOf(pair)}`
      const known = moves.get(key) ?? []
      known.push(`{ block: ${block}, amount: "${1 + dice.below(500)}" }`)
      moves.set(key, known)
    }
    if (count % 2 === 1) deposits.push(`    - { party: ${lone}, asset: USDT, amount: "1", block: ${block} }`)
  }
  return { moves, deposits, rows }
}

export interface ReadsTreasury {
  /** The file of both processes. */
  readonly text: string
  /** Rows that the traffic makes for watched accounts. */
  readonly rows: number
}

/** A treasury that only looks, at a network whose blocks are made by hand and whose cursors lose rows. */
export const readsTreasury = (networkUrl: string, blocks: number, dice: Dice): ReadsTreasury => {
  const { moves, deposits, rows } = plan(blocks, dice)
  const key = (name: string) => publicKeyOf(keySeed, name)
  const spenders = [...moves].map(([who, at]) => `    - { ${who}, at: [${at.join(", ")}] }`)
  const opening = pairs.flatMap((pair, i) =>
    pair.map((name) => `    - { party: ${name}, asset: ${coinOf(i)}, amount: "1_000_000" }`),
  )
  const text = `version: 1
name: reads
mode: observe
network: { chainId: reads-1, gateways: { only: "${networkUrl}" }, requestDeadline: 1s, reconcile: 1s, poll: { busy: 100ms, idle: 100ms } }
assets: { USDT: { id: ${usdt}, decimals: 6 }, VEGA: { id: ${vega}, decimals: 18 } }
parties:
${watchedNames.map((name) => `  ${name}: { publicKey: "${key(name)}" }`).join("\n")}
daemon: { listen: "127.0.0.1:0" }
sandbox:
  seed: ${keySeed}
  listen: "${networkUrl.replace("http://", "")}"
  profile: "0.75"
  blockInterval: 1d
  rateLimit: off
  parties: [${[...watchedNames, ...others].join(", ")}]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
    - { id: ${vega}, name: Vega, symbol: VEGA, decimals: 18, quantum: "1", builtin: {}, status: { enabled: 0 } }
  deposits:
    - { party: ${others[0]}, asset: USDT, amount: "1_000_000" }
${[...opening, ...deposits].join("\n")}
  spenders:
    - { from: ${others[0]}, to: ${others[1]}, asset: USDT, every: { blocks: 1, amount: "1" } }
${spenders.join("\n")}
`
  return { text, rows }
}
