import { accountTypeNumbers } from "../../src/domain/AccountType.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import { Command } from "../../src/domain/Command.ts"
import type { Draft, Sent, Trader, Traffic } from "./Traffic.ts"
import { coins, pastBlocks } from "./TrafficScenario.ts"

/** Something that a party may do. */
interface Action {
  readonly name: string
  /** How often, beside the others. */
  readonly weight: number
  /** What to sign, or bytes of earlier; undefined where there is nothing to do it with yet. */
  readonly draft: (traffic: Traffic, from: Trader) => Draft | Sent | undefined
  /** What the mempool may say to it, as "code text"; "known" where it would not look at the bytes. */
  readonly says: RegExp
  /** What a block may make of it; undefined where no block may ever take it. */
  readonly ends?: RegExp
}

const { ACCOUNT_TYPE_GENERAL: general, ACCOUNT_TYPE_NETWORK_TREASURY: treasury } = accountTypeNumbers
const nobody = "0".repeat(64)

type Coin = (typeof coins)[keyof typeof coins]

const coinOf = ({ dice, chain }: Traffic): Coin =>
  dice.pick(Object.values(coins).filter(({ from }) => from <= chain.height)) ?? coins.usdt

/** From a tenth of a quantum to some four hundred, small ones as often as large ones. */
const amountOf = ({ dice }: Traffic, { quantum }: Coin): bigint =>
  (BigInt(Math.floor(1_000 * 10 ** (3.6 * dice.next()))) * quantum) / 10_000n

const transfer = (
  traffic: Traffic,
  change: {
    readonly coin?: Coin
    readonly amount?: bigint
    readonly to?: string
    readonly toAccountType?: number
    readonly kind?: Extract<Command, { _tag: "Transfer" }>["kind"]
  } = {},
): Command => {
  const coin = change.coin ?? coinOf(traffic)
  return Command.cases.Transfer.make({
    fromAccountType: general,
    to: change.to ?? traffic.dice.pick(traffic.traders)?.publicKey ?? nobody,
    toAccountType: change.toAccountType ?? general,
    asset: coin.id,
    amount: baseUnits(change.amount ?? amountOf(traffic, coin)),
    reference: traffic.dice.below(3) === 0 ? `rent ${traffic.count}` : "",
    kind: change.kind ?? { _tag: "OneOff", deliverOn: 0n },
  })
}

/** Delivered up to two minutes later, now and then in the past. */
const later = ({ dice, chain }: Traffic) => ({
  _tag: "OneOff" as const,
  deliverOn: chain.time + BigInt(dice.below(120) - 5) * 1_000_000_000n,
})

const everyEpoch = ({ dice, chain }: Traffic) => {
  const startEpoch = BigInt(Math.max(1, chain.epoch.seq - 1 + dice.below(4)))
  return {
    _tag: "Recurring" as const,
    startEpoch,
    factor: dice.pick(["1", "1.05", "0.9", "2", "+5e-1"]) ?? "1",
    ...(dice.below(3) === 0 ? {} : { endEpoch: startEpoch + BigInt(dice.below(4)) }),
  }
}

const cancel = (transferId: string) => Command.cases.CancelTransfer.make({ transferId })

const withdraw = (coin: Coin, amount: bigint, receiverAddress?: string) =>
  Command.cases.Withdraw.make({
    asset: coin.id,
    amount: baseUnits(amount),
    ...(receiverAddress === undefined ? {} : { receiverAddress }),
  })

const tens = (traffic: Traffic, { quantum }: Coin): bigint => quantum * BigInt(10 + traffic.dice.below(30))

/** A transaction that stands in a block and whose guards hold for some blocks yet. */
const guarded = ({ dice, chain, recent }: Traffic): Sent | undefined =>
  dice.pick(recent.filter(({ height }) => height > chain.height - pastBlocks + 3))

/** A transaction of the height that this block sees for the last time. */
const inLastBlock = ({ dice, chain, recent }: Traffic): Sent | undefined =>
  dice.pick(recent.filter(({ height }) => height === chain.height - pastBlocks + 1))

const byOwner = (sent: Sent | undefined): Draft | undefined =>
  sent === undefined ? undefined : { command: cancel(sent.id), from: sent.from }

const again = (sent: Sent | undefined): Draft | undefined =>
  sent === undefined ? undefined : { command: sent.command, from: sent.from, nonce: sent.nonce, height: sent.height }

const short = "could not transfer funds, (not enough funds to transfer|account does not exist: !\\w+)"
const limit = "89 party has already submitted the maximum number of transfer requests per epoch"
const paid = new RegExp(`^(0 |70 ${short})$`)
const paying = new RegExp(`^(0 |70 ${short}|${limit})$`)
const counted = new RegExp(`^(0 |${limit})$`)
const noSuch = "recurring transfer does not exists"
const withdrawn = /^(0 |70 not enough funds to withdraw)$/
const taken = /^0 $/

/** Everything that the parties do, right and wrong. */
export const actions: ReadonlyArray<Action> = [
  { name: "pay", weight: 540, draft: (t) => ({ command: transfer(t) }), says: paying, ends: paid },
  {
    name: "pay later",
    weight: 60,
    draft: (t) => ({ command: transfer(t, { kind: later(t) }) }),
    says: paying,
    ends: paid,
  },
  {
    name: "pay the treasury",
    weight: 10,
    draft: (t) => ({ command: transfer(t, { to: nobody, toAccountType: treasury }) }),
    says: paying,
    ends: paid,
  },
  {
    name: "pay each epoch",
    weight: 50,
    draft: (t) => ({ command: transfer(t, { kind: everyEpoch(t) }) }),
    says: paying,
    ends: new RegExp(`^(0 |70 (${short}|cannot submit duplicate .*|start epoch in the past))$`),
  },
  {
    name: "cancel one's own",
    weight: 15,
    draft: (t) => byOwner(t.dice.pick(t.standing)),
    says: counted,
    ends: new RegExp(`^(0 |70 ${noSuch})$`),
  },
  {
    name: "cancel another's",
    weight: 10,
    draft: (t, from) => {
      const sent = t.dice.pick(t.standing.filter((one) => one.from !== from))
      return sent === undefined ? undefined : { command: cancel(sent.id) }
    },
    says: counted,
    ends: new RegExp(`^70 (cannot cancel other parties recurring transfers|${noSuch})$`),
  },
  {
    name: "cancel nothing",
    weight: 5,
    draft: (t) => ({ command: cancel(t.dice.pick(["ab", "cd"])?.repeat(32) ?? nobody) }),
    says: counted,
    ends: new RegExp(`^70 ${noSuch}$`),
  },
  {
    name: "withdraw",
    weight: 25,
    draft: (t) => ({ command: withdraw(coins.usdt, tens(t, coins.usdt)) }),
    says: taken,
    ends: withdrawn,
  },
  {
    name: "withdraw over the bridge",
    weight: 20,
    draft: (t) => ({ command: withdraw(coins.sdai, tens(t, coins.sdai), `0x${"5a".repeat(20)}`) }),
    says: taken,
    ends: /^(0 |70 (not enough funds to withdraw|asset does not exist))$/,
  },
  {
    name: "withdraw over the bridge to nowhere",
    weight: 10,
    draft: (t) => ({ command: withdraw(coins.sdai, tens(t, coins.sdai)) }),
    says: taken,
    ends: /^70 (missing withdraw submission erc20 ext|asset does not exist)$/,
  },
  {
    name: "withdraw too much",
    weight: 10,
    draft: () => ({ command: withdraw(coins.vega, 10n ** 30n) }),
    says: taken,
    ends: /^70 not enough funds to withdraw$/,
  },
  {
    name: "withdraw too little",
    weight: 10,
    draft: () => ({ command: withdraw(coins.usdt, 10n * coins.usdt.quantum - 1n) }),
    says: taken,
    ends: /^70 invalid withdrawal, the amount is less than the minimum$/,
  },
  {
    name: "break the signature",
    weight: 12,
    draft: (t) => ({ command: transfer(t), signature: "broken" }),
    says: /^60 tx\.signature\.value \(invalid signature\)$/,
  },
  {
    name: "sign for another chain",
    weight: 8,
    draft: (t) => ({ command: transfer(t), chainId: "sandbox-2" }),
    says: /^60 tx\.signature\.value \(invalid signature\)$/,
  },
  {
    name: "work too little",
    weight: 15,
    draft: (t) => ({ command: transfer(t), work: "weak" }),
    says: /^89 failed to verify proof of work$/,
  },
  {
    name: "work on a block that is too old or not yet there",
    weight: 10,
    draft: (t) => ({
      command: transfer(t),
      height: t.dice.below(2) === 0 ? t.chain.height + 1 : Math.max(0, t.chain.height - pastBlocks),
    }),
    says: /^89 unknown block height for tx:\w{64}, command:Transfer Funds, party:\w{64}$/,
  },
  {
    name: "send the same bytes again",
    weight: 25,
    draft: guarded,
    says: /^(known|89 (transaction hash already used|proof of work tid already seen by the node))$/,
  },
  {
    name: "use a nonce twice",
    weight: 12,
    draft: (t) => {
      const sent = guarded(t)
      return sent === undefined ? undefined : { command: transfer(t), from: sent.from, nonce: sent.nonce }
    },
    says: /^89 nonce already used by party$/,
  },
  {
    name: "use work twice",
    weight: 12,
    draft: (t) => {
      const sent = guarded(t)
      return sent === undefined ? undefined : { command: transfer(t), tid: sent.tid }
    },
    says: /^89 proof of work tid already (used|seen by the node)$/,
  },
  {
    name: "sign the same again, with new work in the last block of its window",
    weight: 25,
    draft: (t) => again(inLastBlock(t)),
    says: /^(known|0 |70 .+|89 (nonce already used by party|party has already .+))$/,
    ends: /^(0 |70 .+)$/,
  },
  {
    name: "pay too little",
    weight: 12,
    draft: (t) => ({ command: transfer(t, { coin: coins.usdt, amount: coins.usdt.quantum / 10n - 1n }) }),
    says: new RegExp(`^(70 could not transfer funds, less than minimal amount requested to transfer|${limit})$`),
  },
  {
    name: "pay too much",
    weight: 12,
    draft: (t) => ({ command: transfer(t, { coin: coins.vega, amount: 10n ** 30n }) }),
    says: new RegExp(`^(70 ${short}|${limit})$`),
  },
  {
    name: "pay in what is not listed",
    weight: 12,
    draft: (t) => ({ command: transfer(t, { coin: coins.gold }) }),
    says: new RegExp(`^(70 could not transfer funds, asset does not exist|${limit})$`),
  },
]
