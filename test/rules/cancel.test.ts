import { assert, describe, it } from "@effect/vitest"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { Decision } from "../../src/domain/Decision.ts"
import type { PublicKey, TransferId } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { decide } from "../../src/rules/decide.ts"
import { explainSubject } from "../../src/rules/explain.ts"
import { lookAt, type Memory } from "../../src/rules/Look.ts"
import { overlaid } from "../../src/rules/overlay.ts"
import type { Policy } from "../../src/rules/Policy.ts"
import type { CancelRule, Party } from "../../src/rules/Rule.ts"
import type { Snapshot } from "../../src/rules/Snapshot.ts"
import { subjectsOf } from "../../src/rules/Subject.ts"
import { round } from "../../src/rules/step.ts"
import { worstCase } from "../../src/rules/worstCase.ts"
import { intentOf } from "../support/Payments.ts"
import { calmSnapshot, plainRule } from "../support/Rules.ts"

const now = Date.parse("2026-03-02T10:00:00Z")
const nanos = (millis: number): bigint => BigInt(millis) * 1_000_000n
const key = "a".repeat(64) as PublicKey
const from: Party = { name: "reserve", publicKey: key, signer: { file: "k" }, floor: new Map(), transfersKept: 1 }
const [one, two] = ["1".repeat(64), "2".repeat(64)] as [TransferId, TransferId]
const rule: CancelRule = {
  ...plainRule,
  name: "end",
  kind: "cancel",
  from,
  transfers: undefined,
  except: new Set(),
  assets: undefined,
}
const policy: Policy = {
  digest: "",
  hash: "",
  maxFee: { numerator: 1n, denominator: 100n },
  lines: [],
  cancels: [{ line: 1, from: new Set([key]), transfersPer24h: 3 }],
}
const ripe: Memory = { firingSince: 0, observations: 9, lastObservation: 0n, episode: 1 }

const snapshot = (more: Partial<Snapshot> = {}, asOf = now - 1_000): Snapshot => ({
  ...calmSnapshot,
  now,
  asOf: nanos(now - 500),
  maxAgeMillis: 30_000,
  balance: () => undefined,
  listed: undefined,
  terms: undefined,
  policy,
  orders: () => ({
    asOf: nanos(asOf),
    active: [
      { id: one, assetId: "u" },
      { id: two, assetId: "v" },
    ],
  }),
  ...more,
})
const run = (
  part: Partial<CancelRule> = {},
  seen: Snapshot = snapshot(),
  memory: Memory | undefined = ripe,
): Decision => decide(subjectsOf({ ...rule, ...part })[0]!, seen, memory).decision
const said = (decision: Decision): string =>
  decision._tag === "Hold"
    ? `${decision.reason}: ${decision.detail}`
    : decision.payments.map(({ toKey, amount, assetId }) => `${toKey.slice(0, 1)} ${amount}${assetId}`).join()

const intent = (toKey: TransferId, part: Partial<Intent> = {}): Intent =>
  intentOf("", {
    rule: "end",
    subject: `reserve: ${toKey}`,
    command: "cancel",
    payment: { from: "reserve", fromKey: key, to: "", toKey, asset: "", assetId: "", amount: baseUnits(0n) },
    decimals: 0,
    feeMax: 0n,
    state: "in_flight",
    createdAt: now - 100_000,
    updatedAt: now - 90_000,
    ...part,
  })

describe("a rule that ends standing orders", () => {
  it("ends the oldest of those that are meant, and moves nothing", () => {
    assert.strictEqual(said(run()), "1 0")
    assert.strictEqual(said(run({ except: new Set([one]) })), "2 0")
    assert.strictEqual(said(run({ transfers: new Set([two, "3".repeat(64)]) })), "2 0")
    assert.strictEqual(said(run({ assets: new Set(["v"]) })), "2 0")
  })

  it("rests where none is meant, or none is there", () => {
    const none = "in_band: reserve has 2 standing orders, none of them to be cancelled"
    assert.strictEqual(said(run({ except: new Set([one, two]) })), none)
    const empty = snapshot({ orders: () => ({ asOf: nanos(now), active: [] }) })
    assert.strictEqual(said(run({}, empty)), "in_band: reserve has no standing orders")
  })

  it("needs no balance, and a listing that is young enough", () => {
    assert.match(said(run({}, snapshot({ orders: () => undefined }))), /^no_data: the standing orders of reserve/)
    const { orders: _, ...never } = snapshot()
    assert.match(said(run({}, never)), /^no_data/)
    assert.match(said(run({}, snapshot({}, now - 31_000))), /^stale: the listing of standing orders is 31.0 s old/)
    assert.match(said(run({}, snapshot({}, now + 31_000))), /^stale: .* ahead of our clock/)
    assert.strictEqual(said(run({}, snapshot({ asOf: undefined }))), "1 0")
  })

  it("is seen in two listings before it acts, whatever the blocks of balances are", () => {
    const once: Memory = { firingSince: now - 9_000, observations: 1, lastObservation: nanos(now - 1_000), episode: 1 }
    assert.match(said(run({}, snapshot(), once)), /^pending: reserve has 2 standing orders to be cancelled/)
    assert.strictEqual(said(run({}, snapshot({}, now - 999), once)), "1 0")
  })

  it("ends one after the other, and looks at a newer listing before the next", () => {
    assert.match(said(run({}, snapshot({ open: [intent(one)] }))), /^in_flight: cancel is under way/)
    const confirmed = intent(one, { state: "confirmed", settledAt: nanos(now - 900) })
    assert.match(said(run({}, snapshot({ settled: [confirmed] }))), /^settling: the cancellation of .* standing orders/)
    assert.strictEqual(said(run({}, snapshot({ settled: [confirmed] }, now - 800))), "1 0")
  })

  it("tries what came to nothing last, and waits a minute after it", () => {
    const failed = intent(one, { state: "failed", settledAt: nanos(now - 90_000) })
    assert.strictEqual(said(run({}, snapshot({ settled: [failed] }))), "2 0")
    const fresh = intent(one, { state: "failed", updatedAt: now - 1_000 })
    assert.match(said(run({}, snapshot({ settled: [fresh] }))), /^cooldown: 59 s left/)
  })

  it("holds for the policy, its number and the network's", () => {
    assert.match(said(run({}, snapshot({ policy: { ...policy, cancels: [] } }))), /^policy: no policy line allows/)
    assert.match(said(run({}, snapshot({ cancelled: () => 3 }))), /^limit: 3 of 3 cancellations in 24 h are used/)
    const waits = intent(two, { state: "reserved", rule: "other" })
    assert.match(said(run({}, snapshot({ cancelled: () => 2, open: [waits] }))), /^limit: 3 of 3/)
    const quota = (used: number) => snapshot({ quota: () => ({ limit: 20, used, endsAt: undefined }) })
    assert.match(said(run({}, quota(19))), /^quota: reserve used 19 of 20 transfers of this epoch, 1 are kept/)
    assert.strictEqual(said(run({}, quota(18))), "1 0")
  })

  it("holds for what stops all, its party or itself, and for no asset", () => {
    const paused = (scope: string) => said(run({}, snapshot({ pauses: [{ scope, reason: "why" }] })))
    for (const scope of ["all", "rule:end", "party:reserve"]) assert.match(paused(scope), /^paused/)
    assert.strictEqual(paused("asset:USDT"), "1 0")
    assert.match(said(run({}, snapshot({ halts: ["operator"] }))), /^halted/)
  })

  it("leaves a standing order to the rule that came first", () => {
    const subjects = [rule, { ...rule, name: "after" }].flatMap((each) => subjectsOf(each))
    const { outcomes } = round(subjects, snapshot(), () => ripe)
    assert.deepStrictEqual(
      outcomes.map(({ judgement }) => said(judgement.decision)),
      ["1 0", "2 0"],
    )
  })

  it("on trial reports each once, however old it is", () => {
    const told = intent(one, { state: "rehearsed", updatedAt: now - 80_000 })
    const rehearsal = { rule: "end", since: 0, payments: 1, moved: new Map(), ended: new Set([one]) }
    const after = overlaid(snapshot({ settled: [told] }), [rehearsal])
    assert.strictEqual(said(run({}, after)), "2 0")
    assert.strictEqual(after.cancelled?.(policy.cancels![0]!), 1)
    const later = overlaid(snapshot(), [rehearsal])
    assert.strictEqual(said(run({}, later)), "2 0")
    assert.strictEqual(later.cancelled?.(policy.cancels![0]!), 0)
  })

  it("explains itself without an asset", () => {
    const told = explainSubject(lookAt(subjectsOf(rule)[0]!, snapshot(), ripe))
    const order = `standing order ${one.slice(0, 8)}`
    assert.strictEqual(
      told.sentence,
      `end reserve cancels ${order} of reserve: reserve has 2 standing orders to be cancelled`,
    )
    assert.deepStrictEqual(told.payments, [{ from: "reserve", to: order, asset: "", amount: "cancel", units: "0" }])
    assert.deepStrictEqual([told.accounts, told.lines], [[], []])
    const empty = snapshot({ orders: () => ({ asOf: nanos(now), active: [] }) })
    const resting = explainSubject(lookAt(subjectsOf(rule)[0]!, empty, undefined))
    assert.match(resting.next.after.join(), /reserve has a standing order that is to be cancelled/)
  })

  it("is told of at worst by its number, which the network counts as transfers", () => {
    const worst = worstCase({ rules: [rule], parties: new Map([["reserve", from]]), assets: new Map(), policy })
    assert.deepStrictEqual(worst.cancels, [{ line: 1, from: ["reserve"], transfers: 3 }])
    assert.deepStrictEqual(worst.quotas, [{ party: "reserve", permitted: 3, limit: 20, kept: 1, free: 16 }])
  })
})
