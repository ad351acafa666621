import { usdt, vega } from "./TestSandbox.ts"

/** Fewest zero bits that the network of the traffic asks for. */
export const difficulty = 1
/** Blocks of its window. */
export const pastBlocks = 20
const transfersPerEpoch = 100
const tradersCount = 50

/** Three assets with money in them (each with a quantum of one unit), one that never comes, one that was refused. */
export const coins = {
  usdt: { id: usdt, quantum: 10n ** 6n, from: 0 },
  vega: { id: vega, quantum: 10n ** 18n, from: 0 },
  sdai: { id: "b9".repeat(32), quantum: 10n ** 18n, from: 100 },
  gold: { id: "60".repeat(32), quantum: 10n ** 8n, from: Number.POSITIVE_INFINITY },
} as const

export const names = Array.from({ length: tradersCount }, (_, i) => `p${String(i).padStart(2, "0")}`)

/** A network of fifty parties with an epoch a minute; money comes in every few blocks, and spenders move some. */
export const trafficScenario = (seed: string, profile: string): string => {
  const deposit = (party: string, asset: string, amount: number, block: number) =>
    `    - { party: ${party}, asset: ${asset}, amount: "${amount}", block: ${block} }\n`
  const deposits = names.flatMap((name, i) => [
    deposit(name, "USDT", 2_000 + 10 * i, 1),
    deposit(name, "VEGA", 1_000, 2 + (i % 5)),
    deposit(name, "sDAI", 500, 100 + i),
    ...[1, 2, 3, 4, 5].map((n) => deposit(name, "USDT", 1_000, 100 * n + i)),
  ])
  return `sandbox:
  seed: ${seed}
  listen: "127.0.0.1:0"
  profile: "${profile}"
  rateLimit: off
  pow: { difficulty: ${difficulty}, pastBlocks: ${pastBlocks}, txPerBlock: 3, increaseDifficulty: true }
  epochLength: 60s
  transfersPerEpoch: ${transfersPerEpoch}
  parties: [${names.join(", ")}]
  assets:
    - { id: ${coins.usdt.id}, name: Tether, symbol: USDT, decimals: 6, quantum: "${coins.usdt.quantum}", builtin: {}, status: { enabled: 0 } }
    - { id: ${coins.vega.id}, name: Vega, symbol: VEGA, decimals: 18, quantum: "${coins.vega.quantum}", builtin: {}, status: { enabled: 0 } }
    - { id: ${coins.sdai.id}, name: Savings, symbol: sDAI, decimals: 18, quantum: "${coins.sdai.quantum}", erc20: { contractAddress: "0x83" }, status: { proposed: 5, pendingListing: 50, enabled: 100 } }
    - { id: ${coins.gold.id}, name: Gold, symbol: GOLD, decimals: 8, quantum: "${coins.gold.quantum}", erc20: { contractAddress: "0x84" }, status: { proposed: 20, pendingListing: 90 } }
    - { id: ${"d0".repeat(32)}, name: Dust, symbol: DUST, decimals: 2, quantum: "1", builtin: {}, status: { proposed: 30, rejected: 60 } }
  spenders:
    - { from: p00, to: p01, asset: USDT, at: [{ block: 9, amount: "700" }], every: { blocks: 7, amount: "35.5" } }
    - { from: p01, to: p49, asset: USDT, every: { blocks: 13, amount: "1_000_000" } }
    - { from: p02, to: p48, asset: sDAI, at: [{ block: 200, amount: "499" }, { block: 300, amount: "1" }] }
  deposits:
${deposits.join("")}`
}
