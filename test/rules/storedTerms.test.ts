import { assert, describe, it } from "@effect/vitest"
import type { BaseUnits } from "../../src/domain/Amount.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import { namesIn } from "../../src/rules/policy/Policy.ts"
import { decodeTerms, encodeTerms, termsHash } from "../../src/rules/policy/storedTerms.ts"
import { type Terms, weakens } from "../../src/rules/policy/weakens.ts"

const group = {
  name: "desk",
  need: 2,
  withinMillis: 3_600_000,
  of: new Map([
    ["ana", "1"],
    ["ben", "2"],
  ]),
}
const line = {
  line: 1,
  from: new Set(["a"]),
  to: new Set(["b", "c"]),
  assetId: "u",
  perTransfer: 10n as BaseUnits,
  per24h: 123_456_789_012_345_678_901n as BaseUnits,
  transfersPer24h: 3,
  approval: { group, above: 5n as BaseUnits },
}
const terms: Terms = {
  chainId: "c-1",
  mode: "live",
  policy: {
    maxFee: { numerator: 2n, denominator: 1_000n },
    lines: [line, { ...line, line: 2, assetId: "v", approval: undefined }],
    groups: [group],
    digest: "d".repeat(64),
    hash: "d".repeat(8),
  },
  parties: new Map([
    [
      "hot",
      {
        name: "hot",
        publicKey: "a" as PublicKey,
        signer: { file: "k" },
        floor: new Map([["u", 7n as BaseUnits]]),
        transfersKept: 1,
      },
    ],
    ["bob", { name: "bob", publicKey: "b" as PublicKey, signer: undefined, floor: new Map(), transfersKept: 0 }],
  ]),
  assets: new Map([["USDT", { symbol: "USDT", id: "u", decimals: 2 }]]),
  maxAgeMillis: 30_000,
  quorum: 2,
  code: ["beef", "cafe"],
  fee: { factor: { numerator: 1n, denominator: 1_000n }, maxQuantum: { numerator: 5n, denominator: 1n } },
}
const policyWith = (part: Partial<Terms["policy"]>): Terms => ({ ...terms, policy: { ...terms.policy, ...part } })
const hot = terms.parties.get("hot")!

describe("terms in the store", () => {
  it("are read as they were written", () => {
    const read = decodeTerms(encodeTerms(terms))!
    assert.strictEqual(encodeTerms(read), encodeTerms(terms))
    assert.strictEqual(termsHash(read), termsHash(terms))
    assert.deepStrictEqual(weakens(terms, read), [])
    assert.deepStrictEqual(weakens(read, terms), [])
    assert.deepStrictEqual(read.policy.lines[0], terms.policy.lines[0])
    assert.deepStrictEqual(read.parties.get("hot"), hot)
  })

  it("name parties and amounts as before, so approvals read the same text", () => {
    const { policy } = decodeTerms(encodeTerms(terms))!
    assert.deepStrictEqual(namesIn(policy, { from: "a", to: "b", assetId: "u" }), {
      fromName: "hot",
      toName: "bob",
      symbol: "USDT",
      decimals: 2,
    })
  })

  it("name what they do not know as unnamed, its amounts in base units", () => {
    assert.deepStrictEqual(namesIn(decodeTerms(encodeTerms(terms))!.policy, { from: "x", to: "b", assetId: "y" }), {
      fromName: "unnamed",
      toName: "bob",
      symbol: "unnamed",
      decimals: 0,
    })
  })

  it.each(["", "{}", "[]", encodeTerms(terms).replace('"per24h":"', '"per24h":"-')])("are none: %s", (text) => {
    assert.isUndefined(decodeTerms(text))
  })

  const others: ReadonlyArray<readonly [string, Terms]> = [
    ["chain", { ...terms, chainId: "c-2" }],
    ["mode", { ...terms, mode: "shadow" }],
    ["age", { ...terms, maxAgeMillis: 1 }],
    ["quorum", { ...terms, quorum: 1 }],
    ["code", { ...terms, code: ["beef"] }],
    ["written fee", { ...terms, fee: { ...terms.fee!, factor: { numerator: 2n, denominator: 1_000n } } }],
    ["no written fee", { ...terms, fee: undefined }],
    ["pin", { ...terms, assets: new Map([["USDT", { symbol: "USDT", id: "u", decimals: 3 }]]) }],
    ["floor", { ...terms, parties: new Map([["hot", { ...hot, floor: new Map() }]]) }],
    ["transfers kept", { ...terms, parties: new Map([["hot", { ...hot, transfersKept: 0 }]]) }],
    ["fee", policyWith({ maxFee: { numerator: 3n, denominator: 1_000n } })],
    ["receiver", policyWith({ lines: [{ ...line, to: new Set(["b"]) }, terms.policy.lines[1]!] })],
    ["limit", policyWith({ lines: [{ ...line, per24h: 11n as BaseUnits }, terms.policy.lines[1]!] })],
    ["order of lines", policyWith({ lines: terms.policy.lines.toReversed() })],
    ["approval", policyWith({ lines: [{ ...line, approval: undefined }, terms.policy.lines[1]!] })],
    [
      "threshold",
      policyWith({ lines: [{ ...line, approval: { group, above: 6n as BaseUnits } }, terms.policy.lines[1]!] }),
    ],
    ["operators", policyWith({ groups: [{ ...group, of: new Map([["ana", "1"]]) }] })],
    ["need", policyWith({ groups: [{ ...group, need: 1 }] })],
    [
      "name of an operator",
      policyWith({
        groups: [
          {
            ...group,
            of: new Map([
              ["ana", "1"],
              ["eve", "2"],
            ]),
          },
        ],
      }),
    ],
  ]
  it.each(others)("have another hash with another %s", (_, other) => {
    assert.notStrictEqual(termsHash(other), termsHash(terms))
  })

  it("have another hash wherever they are weaker, for a party without a signer too", () => {
    const kept = { ...hot, signer: undefined }
    const before = { ...terms, parties: new Map([["hot", kept]]) }
    const after = { ...terms, parties: new Map([["hot", { ...kept, floor: new Map([["u", 6n as BaseUnits]]) }]]) }
    assert.lengthOf(weakens(before, after), 1)
    assert.notStrictEqual(termsHash(before), termsHash(after))
  })

  it("have the same hash under other names, in another order", () => {
    const renamed = new Map(
      [...terms.parties.values()].toReversed().map((p) => [`x${p.name}`, { ...p, name: `x${p.name}` }]),
    )
    assert.strictEqual(termsHash({ ...terms, parties: renamed, code: ["cafe", "beef"] }), termsHash(terms))
  })
})
