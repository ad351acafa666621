import { assert, describe, it } from "@effect/vitest"
import { powHashFunction } from "../../src/domain/chain.ts"
import { type Intent, submittedRule } from "../../src/domain/Intent.ts"
import {
  type AttemptContext,
  type Beginning,
  headRefused,
  type NeedVerdict,
  otherFindsForm,
  pinLacking,
  planAttempt,
  planBeginning,
  planRefused,
  spendableOf,
} from "../../src/payments/planAttempt.ts"
import type { Refusal } from "../../src/rules/policy/Policy.ts"
import { decisionValidMillis } from "../../src/rules/waiting.ts"
import { intentOf } from "../support/Payments.ts"

const now = 1_800_000_000_000
const rows = { height: 90n, timestamp: BigInt(now) * 1_000_000n }
const pow = { hashFunction: powHashFunction, difficulty: 15, pastBlocks: 100, txPerBlock: 2, increasing: true }
const headAt = (height: bigint) => ({ chainId: "chain", height, hash: `${height}`, pow })
const decided = intentOf("1", { createdAt: now - 1_000 })
const { fromKey, toKey, assetId } = decided.payment
const level = { _tag: "Level", together: false } as const
const together = { _tag: "Level", together: true } as const
const planned = { _tag: "Planned", at: now, missed: "once", lateMillis: 0 } as const
const account = { party: toKey, asset: assetId, market: "", type: "ACCOUNT_TYPE_GENERAL" }

type Known = AttemptContext & Beginning & { readonly need: NeedVerdict | undefined }

const signable: Known = {
  intent: decided,
  k: 1,
  now,
  maxAgeMillis: 30_000,
  blocked: undefined,
  isCompared: true,
  noted: new Set(),
  needsApproval: false,
  backing: level,
  drifting: [],
  rows,
  decimals: decided.decimals,
  pinLacking: undefined,
  parts: [],
  listed: undefined,
  listedPart: undefined,
  quota: undefined,
  transfersKept: 0,
  other: undefined,
  need: undefined,
  heads: [headAt(100n), headAt(99n)],
  placesUsed: new Map(),
}
const old = { ...decided, createdAt: now - decisionValidMillis - 1 }
const submitted = { ...old, rule: submittedRule }
const wanted = { verdict: "wanted", why: "", isOwed: false } as const
const later = { verdict: "later", why: "halted", isOwed: false } as const
const gone = { verdict: "gone", why: "in band", isOwed: false } as const

const planOf = (known: Known) => planBeginning(known, known.need) ?? planAttempt(known)

const textOf = (plan: ReturnType<typeof planOf | typeof headRefused> & {}): string => {
  if (plan._tag === "Sign") return `Sign ${plan.anchor.height}`
  if (plan._tag === "Wait") return `Wait ${plan.why}`
  return plan._tag === "End" ? `End ${plan.state}: ${plan.sentence}` : `Halt ${plan.detail}`
}

/** What differs from a payment that is signed on block 100 → its plan, or the beginning of it. */
const plans: ReadonlyArray<readonly [string, Partial<Known>, string]> = [
  ["nothing", {}, "Sign 100"],
  ["gateways or clearance", { blocked: "not compared", isCompared: false }, "Wait not compared"],
  ["second attempt", { k: 2 }, "Wait undefined"],
  ["second attempt, wanted", { k: 2, need: wanted }, "Sign 100"],
  ["second attempt, wanted later", { k: 2, need: later }, "Wait halted"],
  ["second attempt, gone", { k: 2, need: gone }, "End abandoned: is over: no attempt executed, and today"],
  ["waited too long", { intent: old }, "Wait undefined"],
  ["waited too long, gone", { intent: old, need: gone }, "End cancelled: is over: it was never signed, "],
  ["decided before a reload", { noted: new Set(["config"]) }, "Wait undefined"],
  ["decided before a reload, approved", { noted: new Set(["config"]), needsApproval: true }, "Sign 100"],
  ["waited too long, approved", { intent: old, needsApproval: true }, "Sign 100"],
  ["waited too long, a person's", { intent: submitted, backing: { _tag: "Submitted" } }, "Sign 100"],
  ["decided before the clearance, approved", { isCompared: false, needsApproval: true }, "Wait undefined"],
  ["decided before the clock stepped back", { now: now - 1_001 }, "Sign 100"],
  ["mismatch since the decision, approved", { noted: new Set(["mismatch"]), needsApproval: true }, "Wait undefined"],
  ["mismatch of another market", { drifting: [{ ...account, market: "m" }] }, "Sign 100"],
  ["mismatch of another party", { drifting: [{ ...account, party: "x" }] }, "Sign 100"],
  ["mismatch now", { drifting: [{ ...account, party: fromKey }] }, "Wait our rows and the gateway's balance"],
  ["no rows", { rows: undefined }, "Wait no final block was read yet"],
  ["clock ahead", { now: now + 30_001 }, "Wait the newest final block is more than 30 s behind our clock"],
  [
    "clock behind",
    { need: wanted, now: now - 30_001 },
    "Wait the newest final block is more than 30 s ahead of our clock",
  ],
  ["rule gone, approved", { backing: { _tag: "Gone" }, needsApproval: true }, "End cancelled: is over: no rule"],
  ["asset with other decimals", { decimals: 0 }, "End cancelled: is over: it was decided with"],
  ["asset with other decimals, second attempt", { k: 2, need: wanted, decimals: 0 }, "End abandoned: is over: it was"],
  ["asset not pinned", { decimals: undefined }, "Sign 100"],
  ["pin not compared", { pinLacking: "BIG is not compared" }, "Wait BIG is not compared"],
  [
    "listed, decided by a rule",
    { listed: "t1", listedPart: "t1" },
    "End cancelled: is over: another copy of this database paid its number 1, transfer t1",
  ],
  ["part listed, second attempt", { k: 2, need: wanted, listedPart: "t2" }, "End abandoned: is over: another copy"],
  ["listed, planned", { backing: planned, listed: "t1", listedPart: "t1" }, "Wait t1"],
  ["part listed, planned", { backing: planned, listedPart: "t2" }, "Sign 100"],
  [
    "part dropped",
    { backing: together, parts: [{ state: "cancelled" }] },
    "Wait another part of its decision was dropped",
  ],
  ...(["rejected", "denied", "abandoned", "failed"] as const).map((state) => {
    const known = { backing: together, parts: [{ state }] }
    return [`part ${state}`, known, "Wait another part of its decision was dropped"] as const
  }),
  [
    "part dropped, second attempt",
    { k: 2, need: wanted, backing: together, parts: [{ state: "cancelled" }] },
    "Wait another part of its decision was dropped",
  ],
  ["part dropped, each for itself", { parts: [{ state: "cancelled" }] }, "Sign 100"],
  ["part dropped, another signed", { backing: { _tag: "Part" }, parts: [{ state: "cancelled" }] }, "Sign 100"],
  ["transfers left", { quota: { used: 18, limit: 20, endsAt: 0 }, transfersKept: 1 }, "Sign 100"],
  [
    "transfers kept",
    { quota: { used: 19, limit: 20, endsAt: 0 }, transfersKept: 1 },
    "Wait reserve used 19 of 20 transfers of this epoch, 1 are kept for people",
  ],
  [
    "transfers kept, a person's",
    { intent: submitted, quota: { used: 19, limit: 20, endsAt: 0 }, transfersKept: 1 },
    "Sign",
  ],
  [
    "no transfers left",
    { quota: { used: 20, limit: 20, endsAt: 0 } },
    "Wait reserve used 20 of 20 transfers of this epoch",
  ],
  ["form not known", { other: "payment 1 finds out" }, "Wait payment 1 finds out"],
  ["newest block taken", { placesUsed: new Map([[100n, 2]]) }, "Sign 99"],
  [
    "no place",
    {
      placesUsed: new Map([
        [100n, 2],
        [99n, 3],
      ]),
    },
    "Wait undefined",
  ],
]

describe("the plan of an attempt", () => {
  for (const [name, change, plan] of plans) {
    it(`${name}: ${plan}`, () => {
      assert.strictEqual(textOf(planOf({ ...signable, ...change })).slice(0, plan.length), plan)
    })
  }
  it("waits where signing was stopped since its beginning", () => {
    assert.deepStrictEqual(planAttempt({ ...signable, blocked: "halted" }), { _tag: "Wait", why: "halted" })
  })
  it("tells of a listed payment that a quorum ends its wait", () => {
    assert.include(planAttempt({ ...signable, backing: planned, listed: "t1" }), { isListed: true })
  })
})

describe("a head", () => {
  const refusalOf = (head: ReturnType<typeof headAt>, at = rows) => {
    const plan = headRefused(head, "chain", at, now)
    return plan && textOf(plan)
  }
  it("is signed on where chain, height and work are sane", () => {
    assert.isUndefined(refusalOf(headAt(100n)))
    assert.strictEqual(
      refusalOf({ ...headAt(100n), chainId: "x" }),
      "Halt the gateway is on chain x, this treasury on chain",
    )
    assert.include(refusalOf(headAt(1_000_000n)), "nothing is signed on blocks that may not exist")
    assert.include(refusalOf({ ...headAt(100n), pow: { ...pow, pastBlocks: 1 } }), "a window of 1 blocks")
  })
  it("far above the balances is not signed on, unless no block of the balances is known", () => {
    assert.isUndefined(refusalOf(headAt(91n)))
    assert.isUndefined(refusalOf(headAt(1_000_000n), { ...rows, height: 0n }))
  })
})

describe("a refusal of the signer", () => {
  const planOf = (refusal: Refusal | undefined, change: Partial<AttemptContext> = {}) => {
    const refused = refusal === undefined ? undefined : { refusal, detail: "why" }
    return textOf(planRefused(refused, "no", { ...signable, ...change }))
  }
  it("is waited for where it passes", () => {
    for (const refusal of ["halted", "watermark", "lease", "stale", "approval", "fee"] as const) {
      assert.strictEqual(
        planOf(refusal, { backing: { _tag: "Submitted" } }),
        `Wait the signer refuses it now (${refusal}): why`,
      )
    }
  })
  it("ends the payment where the policy forbids it", () => {
    assert.strictEqual(planOf("no_line"), "End denied: was not signed: no")
    assert.strictEqual(planOf(undefined, { k: 2 }), "End abandoned: was not signed: no")
    assert.include(planRefused(undefined, "no", signable), { detail: "no" })
  })
  it("by a limit is waited for, but not by a person's payment, nor after an attempt of a level", () => {
    assert.match(planOf("floor"), /^Wait/)
    assert.match(planOf("window_count", { k: 2 }), /^End abandoned/)
    assert.match(planOf("window_count", { k: 2, backing: planned }), /^Wait/)
    assert.match(planOf("window_amount", { backing: { _tag: "Submitted" } }), /^End denied/)
    assert.match(planOf("window_amount", { backing: { _tag: "Submitted" }, needsApproval: true }), /^Wait/)
  })
})

describe("facts of the plan", () => {
  it("hold a payment whose asset's decimals are not compared, or differ", () => {
    const pin = { symbol: "BIG", id: "big", decimals: 18 }
    const read = { assets: [{ id: "big", decimals: 18 }], isRead: true, isUnlisted: false }
    assert.isUndefined(pinLacking(pin, read))
    assert.isUndefined(pinLacking(undefined, read))
    assert.isUndefined(pinLacking({ ...pin, id: "other" }, read))
    assert.isUndefined(pinLacking(pin, { ...read, assets: [], isUnlisted: true }))
    assert.strictEqual(pinLacking(pin, { ...read, isRead: false }), "BIG is not compared with the asset listing yet")
    assert.match(pinLacking({ ...pin, decimals: 6 }, read) ?? "", /^BIG is listed with 18 decimals, pinned with 6/)
  })
  it("let one payment find out the wire form, for a while", () => {
    const live = (createdAt: number, isSolved = true) => ({
      intentId: "abcdef",
      work: isSolved ? {} : undefined,
      createdAt,
    })
    assert.match(otherFindsForm("1", [live(now - 29_999)], now) ?? "", /^payment .* finds out/)
    assert.isUndefined(otherFindsForm("1", [], now))
    assert.isUndefined(otherFindsForm("abcdef", [live(now)], now))
    assert.isUndefined(otherFindsForm("1", [live(now - 30_000)], now))
    assert.isUndefined(otherFindsForm("1", [live(now - 2_000, false)], now))
    assert.isDefined(otherFindsForm("1", [live(now - 1_999, false)], now))
  })
  it("leave of the balance what no other payment may take", () => {
    const amount = decided.payment.amount
    const claim = amount + decided.feeMax
    const later = intentOf("2", { createdAt: now })
    const signed = { ...later, state: "in_flight" } as const
    const done = { ...later, state: "confirmed", fee: 2n * decided.feeMax } as const
    const left = (...claims: ReadonlyArray<Intent>) => spendableOf(decided, 10n * claim, claims) - 10n * claim
    assert.strictEqual(left(decided, later), 0n, "itself, and what was decided after it")
    assert.strictEqual(left({ ...later, createdAt: 0 }), -claim, "decided before it")
    assert.strictEqual(left(signed), -claim, "signed")
    assert.strictEqual(left(done), -(amount + 2n * decided.feeMax), "executed, by its fee")
  })
})
