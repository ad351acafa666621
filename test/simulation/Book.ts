import { join } from "node:path"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { deskText } from "../support/Operators.ts"
import { usdt } from "../support/TestSandbox.ts"
import { chainId, keySeed } from "./Network.ts"

export const unit = 1_000_000n

/** A planned payment of the reserve to ops. Each has an amount of its own, so that the ledger shows whose it was. */
export interface Payout {
  readonly rule: string
  /** Whole units. */
  readonly amount: number
  /** Seconds of each minute at which it is due. */
  readonly seconds: ReadonlyArray<number>
  /** Minutes after the start in which it is planned, from 0 to before this. */
  readonly minutes: number
  readonly missed: "once" | "skip"
  readonly lateSeconds: number
}

/** What the operator wrote, as far as it differs from run to run. Amounts are whole units. */
export interface Book {
  /** What the network's names of its parties begin with: empty but for the second of two treasuries. */
  readonly who: string
  /** The `who` of another treasury, whose reserve this one keeps filled. */
  readonly funds: string | undefined
  /** Name of the rule that keeps accounts filled. */
  readonly keep: string
  readonly perTransfer: number
  readonly per24h: number
  /** Up to which hot and warm are filled. */
  readonly targets: readonly [hot: number, warm: number]
  /** Of the reserve; undefined: it has none. */
  readonly floor: number | undefined
  readonly payouts: ReadonlyArray<Payout>
  /** What becomes of money that comes to the maker. */
  readonly maker: "split" | "withdraw" | undefined
  /** Who must approve payouts above an amount. */
  readonly approval: { readonly above: number; readonly need: 1 | 2; readonly withinSeconds: number } | undefined
}

/** The treasury of runs without anything else. */
export const plainBook: Book = {
  who: "",
  funds: undefined,
  keep: "keep",
  perTransfer: 25_000,
  per24h: 150_000,
  targets: [20_000, 15_000],
  floor: undefined,
  payouts: [],
  maker: undefined,
  approval: undefined,
}

const keys = new Map<string, ReturnType<typeof publicKeyOf>>()

/** The key of a party of this treasury. */
export const keyIn = ({ who }: Pick<Book, "who">, name: string) => {
  const party = `${who}${name}`
  const key = keys.get(party) ?? publicKeyOf(keySeed, party)
  keys.set(party, key)
  return key
}

/** What a treasury that another one funds holds, up to which it is filled, and below which: whole units. */
export const funded = { first: 200_000, target: 200_000, below: 190_000, per24h: 400_000 } as const

/** Where money may be withdrawn to. */
export const coldAddress = `0x${"c0".repeat(20)}`
/** The share of ops and aux of what the maker gets. */
export const shares = { ops: 2n, aux: 1n } as const

/** Of one of two payouts in a day: the network lets an account send twenty times in an epoch. */
const timesMax = 10

/** The payouts of a run of so many milliseconds. */
const payoutsOf = (dice: Dice, millis: number): Book["payouts"] =>
  Array.from({ length: 1 + dice.below(2) }, (_, i) => {
    const every = dice.pick([15, 20, 30, 60]) ?? 30
    return {
      rule: `payout-${i + 1}`,
      amount: (dice.pick([40, 90, 150, 300]) ?? 40) + i,
      seconds: Array.from({ length: 60 / every }, (_, n) => n * every + dice.below(every)),
      minutes: Math.min(Math.floor(millis / 60_000) + 1, Math.floor((timesMax * every) / 60)),
      missed: dice.next() < 0.5 ? "once" : "skip",
      lateSeconds: dice.pick([5, 10, 20]) ?? 10,
    }
  })

/** A book for a run of so many milliseconds; undefined: the plain one. */
export const drawBook = (dice: Dice, millis: number): Book | undefined => {
  const [hasPayouts, hasMaker, hasFloor, needsApproval] = [0.6, 0.4, 0.3, 0.4].map((share) => dice.next() < share)
  const payouts = hasPayouts === true ? payoutsOf(dice, millis) : []
  const maker = hasMaker === true ? (dice.next() < 0.6 ? "split" : "withdraw") : undefined
  const floor = hasFloor === true ? 20_000 + dice.below(20_000) : undefined
  if (payouts.length === 0 && maker === undefined && floor === undefined) return undefined
  const need = dice.next() < 0.5 ? 1 : 2
  const approval = { above: 100, need, withinSeconds: 60 + dice.below(60) } as const
  const isAsked = needsApproval === true && payouts.length > 0
  return { ...plainBook, payouts, maker, floor, approval: isAsked ? approval : undefined }
}

/** The same, with planned payments, each paid late rather than not at all. */
export const withPayouts = (seed: number, book: Book, millis: number): Book => ({
  ...book,
  payouts: payoutsOf(makeDice(`payouts ${seed}`), millis).map((one) => ({ ...one, missed: "once", lateSeconds: 20 })),
})

/** What the same operator writes later; each harder or softer than what was there before, or only named otherwise. */
export const rewritten = (dice: Dice, before: Book): { readonly book: Book; readonly how: string } => {
  const drawn = dice.next()
  if (drawn < 0.3) {
    const perTransfer = 12_000 + dice.below(2_000)
    return { how: "tightened", book: { ...before, perTransfer, targets: [perTransfer, 10_000] } }
  }
  if (drawn < 0.7) {
    const perTransfer = Math.max(before.perTransfer, 25_000) + 15_000
    const targets = [34_000, 30_000] as const
    return { how: "weakened", book: { ...before, perTransfer, targets } }
  }
  return { how: "renamed", book: { ...before, keep: before.keep === "keep" ? "fill" : "keep" } }
}

/** Whether the one permits something that the other does not. */
export const permitsMore = (book: Book, before: Book): boolean => book.perTransfer > before.perTransfer

const amountText = (whole: number): string => `"${String(whole).replace(/\B(?=(\d{3})+$)/g, "_")}"`

const payoutText = (one: Payout, start: Date): string => {
  const { rule, amount, seconds, minutes, missed, lateSeconds } = one
  const from = start.getUTCMinutes()
  const cron = `${from}-${from + minutes - 1} ${start.getUTCHours()} * * *`
  return `  - name: ${rule}
    payout: { from: reserve, to: ops, asset: USDT, amount: ${amountText(amount)} }
    schedule: { cron: "${cron}", seconds: "${seconds.join(",")}", missed: ${missed}, late: ${lateSeconds}s }
    priority: 8
`
}

const makerRules = {
  split: `  - name: share
    split: { from: maker, asset: USDT, above: "3_000", target: "300", to: { ops: ${shares.ops}, aux: ${shares.aux} } }
    for: 500ms
`,
  withdraw: `  - name: take-out
    withdraw: { from: maker, asset: USDT, above: "3_000", target: "300", to: cold }
    for: 500ms
`,
} as const

const makerLines = {
  split:
    '    - { from: maker, to: [ops, aux], asset: USDT, perTransfer: "20_000", per24h: "60_000", transfersPer24h: 40 }\n',
  withdraw:
    '    - { from: maker, to: [cold], asset: USDT, perTransfer: "20_000", per24h: "60_000", transfersPer24h: 40 }\n',
} as const

const fundingRule = `  - name: fund
    topUp: { from: reserve, levels: [{ party: funded, asset: USDT, below: ${amountText(funded.below)}, target: ${amountText(funded.target)} }] }
    for: 500ms
    cooldown: 1s
`
const fundingLine = `    - { from: reserve, to: [funded], asset: USDT, perTransfer: ${amountText(funded.target)}, per24h: ${amountText(funded.per24h)}, transfersPer24h: 40 }\n`

/** What may be paid out in a day, in whole units: what is planned beyond it is refused when the file is read. */
export const payoutSum = ({ payouts }: Book): { readonly times: number; readonly most: number } => {
  const sum = (of: (one: Payout) => number) =>
    payouts.reduce((all, one) => all + one.seconds.length * one.minutes * of(one), 0)
  return {
    times: Math.max(
      40,
      sum(() => 1),
    ),
    most: Math.max(
      4_000,
      sum(({ amount }) => amount),
    ),
  }
}

/** The treasury file. Keys lie in `keys` beside it; it does not name its own place, so that its hash is the same. */
export const bookText = (book: Book, network: string, startMillis: number): string => {
  const { who, funds, keep, perTransfer, per24h, targets, floor, payouts, maker, approval } = book
  const key = (name: string) => keyIn(book, name)
  const start = new Date(startMillis)
  const asked = approval === undefined ? "" : `, approval: desk, approvalAbove: ${amountText(approval.above)}`
  const parties = [
    ...(maker === undefined ? [] : [`  maker: { publicKey: "${key("maker")}", signer: { file: keys/${who}maker } }\n`]),
    ...(payouts.length === 0 && maker !== "split" ? [] : [`  ops: { publicKey: "${key("ops")}" }\n`]),
    ...(maker === "split" ? [`  aux: { publicKey: "${key("aux")}" }\n`] : []),
    ...(funds === undefined ? [] : [`  funded: { publicKey: "${keyIn({ who: funds }, "reserve")}" }\n`]),
  ]
  const { times, most } = payoutSum(book)
  const lines = [
    ...(payouts.length === 0
      ? []
      : [
          `    - { from: reserve, to: [ops], asset: USDT, perTransfer: "500", per24h: ${amountText(most)}, transfersPer24h: ${times}${asked} }\n`,
        ]),
    ...(maker === undefined ? [] : [makerLines[maker]]),
    ...(funds === undefined ? [] : [fundingLine]),
  ]
  const floorText = floor === undefined ? "" : `, floor: { USDT: ${amountText(floor)} }`
  return `version: 1
name: ${who}simulation
mode: live
network: { chainId: ${chainId}, ${network}, requestDeadline: 3s, fee: { factor: "0.001", maxQuantum: "1" } }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
${maker === "withdraw" ? `addresses: { cold: "${coldAddress}" }\n` : ""}parties:
  reserve: { publicKey: "${key("reserve")}", signer: { file: keys/${who}reserve }${floorText} }
  hot: { publicKey: "${key("hot")}" }
  warm: { publicKey: "${key("warm")}" }
${parties.join("")}rules:
  - name: ${keep}
    topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: ${amountText(targets[0])} }, { party: warm, asset: USDT, below: "8_000", target: ${amountText(targets[1])} }] }
    for: 500ms
    cooldown: 1s
${payouts.map((one) => payoutText(one, start)).join("")}${maker === undefined ? "" : makerRules[maker]}${funds === undefined ? "" : fundingRule}policy:
  maxFee: 0.5%
  allow:
    - { from: reserve, to: [hot, warm], asset: USDT, perTransfer: ${amountText(perTransfer)}, per24h: ${amountText(per24h)}, transfersPer24h: 40 }
${lines.join("")}${approval === undefined ? "" : `${deskText(approval.need, `${approval.withinSeconds}s`)}\n`}`
}

/** Where a treasury of this text is written: beside its keys. */
export const bookFile = (dir: string): string => join(dir, "simulation.yaml")
