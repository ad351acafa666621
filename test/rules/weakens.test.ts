import { assert, describe, it } from "@effect/vitest"
import { type BaseUnits, baseUnits } from "../../src/domain/Amount.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Party } from "../../src/rules/Account.ts"
import {
  countedIn,
  feeMax,
  judgePolicy,
  type Policy,
  type PolicyLine,
  type PolicyPayment,
  periodUse,
} from "../../src/rules/policy/Policy.ts"
import { type Terms, weakens } from "../../src/rules/policy/weakens.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { intentOf } from "../support/Payments.ts"

const keys = ["a", "b", "c", "d"]
const usdt = { symbol: "USDT", id: "u", decimals: 0 }
const vega = { symbol: "VEGA", id: "v", decimals: 0 }

const party = (name: string, floor = 0n, transfersKept = 0): Party => ({
  name,
  publicKey: name as PublicKey,
  signer: { file: name },
  floor: new Map([["u", floor as BaseUnits]]),
  transfersKept,
})

const line = (n: number, part: Partial<PolicyLine> = {}): PolicyLine => ({
  line: n,
  from: new Set(["a"]),
  to: new Set(["b"]),
  assetId: "u",
  perTransfer: 10n as BaseUnits,
  per24h: 100n as BaseUnits,
  transfersPer24h: 10,
  ...part,
})

const termsWith = (lines: ReadonlyArray<PolicyLine>, part: Partial<Terms> = {}): Terms => ({
  mode: "live",
  policy: { maxFee: { numerator: 2n, denominator: 1_000n }, lines, digest: "", hash: "" },
  parties: new Map(keys.map((name) => [name, party(name)])),
  assets: new Map([usdt, vega].map((asset) => [asset.symbol, asset])),
  maxAgeMillis: 30_000,
  quorum: 2,
  chainId: "c-1",
  code: ["c0de"],
  ...part,
})

const base = termsWith([line(1)])
const withLine = (part: Partial<PolicyLine>) => termsWith([line(1, part)])

const pinned = (asset: typeof usdt): Terms => ({ ...base, assets: new Map([[asset.symbol, asset]]) })

const feeOf = (factor: bigint, most: bigint): Terms => ({
  ...base,
  fee: {
    factor: { numerator: factor, denominator: 1_000n },
    maxQuantum: { numerator: most, denominator: 1n },
  },
})

const weaker: ReadonlyArray<readonly [what: string, next: Terms, says: RegExp]> = [
  ["a new line", termsWith([line(1), line(2, { assetId: "v" })]), /line 2, a -> b, VEGA: no line allowed it before/],
  ["another destination", withLine({ to: new Set(["b", "c"]) }), /a -> c, USDT: no line allowed it/],
  ["another payer", withLine({ from: new Set(["a", "d"]) }), /d -> b, USDT: no line allowed it/],
  ["a higher limit of one payment", withLine({ perTransfer: 11n as BaseUnits }), /11 each, before 10/],
  ["a higher limit of a day", withLine({ per24h: 101n as BaseUnits }), /101 in 24 h, before 100/],
  ["more payments", withLine({ transfersPer24h: 11 }), /11 transfers in 24 h, before 10/],
  [
    "a limit that was shared and is so no more",
    termsWith([line(1), line(2, { to: new Set(["c"]) })]),
    /in 24 h|no line allowed/,
  ],
  [
    "a higher fee",
    termsWith([line(1)], { policy: { ...base.policy, maxFee: { numerator: 3n, denominator: 1_000n } } }),
    /a fee of 0.3 %, before 0.2 %/,
  ],
  ["older knowledge", { ...base, maxAgeMillis: 31_000 }, /that are 31 s old, before 30 s/],
  ["fewer gateways", { ...base, quorum: 1 }, /agreement of 1 gateway is enough, before 2/],
  ["another chain", { ...base, chainId: "c-2" }, /chain c-2, before c-1/],
  ["an asset pinned otherwise", pinned({ ...usdt, id: "w" }), /USDT is w, before u/],
  ["other decimals of an asset", pinned({ ...usdt, decimals: 2 }), /USDT has 2 decimals, before 0/],
  ["a fee that is written down", feeOf(1n, 1n), /the file sets the network.s fee/],
  ["a lower written fee", feeOf(1n, 1n), /a fee of the network of 0.1 %, before 0.2 %/],
  ["a lower largest written fee", feeOf(2n, 1n), /a largest fee of 100 % of a quantum, before 200 %/],
  ["changed code", { ...base, code: ["feedbeef00"] }, /rules in code feedbeef, before c0de/],
  ["a lower floor", base, /a keeps 0 USDT, before 5/],
  ["fewer transfers kept", base, /a keeps 0 transfers for people, before 3/],
]

const oldOf = (what: string): Terms => {
  const strict = new Map(base.parties).set("a", party("a", 5n, 3))
  if (what.endsWith("written fee")) return feeOf(2n, 2n)
  return what === "a lower floor" || what === "fewer transfers kept" ? { ...base, parties: strict } : base
}

it("is no weaker for a head with the default bound or less", () => {})

it("is no weaker without code, and no weaker for an asset more", () => {
  assert.deepStrictEqual(weakens(base, { ...base, code: [] }), [])
  const more = new Map(base.assets).set("TOK", { symbol: "TOK", id: "t", decimals: 3 })
  assert.deepStrictEqual(weakens(base, { ...base, assets: more }), [])
})

describe("a weaker configuration", () => {
  it("lowers no floor in two steps: first without the signer, then with it", () => {
    const a = party("a", 5n, 3)
    const withA = (changed: Party): Terms => ({ ...base, parties: new Map([...base.parties, ["a", changed]]) })
    const watched = withA({ ...party("a"), signer: undefined })
    assert.deepStrictEqual(weakens(withA(a), watched), [
      "a keeps 0 USDT, before 5",
      "a keeps 0 transfers for people, before 3",
    ])
    assert.deepStrictEqual(weakens(withA(a), withA({ ...a, signer: undefined })), [])
  })

  it.each([...weaker])("is told by %s", (what, next, says) => {
    const words = weakens(oldOf(what), next)
    assert.isNotEmpty(words)
    assert.match(words.join("\n"), says)
    assert.deepStrictEqual(weakens(next, next), [])
  })

  it("is one that splits a shared limit into two", () => {
    const shared = withLine({ to: new Set(["b", "c"]) })
    const split = termsWith([line(1), line(2, { to: new Set(["c"]) })])
    assert.match(weakens(shared, split).join("\n"), /200 in 24 h, before 100/)
    assert.deepStrictEqual(weakens(split, shared), [])
  })

  it("leaves the limit that was shared used in each of its parts", () => {
    const shared = withLine({ to: new Set(["b", "c"]) }).policy
    const [one, two] = [line(1), line(2, { to: new Set(["c"]) })]
    const { policy } = termsWith([one, two])
    const receivers = (of: PolicyLine, before: ReadonlyArray<Policy>) =>
      [...countedIn(policy, of, before).to].toSorted()
    assert.deepStrictEqual(receivers(two, [shared]), ["b", "c"])
    assert.deepStrictEqual(receivers(two, [policy, withLine({ assetId: "v" }).policy]), ["c"])
    assert.deepStrictEqual(receivers(one, []), ["b"])
    const payers = withLine({ from: new Set(["a", "c"]) }).policy
    assert.deepStrictEqual([...countedIn(policy, one, [payers]).from].toSorted(), ["a", "c"])
  })

  it("is none that is stricter, or says the same in other words", () => {
    const shared = withLine({ to: new Set(["b", "c"]) })
    assert.deepStrictEqual(weakens(shared, base), [])
    assert.deepStrictEqual(weakens(base, withLine({ perTransfer: 1n as BaseUnits })), [])
    assert.deepStrictEqual(weakens(base, termsWith([])), [])
    const reversed = termsWith([line(2, { assetId: "v" }), line(1)])
    assert.deepStrictEqual(weakens(reversed, termsWith([line(1), line(2, { assetId: "v" })])), [])
  })
})

const some = (dice: Dice): ReadonlySet<string> => new Set(keys.filter(() => dice.below(2) === 0))

const randomLine = (dice: Dice, n: number): PolicyLine =>
  line(n, {
    from: some(dice),
    to: some(dice),
    assetId: dice.below(3) === 0 ? "v" : "u",
    perTransfer: BigInt(1 + dice.below(4)) as BaseUnits,
    per24h: BigInt(4 + dice.below(5)) as BaseUnits,
    transfersPer24h: 1 + dice.below(4),
  })

const randomTerms = (dice: Dice): Terms => {
  const lines = Array.from({ length: 1 + dice.below(3) }, (_, i) => randomLine(dice, i + 1))
  const policy: Policy = { maxFee: { numerator: BigInt(dice.below(3)), denominator: 10n }, lines, digest: "", hash: "" }
  const parties = new Map(keys.map((name) => [name, party(name, BigInt(dice.below(2)))]))
  return { ...termsWith(lines), policy, parties }
}

/** One small change, so that many pairs are comparable. */
const altered = (dice: Dice, terms: Terms): Terms => {
  const { lines } = terms.policy
  const i = dice.below(lines.length)
  const held = lines[i]!
  const changes: ReadonlyArray<() => ReadonlyArray<PolicyLine>> = [
    () => lines.toSpliced(i, 1),
    () => lines.toSpliced(i, 0, randomLine(dice, 9)),
    () => lines.with(i, { ...held, to: new Set([...held.to].filter(() => dice.below(3) > 0)) }),
    () => lines.with(i, { ...held, per24h: BigInt(Math.max(0, Number(held.per24h) + dice.below(3) - 1)) as BaseUnits }),
    () => lines.toSpliced(i, 1, { ...held, to: new Set(["a"]) }, held),
    () => lines.toReversed(),
    () => lines,
  ]
  return { ...terms, policy: { ...terms.policy, lines: dice.pick(changes)!() } }
}

/** What a day of payments does under a policy: each is judged on those that went before. */
const passes = (policy: Policy, payment: PolicyPayment, paid: ReadonlyArray<PolicyPayment>): boolean =>
  judgePolicy(policy, payment, (l) =>
    paid
      .filter(({ from, to, assetId }) => l.from.has(from) && l.to.has(to) && l.assetId === assetId)
      .reduce((used, { amount }) => ({ amount: used.amount + amount, count: used.count + 1 }), {
        amount: 0n,
        count: 0,
      }),
  ).permitted

it("a payment that is signed counts once in the use of its line", () => {
  const counted = line(1)
  const open = (["reserved", "in_flight"] as const).map((state) => {
    const intent = intentOf(state, { state })
    const cell = { fromKey: "a" as PublicKey, toKey: "b" as PublicKey, assetId: "u", amount: baseUnits(3n) }
    return { ...intent, payment: { ...intent.payment, ...cell } }
  })
  const use = periodUse({ open, signed: () => ({ amount: 3n, count: 1 }) }, counted, [])
  assert.deepStrictEqual(use, { amount: 6n, count: 2 })
})

describe("the check of a weaker policy", () => {
  it("lets no policy pass that allows a payment the old one refused", () => {
    let compared = 0
    let paidAll = 0
    for (let seed = 0; seed < 6_000; seed++) {
      const dice = makeDice(`weakens ${seed}`)
      const old = randomTerms(dice)
      const next = dice.below(4) === 0 ? randomTerms(dice) : altered(dice, old)
      if (weakens(old, next).length > 0) continue
      compared++
      const paid: Array<PolicyPayment> = []
      for (let i = 0; i < 30; i++) {
        const payment = {
          from: dice.pick(keys)!,
          to: dice.pick(keys)!,
          assetId: dice.below(3) === 0 ? "v" : "u",
          amount: BigInt(1 + dice.below(4)),
        }
        if (!passes(next.policy, payment, paid)) continue
        assert.isTrue(passes(old.policy, payment, paid), `seed ${seed}: ${JSON.stringify(payment, text)}`)
        const floor = (terms: Terms) => terms.parties.get(payment.from)?.floor.get(payment.assetId) ?? 0n
        assert.isTrue(floor(next) >= floor(old), `seed ${seed}`)
        assert.isTrue(feeMax(next.policy.maxFee, 1_000n) <= feeMax(old.policy.maxFee, 1_000n), `seed ${seed}`)
        paid.push(payment)
      }
      paidAll += paid.length
    }
    assert.isAtLeast(compared, 1_000)
    assert.isAtLeast(paidAll, 2_000)
  })
})

const text = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value)
