/** Parties that send money to each other in the benchmark. */
export const partiesCount = 120
export const seed = "bench"
export const chainId = "bench-1"
export const asset = "ab".repeat(32)
export const nameOf = (party: number): string => `p${String(party).padStart(3, "0")}`
const names = Array.from({ length: partiesCount }, (_, party) => nameOf(party))

/** A treasury file whose network asks for the least work and limits nobody. */
export const treasuryText = `version: 1
name: bench
mode: observe
network: { chainId: ${chainId}, gateways: { sandbox: "http://127.0.0.1:1" } }
assets: { USDT: { id: ${asset}, decimals: 6 } }
parties: { hot: { publicKey: "${"ab".repeat(32)}" } }
sandbox:
  seed: ${seed}
  listen: "127.0.0.1:0"
  profile: "0.75"
  blockInterval: 1s
  rateLimit: off
  pow: { difficulty: 1, pastBlocks: 200, txPerBlock: 1000000, increaseDifficulty: false }
  transfersPerEpoch: 1000000
  parties: [${names.join(", ")}]
  assets:
    - { id: ${asset}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1", builtin: {}, status: { enabled: 0 } }
  deposits:
${names.map((name) => `    - { party: ${name}, asset: USDT, amount: "1_000_000" }`).join("\n")}
`
