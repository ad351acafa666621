import { assert, describe, it } from "@effect/vitest"
import { type ApprovalGroup, groupText, isWeakKey } from "../../src/domain/Approval.ts"
import {
  type Agreement,
  agreementText,
  approvalKinds,
  approversOf,
  expiriesAt,
  expiryFrom,
  type GivenApproval,
  isApproval,
  judgeApproval,
  type PaymentTerms,
  paymentText,
  readApproval,
  readPaymentTerms,
  signerOf,
} from "../../src/tx/Approval.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { operatorKey, operatorNames, operatorSigns } from "../support/Operators.ts"

const people = new Map(operatorNames.map((name) => [name as string, operatorKey(name).publicKey]))
const desk: ApprovalGroup = { name: "desk", need: 2, withinMillis: 3_600_000, of: people }
const now = 1_800_000_000_000
const terms: PaymentTerms = {
  treasury: "main",
  chainId: "chain-1",
  intentId: "1".repeat(64),
  rule: "keep",
  proposer: undefined,
  from: "a".repeat(64),
  fromName: "hot",
  to: "b".repeat(64),
  toName: "cold",
  assetId: "c".repeat(64),
  symbol: "USDT",
  decimals: 2,
  amount: 20_000n,
  feeMax: 40n,
  policy: "d".repeat(64),
  group: "desk",
  expires: now + 3_600_000,
}
const given = (text: string, names: ReadonlyArray<string>) =>
  names.map((name) => ({ key: operatorKey(name).publicKey, signature: operatorSigns(name, text) }))
const heldBy = (names: ReadonlyArray<string>, changed: Partial<PaymentTerms> = {}) =>
  judgeApproval(desk, terms, claimOf(given(paymentText({ ...terms, ...changed }), names)), now)
/** What the signer is told of the payment, by which its terms are those of above. */
const claimOf = (all: ReadonlyArray<GivenApproval>) => ({
  rule: terms.rule,
  proposer: terms.proposer,
  feeMax: terms.feeMax,
  askedAt: now,
  given: all,
})

const text = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value)

/** Small texts that would like to pass for more than they are. */
const words = ["", "a", "b", "a\nb", "\n", "a\nrule: b", '"', "\\", "\\n", "\ud800", "é", "its rul"]
const names = Object.keys(terms) as ReadonlyArray<keyof PaymentTerms>

/** Terms of any texts, few enough that two of them are often alike. */
const anyTerms = (dice: Dice): PaymentTerms => {
  const any = () => words[dice.below(words.length)]!
  return {
    treasury: any(),
    chainId: any(),
    intentId: any(),
    rule: any(),
    proposer: dice.below(3) === 0 ? undefined : any(),
    from: any(),
    fromName: any(),
    to: any(),
    toName: any(),
    assetId: any(),
    symbol: any(),
    decimals: dice.below(4),
    amount: BigInt(dice.below(20)),
    feeMax: BigInt(dice.below(20)),
    policy: any(),
    group: any(),
    expires: dice.below(5),
  }
}

describe("an approval", () => {
  it("is a text that a person can read, to the byte", () => {
    assert.strictEqual(
      paymentText(terms),
      [
        "cofferer approval: payment",
        "treasury: main",
        "chain: chain-1",
        `payment: ${"1".repeat(64)}`,
        "rule: keep",
        "proposed by: its rule",
        "from: hot",
        `from key: ${"a".repeat(64)}`,
        "to: cold",
        `to key: ${"b".repeat(64)}`,
        "asset: USDT, 2 decimals",
        `asset id: ${"c".repeat(64)}`,
        "amount: 200.00 USDT",
        "amount in base units: 20000",
        "fee, at most: 0.40 USDT",
        "fee in base units, at most: 40",
        `policy: ${"d".repeat(64)}`,
        "group: desk",
        "void from: 2027-01-15T09:00:00.000Z",
        "",
      ].join("\n"),
    )
  })

  it("holds for the signed terms, and for no changed ones", () => {
    assert.deepStrictEqual(heldBy(["ben", "ana"]), { by: ["ana", "ben"] })
    const changes: ReadonlyArray<Partial<PaymentTerms>> = [
      { treasury: "other" },
      { chainId: "chain-2" },
      { intentId: "2".repeat(64) },
      { rule: "kee" },
      { proposer: "zoe" },
      { from: "b".repeat(64) },
      { fromName: "cold" },
      { to: "a".repeat(64) },
      { toName: "hot" },
      { assetId: "d".repeat(64) },
      { symbol: "USDC" },
      { decimals: 3 },
      { amount: 20_001n },
      { feeMax: 41n },
      { policy: "c".repeat(64) },
      { group: "desks" },
      { expires: terms.expires - 1 },
    ]
    assert.lengthOf(changes, Object.keys(terms).length)
    for (const change of changes)
      assert.property(heldBy(["ana", "ben"], change), "lacking", JSON.stringify(change, text))
  })

  it("has another text for any other terms, whatever texts are in them", () => {
    const dice = makeDice("terms")
    for (let run = 0; run < 20_000; run++) {
      const [a, b] = [anyTerms(dice), anyTerms(dice)]
      // Alike but for one field, which alone decides.
      const name = names[dice.below(names.length)]!
      const near: PaymentTerms = { ...a, [name]: b[name] }
      assert.strictEqual(paymentText(a) === paymentText(near), a[name] === b[name], `run ${run}: ${name}`)
    }
  })

  it("is read as the terms that it was written from", () => {
    assert.deepStrictEqual(readPaymentTerms(paymentText(terms)), terms)
    const asked = { ...terms, proposer: "zoe", decimals: 0, symbol: "a, 3 decimals" }
    assert.deepStrictEqual(readPaymentTerms(paymentText(asked)), asked)
  })

  it("is of nobody where a byte of text, key or signature is another", () => {
    const message = paymentText(terms)
    const [one] = given(message, ["ana"])
    for (let place = 0; place < 128; place++) {
      const digit = one!.signature[place] === "0" ? "1" : "0"
      const signature = one!.signature.slice(0, place) + digit + one!.signature.slice(place + 1)
      assert.isFalse(isApproval(one!.key, message, signature), `digit ${place}`)
    }
    assert.isFalse(isApproval(operatorKey("ben").publicKey, message, one!.signature))
    assert.isFalse(isApproval(one!.key, `${message} `, one!.signature))
    assert.isFalse(isApproval(one!.key, message.trimEnd(), one!.signature))
  })

  it("counts each operator once, and neither strangers nor the proposer", () => {
    const message = paymentText(terms)
    assert.deepStrictEqual(approversOf(people, [message], given(message, ["ana", "ana", "eve"])), ["ana"])
    assert.deepStrictEqual(approversOf(people, [message], given(message, ["ana", "ben"]), "ana"), ["ben"])
    const [one] = given(message, ["ben"])
    assert.containSubset(signerOf(people, ["", message], one!.signature), { operator: "ben", text: message })
    assert.isUndefined(signerOf(people, [""], one!.signature))
  })

  it("lapses, and is not for another group nor for too long", () => {
    const all = claimOf(given(paymentText(terms), operatorNames))
    assert.property(judgeApproval(desk, terms, all, terms.expires), "lacking")
    assert.property(judgeApproval(desk, terms, all, Number.NaN), "lacking")
    assert.property(judgeApproval({ ...desk, name: "night" }, terms, all, now), "lacking")
    assert.property(judgeApproval(desk, terms, all, now - 3_600_000), "lacking")
    assert.property(judgeApproval(desk, terms, all, now), "by")
  })

  it("of one kind is never one of another", () => {
    const place = { treasury: "main", chainId: "chain-1" }
    const halts = [{ seq: 3, reason: "operator" }]
    const list = { halts, payments: 2, list: "e".repeat(64), reason: "ours" }
    const resolve = {
      kind: "resolve",
      payment: "1".repeat(64),
      words: "200.00 USDT hot -> cold",
      reason: "seen",
    } as const
    const rebase = {
      kind: "rebase",
      ...{ party: "hot", partyKey: "1".repeat(64), asset: "USDT", assetId: "a".repeat(64) },
      ...{ replaces: 0, reason: "a lie" },
    } as const
    const asked: ReadonlyArray<Agreement> = [
      { kind: "terms", replaces: 7, terms: "c".repeat(64), weaker: ["one", "two"] },
      { kind: "terms", replaces: 8, terms: "c".repeat(64), weaker: ["one", "two"] },
      { kind: "terms", replaces: 7, terms: "d".repeat(64), weaker: ["one", "two"] },
      { kind: "terms", replaces: 7, terms: "c".repeat(64), weaker: ["one"] },
      { kind: "resume", scope: "all", halts, stops: [], reason: "fine" },
      { kind: "resume", scope: "all", halts: [], stops: halts, reason: "fine" },
      { kind: "resume", scope: "all", halts: [{ seq: 4, reason: "operator" }], stops: [], reason: "fine" },
      { kind: "resume", scope: "all", halts, stops: [], reason: "fine\nends halt 4: operator" },
      { kind: "adopt", ...list },
      { kind: "recover", ...list },
      { kind: "adopt", ...list, payments: 3 },
      { ...resolve, outcome: "never executed" },
      { ...resolve, outcome: `executed ${"f".repeat(64)}` },
      { ...rebase, mismatches: halts },
      { ...rebase, mismatches: [] },
      { ...rebase, mismatches: [], replaces: 9 },
      { ...rebase, mismatches: [], assetId: "b".repeat(64) },
    ]
    const later = now + 21_600_000
    const texts = [
      paymentText(terms),
      ...asked.map((one) => agreementText(place, one, now)),
      ...asked.map((one) => agreementText(place, one, later)),
      ...asked.map((one) => agreementText({ ...place, chainId: "chain-2" }, one, now)),
      ...asked.map((one) => agreementText({ ...place, treasury: "other" }, one, now)),
    ]
    assert.strictEqual(new Set(texts).size, texts.length)
    const firsts = new Set(texts.map((each) => each.split("\n")[0]))
    assert.strictEqual(firsts.size, approvalKinds.length)
    for (const each of texts) {
      assert.include(each, "\nvoid from: ")
      assert.strictEqual(`cofferer approval: ${readApproval(each)?.kind}`, each.split("\n")[0])
    }
  })

  it("holds until its printed end, a day at most", () => {
    const hour = 3_600_000
    for (let at = now; at < now + 13 * hour; at += 1_234_567) {
      const expires = expiryFrom(at)
      assert.isTrue(expires > at + 18 * hour - 1 && expires <= at + 24 * hour)
      for (const later of [at, at + hour, at + 17 * hour, expires - 1]) assert.include(expiriesAt(later), expires)
      assert.notInclude(expiriesAt(expires), expires)
      assert.isTrue(expiriesAt(at).every((one) => one > at && one <= at + 24 * hour))
    }
  })
})

describe("keys of operators", () => {
  it("for which anybody could sign are known", () => {
    for (const key of ["00".repeat(32), `01${"00".repeat(31)}`, `${"00".repeat(31)}80`, `ec${"ff".repeat(30)}ff`]) {
      assert.isTrue(isWeakKey(key), key)
    }
    for (const name of operatorNames) assert.isFalse(isWeakKey(operatorKey(name).publicKey))
    assert.strictEqual(groupText(desk), "2 of ana, ben, chloe")
  })
})
