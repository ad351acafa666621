import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { usdt } from "../support/TestSandbox.ts"

/** Of all runs: keys follow from it. */
export const keySeed = "crash"
export const payer: string = publicKeyOf(keySeed, "reserve")
/** The rule that pays. */
export const rule = "keep"

export interface TreasuryPlaces {
  readonly networkUrl: string
  readonly receiverUrl: string
  /** Nobody spends any more, so that payments come to an end. */
  readonly calm: boolean
}

const key = (name: string) => publicKeyOf(keySeed, name)

/** Assets whose listing changes every three seconds or so, so that there is always something to alert about. */
const newcomers = Array.from({ length: 100 }, (_, i) => {
  const id = (i + 1).toString(16).padStart(64, "0")
  const from = 4 + 45 * i
  const status = `proposed: ${from}, pendingListing: ${from + 15}, enabled: ${from + 30}`
  return `    - { id: "${id}", name: Newcomer ${i}, symbol: N${i}, decimals: 6, quantum: 1, builtin: {}, status: { ${status} } }`
})

/** Money leaves all the time, and each loss needs a payment. */
const spenders = `  spenders:
    - { from: hot, to: spender, asset: USDT, at: [{ block: 3, amount: "16_000" }], every: { blocks: 4, amount: "16_000" } }
    - { from: warm, to: spender, asset: USDT, at: [{ block: 4, amount: "16_000" }], every: { blocks: 5, amount: "16_000" } }
    - { from: cold, to: spender, asset: USDT, at: [{ block: 5, amount: "16_000" }], every: { blocks: 7, amount: "16_000" } }
`

/** The file of both processes: a treasury that is in a hurry, and a network that makes five blocks a second. */
export const treasuryText = ({ networkUrl, receiverUrl, calm }: TreasuryPlaces): string => `version: 1
name: crash
mode: live
network: { chainId: crash-1, gateways: { only: "${networkUrl}" }, requestDeadline: 1s, poll: { busy: 100ms, idle: 200ms } }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
parties:
  reserve: { publicKey: "${payer}", signer: { sandbox: reserve } }
  hot: { publicKey: "${key("hot")}" }
  warm: { publicKey: "${key("warm")}" }
  cold: { publicKey: "${key("cold")}" }
rules:
  - name: ${rule}
    topUp:
      from: reserve
      levels:
        - { party: hot, asset: USDT, below: "10_000", target: "25_000" }
        - { party: warm, asset: USDT, below: "10_000", target: "25_000" }
        - { party: cold, asset: USDT, below: "10_000", target: "25_000" }
    for: 200ms
    cooldown: 200ms
  - name: any-asset
    notify: { asset: any, becomes: [proposed, rejected, pendingListing, enabled] }
policy:
  allow:
    - { from: reserve, to: [hot, warm, cold], asset: USDT, perTransfer: "25_000", per24h: "1_000_000_000", transfersPer24h: 100000 }
alerts:
  receivers:
    log: { log: {} }
    desk: { webhook: { url: "${receiverUrl}" } }
daemon: { listen: "127.0.0.1:0" }
sandbox:
  seed: ${keySeed}
  listen: "${networkUrl.replace("http://", "")}"
  # Before it a third party could repeat a payment in the last block of its window: no fault of the daemon's.
  profile: "0.79"
  blockInterval: 200ms
  rateLimit: off
  pow: { difficulty: 4, pastBlocks: 20, txPerBlock: 2, increaseDifficulty: true }
  transfersPerEpoch: 100000
  parties: [reserve, hot, warm, cold, spender]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
${newcomers.join("\n")}
  deposits:
    - { party: hot, asset: USDT, amount: "24_000" }
    - { party: warm, asset: USDT, amount: "24_000" }
    - { party: cold, asset: USDT, amount: "24_000" }
    - { party: reserve, asset: USDT, amount: "1_000_000_000" }
${calm ? "" : spenders}`
