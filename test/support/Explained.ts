import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Treasury } from "../../src/config/Treasury.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import { general } from "../../src/domain/Balance.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { type Body, effectOf } from "./it.ts"
import { intentOf } from "./Payments.ts"
import { testStore } from "./TestStore.ts"
import { type Fields, treasuryFrom } from "./treasury.ts"

/** 2027-01-15 08:00Z, a Friday. */
export const now = 1_800_000_000_000
const usdt = "c".repeat(64)
/** Unix nanoseconds of the newest block that is known. */
export const blockTime = BigInt(now - 1_000) * 1_000_000n
export const keys = { reserve: "a".repeat(64), hot: "b".repeat(64), eve: "e".repeat(64), cold: "d".repeat(64) }

export interface Words {
  /** More keys of the rule "keep". */
  readonly keep?: Fields
  /** Instead of the whole rule "keep"; a text names a file of rules. */
  readonly instead?: ReadonlyArray<Fields | string>
  /** More rules. */
  readonly rules?: ReadonlyArray<Fields>
  readonly policy?: Fields
  /** More top-level keys. */
  readonly more?: Fields
}

/** A treasury that brings hot, which has 500.00, from below 1,000 to 2,000. */
export const explainedFields = ({ keep, instead, rules = [], policy, more }: Words = {}): Fields => ({
  name: "test",
  mode: "live",
  network: { chainId: "c-1", gateways: { node: "http://127.0.0.1:1" } },
  assets: { USDT: { id: usdt, decimals: 2 } },
  parties: {
    reserve: { publicKey: keys.reserve, signer: { sandbox: "reserve" } },
    hot: { publicKey: keys.hot },
    eve: { publicKey: keys.eve },
    cold: { publicKey: keys.cold },
  },
  rules: [...(instead ?? [{ ...keepHot, priority: 50, ...keep }]), ...rules],
  policy: policy ?? { allow: [line] },
  ...more,
})

const keepHot = {
  name: "keep",
  topUp: { from: "reserve", levels: [{ party: "hot", asset: "USDT", below: "1_000", target: "2_000" }] },
}
export const line = {
  from: "reserve",
  to: ["hot", "eve", "cold"],
  asset: "USDT",
  perTransfer: "9_000",
  per24h: "20_000",
  transfersPer24h: 9,
}

export const explainedTreasury = (words: Words = {}) => treasuryFrom(explainedFields(words))

export const payment = (more: Partial<Intent> = {}): Intent =>
  intentOf("7", {
    subject: "hot/USDT",
    payment: {
      from: "reserve",
      fromKey: keys.reserve as Intent["payment"]["fromKey"],
      to: "hot",
      toKey: keys.hot as Intent["payment"]["toKey"],
      asset: "USDT",
      assetId: usdt,
      amount: baseUnits(12_345n),
    },
    decimals: 2,
    feeMax: 25n,
    detail: "410.00 is below 1,000",
    createdAt: now - 90_000,
    updatedAt: now - 90_000,
    ...more,
  })

const row = (party: string, balance: bigint, block: bigint) => {
  const timestamp = block - 10_000_000_000n
  return { timestamp, balance, party, asset: usdt, market: "", type: general }
}

export interface Rows {
  readonly hot?: bigint
  readonly reserve?: bigint
  readonly status?: string
  /** The rule's condition has held for a minute, and was seen three times. */
  readonly firing?: boolean
  readonly checked?: boolean
  /** Unix milliseconds of a real clock; undefined: the test's clock is set to `now`. */
  readonly at?: number
}

/** Rows under which nothing keeps the rule from paying, but for what is named. */
export const arrange = Effect.fnUntraced(function* (rows: Rows = {}) {
  const { hot = 50_000n, reserve = 10_000_000n, status = "STATUS_ENABLED", firing = true, checked = true } = rows
  if (rows.at === undefined) yield* TestClock.setTime(now)
  const timestamp = BigInt((rows.at ?? now) - 1_000) * 1_000_000n
  const balances = { [keys.hot]: hot, [keys.reserve]: reserve, [keys.eve]: 0n }
  yield* (yield* Observations).advance(
    Object.entries(balances).map(([party, balance]) => row(party, balance, timestamp)),
    { timestamp, height: 77n },
  )
  const listings = yield* Listings
  const asset = { id: usdt, name: "Tether", symbol: "USDT", decimals: 2, quantum: 100n, status }
  yield* listings.replace([{ ...asset, source: { kind: "builtin", maxFaucetAmountMint: "" } }])
  yield* listings.saveParameters(
    new Map([
      ["transfer.fee.factor", "0.001"],
      ["transfer.fee.maxQuantumAmount", "100"],
      ["transfer.minTransferQuantumMultiple", "0.1"],
    ]),
  )
  yield* seesHead(16)
  if (checked) yield* (yield* Drifts).check
  if (firing) yield* remember("keep", "hot/USDT", (rows.at ?? now) - 60_000)
})

/** The network asks for a proof of work of this difficulty. */
export const seesHead = Effect.fnUntraced(function* (difficulty: number) {
  const pow = { hashFunction: "sha3_24_rounds", difficulty, pastBlocks: 100, txPerBlock: 2, increasing: false }
  yield* (yield* ChainState).seeHead({ chainId: "c-1", height: 77n, pow })
})

/** What a rule remembers whose condition has held since a time. */
export const remember = Effect.fnUntraced(function* (rule: string, subject: string, since = now - 60_000) {
  const states = yield* RuleStates
  const timer = { firingSince: since, observations: 3, lastObservation: blockTime - 1n }
  const told = { state: "holding", reason: "pending", detail: "so far", reasonSince: since, decidedAt: since } as const
  yield* states.save({ rule, subject, episode: 1, ...timer, ...told }, undefined)
})

type Stored = Layer.Success<ReturnType<ReturnType<typeof testStore>["layer"]>>

/** A store in a file, with its treasury, on the test's clock. */
export const explained = (words: Words, use: Body<[treasury: Treasury], Stored>) => {
  const store = testStore()
  return Effect.flatMap(explainedTreasury(words), (treasury) => effectOf(use(treasury))).pipe(
    Effect.provide(store.layer()),
    Effect.ensuring(Effect.sync(store.remove)),
  )
}
