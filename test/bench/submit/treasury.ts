import { publicKeyOf } from "../../../src/sandbox/Keys.ts"

export const seed = "submit"
export const chainId = "submit-1"
export const asset = "ab".repeat(32)
export const blockMillis = 250
export const difficulty = 15

const names = (word: string) => Array.from({ length: 25 }, (_, n) => `${word}${n}`)
/** Who pays by the treasury, and who by the sequential client: two payments of each in a block need the least work. */
export const payers = names("payer")
export const others = names("other")
const lines = (all: ReadonlyArray<string>, line: (name: string) => string) => all.map(line).join("\n")

/** A treasury of many payers, and the network that they pay on: four blocks a second, no rate limit. */
export const treasuryText = (url: string): string => `version: 1
name: submit
mode: live
network: { chainId: ${chainId}, gateways: { node: "${url}" } }
assets: { USDT: { id: ${asset}, decimals: 6 } }
parties:
${lines(payers, (name) => `  ${name}: { publicKey: "${publicKeyOf(seed, name)}", signer: { sandbox: ${name} } }`)}
  hot: { publicKey: "${publicKeyOf(seed, "hot")}" }
rules: [{ name: new-asset, notify: { asset: any, becomes: [enabled] } }]
policy:
  maxFee: 0.2%
  allow:
    - from: [${payers.join(", ")}]
      to: [hot]
      asset: USDT
      perTransfer: "1"
      per24h: "1_000_000"
      transfersPer24h: 1000000
sandbox:
  seed: ${seed}
  listen: "127.0.0.1:0"
  rateLimit: off
  blockInterval: ${blockMillis}ms
  transfersPerEpoch: 1000000
  pow: { difficulty: ${difficulty}, pastBlocks: 100, txPerBlock: 2, increaseDifficulty: true }
  parties: [hot, ${[...payers, ...others].join(", ")}]
  assets:
    - { id: ${asset}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
  deposits:
${lines([...payers, ...others], (name) => `    - { party: ${name}, asset: USDT, amount: "1_000_000" }`)}
`
