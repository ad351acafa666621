import { publicKeyOf } from "../../../src/sandbox/Keys.ts"

const asset = "ab".repeat(32)

const paceText = (speed: number) => `, poll: { busy: ${1_000 / speed}ms, idle: ${2_000 / speed}ms }`

/** A treasury with the default pace, and the network that it pays on: money leaves `hot` in the given blocks. */
export const treasuryText = (
  url: string,
  seed: string,
  fallBlocks: ReadonlyArray<number>,
  speed = 1,
): string => `version: 1
name: latency
mode: live
network: { chainId: latency-1, gateways: { node: "${url}" }${speed === 1 ? "" : paceText(speed)} }
assets: { USDT: { id: ${asset}, decimals: 6 } }
parties:
  reserve: { publicKey: "${publicKeyOf(seed, "reserve")}", signer: { sandbox: reserve } }
  hot: { publicKey: "${publicKeyOf(seed, "hot")}" }
rules:
  - name: keep-hot-funded
    topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: "25_000" }] }
policy:
  maxFee: 0.2%
  allow:
    - { from: reserve, to: [hot], asset: USDT, perTransfer: "25_000", per24h: "100_000_000", transfersPer24h: 1000 }
daemon: { listen: "127.0.0.1:0" }
sandbox:
  seed: "${seed}"
  listen: "127.0.0.1:0"
  transfersPerEpoch: 1000
  pow: { difficulty: 15, pastBlocks: 100, txPerBlock: 2, increaseDifficulty: true }
  parties: [hot, reserve, spender]
  assets:
    - { id: ${asset}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
  deposits:
    - { party: hot, asset: USDT, amount: "25_000" }
    - { party: reserve, asset: USDT, amount: "100_000_000" }
  spenders:
    - { from: hot, to: spender, asset: USDT, at: [${fallBlocks.map((block) => `{ block: ${block}, amount: "16_000" }`).join(", ")}] }
`
