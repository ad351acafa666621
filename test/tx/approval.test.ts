import { assert, describe, it } from "@effect/vitest"
import { type ApprovalGroup, groupText, isWeakKey } from "../../src/domain/Approval.ts"
import {
  approversOf,
  isApproval,
  judgeApproval,
  type PaymentTerms,
  paymentText,
  policyText,
  resumeText,
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
  to: "b".repeat(64),
  assetId: "c".repeat(64),
  amount: 20_000n,
  feeMax: 40n,
  policy: "d".repeat(64),
  group: "desk",
  expires: now + 3_600_000,
}
const given = (text: string, names: ReadonlyArray<string>) =>
  names.map((name) => ({ key: operatorKey(name).publicKey, signature: operatorSigns(name, text) }))
const heldBy = (names: ReadonlyArray<string>, changed: Partial<PaymentTerms> = {}) =>
  judgeApproval(desk, terms, given(paymentText({ ...terms, ...changed }), names), now)

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
    to: any(),
    assetId: any(),
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
        "cofferer approval of a payment, version 1",
        "treasury: main",
        "chain: chain-1",
        `payment: ${"1".repeat(64)}`,
        "rule: keep",
        "proposed by: its rule",
        `from: ${"a".repeat(64)}`,
        `to: ${"b".repeat(64)}`,
        `asset: ${"c".repeat(64)}`,
        "amount in base units: 20000",
        "fee in base units, at most: 40",
        `policy: ${"d".repeat(64)}`,
        "group: desk",
        "void from: 2027-01-15T09:00:00.000Z",
        "",
      ].join("\n"),
    )
  })

  it("holds for the terms that were signed, and for none in which anything is another", () => {
    assert.deepStrictEqual(heldBy(["ben", "ana"]), { by: ["ana", "ben"] })
    const changes: ReadonlyArray<Partial<PaymentTerms>> = [
      { treasury: "other" },
      { chainId: "chain-2" },
      { intentId: "2".repeat(64) },
      { rule: "kee" },
      { proposer: "zoe" },
      { from: "b".repeat(64) },
      { to: "a".repeat(64) },
      { assetId: "d".repeat(64) },
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
    assert.deepStrictEqual(approversOf(people, message, given(message, ["ana", "ana", "eve"])), ["ana"])
    assert.deepStrictEqual(approversOf(people, message, given(message, ["ana", "ben"]), "ana"), ["ben"])
  })

  it("lapses, and is not for another group nor for too long", () => {
    const all = given(paymentText(terms), operatorNames)
    assert.property(judgeApproval(desk, terms, all, terms.expires), "lacking")
    assert.property(judgeApproval(desk, terms, all, Number.NaN), "lacking")
    assert.property(judgeApproval({ ...desk, name: "night" }, terms, all, now), "lacking")
    assert.property(judgeApproval(desk, terms, all, now - 3_600_000), "lacking")
    assert.property(judgeApproval(desk, terms, all, now), "by")
  })

  it("of a policy or of a resume is neither of a payment nor of each other", () => {
    const texts = [
      paymentText(terms),
      policyText("main", "c".repeat(64), "d".repeat(64)),
      policyText("main", "d".repeat(64), "c".repeat(64)),
      resumeText("main", [{ seq: 3, reason: "operator" }], "fine"),
      resumeText("main", [{ seq: 4, reason: "operator" }], "fine"),
      resumeText("main", [{ seq: 3, reason: "operator" }], "fine\nhalt 4: operator"),
    ]
    assert.strictEqual(new Set(texts).size, texts.length)
    assert.strictEqual(new Set(texts.map((each) => each.split("\n")[0])).size, 3)
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
