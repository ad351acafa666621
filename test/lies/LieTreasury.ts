import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { publicKeyOf, writeKeys } from "../../src/sandbox/Keys.ts"
import { chainId, keySeed } from "../simulation/Network.ts"
import { usdt, vega } from "../support/TestSandbox.ts"

const keyOf = (name: string) => publicKeyOf(keySeed, name)
export const payer = keyOf("reserve")
/** Who may get money. */
export const receivers: ReadonlySet<string> = new Set([keyOf("hot"), keyOf("warm")])

/** Base units that the policy allows. */
export const perTransfer = 25_000_000_000n
export const perDay = 600_000_000_000n
/** Of an amount, how much its fee may be: 0.5 %. */
export const maxFeeDivisor = 200n

/** Blocks for which a transaction is valid on this network. */
export const window = 20
/** Base units that an account loses whenever it is emptied a little: enough for a payment each time. */
export const spent = 12_000

/** The treasury of every case: two accounts kept filled from one key. `dir` holds its keys. */
export const lieTreasury = (dir: string, gateways: string) => {
  mkdirSync(dir, { recursive: true })
  writeKeys(dir, keySeed, ["reserve"])
  const text = `version: 1
name: simulation
mode: live
network: { chainId: ${chainId}, ${gateways}, requestDeadline: 3s, reconcile: 15s }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
parties:
  reserve: { publicKey: "${payer}", signer: { file: keys/reserve } }
  hot: { publicKey: "${keyOf("hot")}" }
  warm: { publicKey: "${keyOf("warm")}" }
rules:
  - name: keep
    topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: "20_000" }, { party: warm, asset: USDT, below: "10_000", target: "20_000" }] }
    for: 500ms
    cooldown: 1s
policy:
  maxFee: 0.5%
  allow:
    - { from: reserve, to: [hot, warm], asset: USDT, perTransfer: "25_000", per24h: "600_000", transfersPer24h: 400 }
`
  return Effect.flatMap(parseYaml(join(dir, "lies.yaml"), text), treasuryOf)
}

/** Its network, and somebody who takes money from both accounts at given blocks. */
const scenarioOf = (hot: string, warm: string): string => `sandbox:
  seed: ${keySeed}
  listen: "127.0.0.1:0"
  profile: "0.75"
  rateLimit: off
  pow: { difficulty: 1, pastBlocks: ${window}, txPerBlock: 2 }
  epochLength: 1h
  transfersPerEpoch: 400
  parties: [reserve, hot, warm, spender]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
    - { id: ${vega}, name: Vega, symbol: VEGA, decimals: 18, quantum: "1", builtin: {}, status: { enabled: 0 } }
  deposits:
    - { party: reserve, asset: USDT, amount: "5_000_000" }
    - { party: hot, asset: USDT, amount: "20_000" }
    - { party: warm, asset: USDT, amount: "20_000" }
  spenders:
    - { from: hot, to: spender, asset: USDT, ${hot} }
    - { from: warm, to: spender, asset: USDT, ${warm} }
`

/** Nobody takes money but when told to. */
export const lieScenario = scenarioOf("at: []", "at: []")
/** Money is taken by itself, from each account every so many blocks. */
export const restlessScenario = (blocks: number): string => {
  const every = (since: number) =>
    `at: [{ block: ${since}, amount: "${spent}" }], every: { blocks: ${blocks}, amount: "${spent}" }`
  return scenarioOf(every(4), every(4 + Math.floor(blocks / 2)))
}
