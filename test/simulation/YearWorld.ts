import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { publicKeyOf, writeKeys } from "../../src/sandbox/Keys.ts"
import { usdt } from "../support/TestSandbox.ts"
import { chainId, keySeed } from "./Network.ts"

export const keyOf = (name: string) => publicKeyOf(keySeed, name)
export const payers: ReadonlySet<string> = new Set([keyOf("reserve"), keyOf("maker")])
export const ruleNames = ["keep", "skim", "night", "small", "monthly", "leapday", "low"]

/** How long rows are kept in this year. */
export const keepDays = 60

export const dayMillis = 86_400_000
const hourMillis = 3_600_000
/** Middle Europe's clocks go back an hour on 31 October 2027, and forward an hour on 26 March 2028. */
const winterBegins = Date.parse("2027-10-31T01:00:00Z")
const winterEnds = Date.parse("2028-03-26T01:00:00Z")
/** The first day of the year in UTC; the daemon is started two hours before it, at midnight in Zurich. */
export const firstDay = Date.parse("2027-09-01T00:00:00Z")
export const yearBegins = firstDay - 2 * hourMillis
export const yearDays = 366

/** When a local time of a day is in Zurich: of two the first, of none as long after the clocks changed. */
export const zurich = (day: string, time: string): number => {
  const utc = Date.parse(`${day}T${time}:00Z`)
  const isWinter =
    utc - hourMillis >= winterBegins && utc - 2 * hourMillis >= winterBegins && utc - hourMillis < winterEnds
  const isSkipped = utc - hourMillis >= winterEnds && utc - 2 * hourMillis < winterEnds
  return isWinter || isSkipped ? utc - hourMillis : utc - 2 * hourMillis
}

/** The plan of each payout: its days, and its local time. */
export interface Planned {
  readonly rule: string
  readonly time: string
  readonly isOn: (date: string) => boolean
}

/** What the operator asks for, and how closely the treasury looks. */
export interface YearPlan {
  /** Cron text of the payout at night, and the days that it means. */
  readonly nights: string
  readonly isNight: Planned["isOn"]
  /** Minutes of each day (UTC) at which there is a block and a look. */
  readonly looks: ReadonlyArray<number>
  readonly maxAge: string
  readonly reconcile: string
  /** What the network lets a party send in an epoch while that is scarce. */
  readonly scarceTransfers: number
  /** Base units that each of the accounts loses, or gains, in a day: hot, warm, maker. */
  readonly perDay: readonly [bigint, bigint, bigint]
}

export const plannedOf = ({ isNight }: YearPlan): ReadonlyArray<Planned> => [
  { rule: "night", time: "02:30", isOn: isNight },
  { rule: "small", time: "12:00", isOn: (date) => /-[12]0$/.test(date) },
  { rule: "monthly", time: "09:00", isOn: (date) => date.endsWith("-01") },
  { rule: "leapday", time: "09:00", isOn: (date) => date.endsWith("-02-29") },
]

/** The payout at night comes each night, and there are blocks and looks five times a day. */
export const wholeYear: YearPlan = {
  nights: "30 2 * * *",
  isNight: () => true,
  looks: [30, 90, 420, 780, 1_140],
  maxAge: "12h",
  reconcile: "5m",
  scarceTransfers: 2,
  perDay: [4_000_000_000n, 2_000_000_000n, 5_000_000_000n],
}

/** The same year with one look a day, and a payout on few nights: those in which clocks change are among them. */
export const shortYear: YearPlan = {
  nights: "30 2 26,31 * *",
  isNight: (date) => /-(26|31)$/.test(date),
  looks: [90],
  maxAge: "30h",
  reconcile: "167h",
  scarceTransfers: 1,
  perDay: [400_000_000n, 150_000_000n, 500_000_000n],
}

/** The treasury of the year. */
export const yearTreasury = (dir: string, { nights, maxAge, reconcile }: YearPlan) => {
  mkdirSync(dir, { recursive: true })
  writeKeys(dir, keySeed, ["reserve", "maker"])
  const text = `version: 1
name: year
mode: live
network: { chainId: ${chainId}, gateways: { only: "http://127.0.0.1:1" }, requestDeadline: 3s, maxAge: ${maxAge}, reconcile: ${reconcile} }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
parties:
  reserve: { publicKey: "${keyOf("reserve")}", signer: { file: keys/reserve }, floor: { USDT: "100_000" } }
  maker: { publicKey: "${keyOf("maker")}", signer: { file: keys/maker } }
  hot: { publicKey: "${keyOf("hot")}" }
  warm: { publicKey: "${keyOf("warm")}" }
  ops: { publicKey: "${keyOf("ops")}" }
rules:
  - name: night
    payout: { from: reserve, to: ops, asset: USDT, amount: "40" }
    schedule: { cron: "${nights}", location: Europe/Zurich }
    priority: 9
  - name: small
    payout: { from: reserve, to: ops, asset: USDT, amount: "5" }
    schedule: { cron: "0 12 10,20 * *", location: Europe/Zurich }
    priority: 8
  - name: monthly
    payout: { from: reserve, to: ops, asset: USDT, amount: "4_000" }
    schedule: { cron: "0 9 1 * *", location: Europe/Zurich }
    priority: 8
  - name: leapday
    payout: { from: reserve, to: ops, asset: USDT, amount: "29" }
    schedule: { cron: "0 9 29 2 *", location: Europe/Zurich }
    priority: 8
  - name: keep
    topUp:
      from: reserve
      levels:
        - { party: hot, asset: USDT, below: "10_000", target: "20_000" }
        - { party: warm, asset: USDT, below: "8_000", target: "15_000" }
    for: 1s
    cooldown: 1m
  - name: skim
    sweep: { from: maker, to: reserve, asset: USDT, above: "60_000", target: "20_000" }
    for: 1s
    cooldown: 1h
  - name: low
    notify: { when: { balance: { party: warm, asset: USDT, below: "8_000" } }, severity: info }
policy:
  maxFee: 0.5%
  allow:
    - { from: reserve, to: [hot, warm], asset: USDT, perTransfer: "25_000", per24h: "150_000", transfersPer24h: 12 }
    - { from: reserve, to: [ops], asset: USDT, perTransfer: "4_000", per24h: "5_000", transfersPer24h: 6 }
    - { from: maker, to: [reserve], asset: USDT, perTransfer: "100_000", per24h: "200_000", transfersPer24h: 6 }
store: { keep: ${keepDays}d }
`
  return Effect.flatMap(parseYaml(join(dir, "year.yaml"), text), treasuryOf)
}

/**
 * The network of the year. An epoch is a little shorter than a day, so that the first look of each day begins one:
 * epochs begin with a block, and here blocks are far apart.
 */
export const yearScenario = `sandbox:
  seed: ${keySeed}
  listen: "127.0.0.1:0"
  profile: "0.74"
  rateLimit: off
  pow: { difficulty: 1, pastBlocks: 100, txPerBlock: 2 }
  epochLength: 1430m
  transfersPerEpoch: 20
  feeMaxQuantum: 1000
  parties: [reserve, maker, hot, warm, ops, spender]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
  deposits:
    - { party: reserve, asset: USDT, amount: "2_000_000" }
    - { party: maker, asset: USDT, amount: "30_000" }
    - { party: hot, asset: USDT, amount: "15_000" }
    - { party: warm, asset: USDT, amount: "12_000" }
    - { party: spender, asset: USDT, amount: "50_000" }
  spenders:
    - { from: hot, to: spender, asset: USDT, at: [] }
    - { from: warm, to: spender, asset: USDT, at: [] }
    - { from: spender, to: maker, asset: USDT, at: [] }
`
