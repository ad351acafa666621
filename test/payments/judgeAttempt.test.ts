import { assert, describe, it } from "@effect/vitest"
import { type Attempt, type AttemptState, attemptsMax } from "../../src/domain/Attempt.ts"
import { majorityOf, quorumTip } from "../../src/domain/chain.ts"
import { TransferId } from "../../src/domain/Hex.ts"
import {
  absencesOf,
  afterExpiry,
  intentStateOf,
  isDeadUnsent,
  isOver,
  isProofOverdue,
  judgeAbsence,
  judgeSighting,
  type ListingSeen,
  quorumListing,
  type SureHeight,
  stateAfterSend,
  sureHeight,
} from "../../src/payments/judgeAttempt.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"

/** Anchored on 100 with a window of 5: the last block is 105, the margin 3, two listings 2 blocks apart. */
const attempt = (change: Partial<Attempt> = {}): Attempt =>
  attemptOf(intentOf("a"), 1, {
    party: "b".repeat(64),
    nonce: 1n,
    windowBlocks: 5,
    transferId: TransferId.make("c".repeat(64)),
    state: "unknown",
    sends: 1,
    createdAt: 0,
    updatedAt: 0,
    ...change,
  })

/** A height that nothing doubts. */
const sure = (reported: bigint): SureHeight => sureHeight(attempt(), { reported, now: 1_000_000, blockMillis: 100 })

const whole = (height: bigint | undefined): ListingSeen => ({ height, complete: true, holds: false })

describe("the proof that an attempt never executed", () => {
  const cases: ReadonlyArray<readonly [string, bigint, ListingSeen, ReadonlyArray<bigint>, string]> = [
    ["before the margin is over nothing counts", 108n, whole(108n), [], "nothing"],
    ["a complete listing after the window is the first witness", 109n, whole(109n), [], "note"],
    ["a second one too near is none", 110n, whole(110n), [109n], "nothing"],
    ["a second one two blocks later proves it", 111n, whole(111n), [109n], "proven"],
    ["a lagging gateway proves nothing, whatever the tip is", 120n, whole(105n), [], "nothing"],
    ["the block after the window's last one is enough of a listing", 120n, whole(106n), [], "note"],
    ["an incomplete listing proves nothing", 120n, { ...whole(120n), complete: false }, [109n], "nothing"],
    ["one that holds the transfer proves the contrary", 120n, { ...whole(120n), holds: true }, [109n], "nothing"],
    ["one without a height proves nothing", 120n, whole(undefined), [109n], "nothing"],
    ["distance is measured from the first witness", 112n, whole(112n), [109n, 111n], "proven"],
  ]
  it.each(cases)("%s", (_, tip, listing, earlier, expected) => {
    assert.strictEqual(judgeAbsence(attempt(), sure(tip), listing, earlier), expected)
  })

  it("does not begin with a listing from before the end of a window that became larger since", () => {
    const { intentId } = attempt()
    const seen = { seq: 1, intentId, k: 1, kind: "absent" as const, gateway: "g", height: 109n, detail: "", at: 1_000 }
    assert.deepStrictEqual(absencesOf([seen], attempt()), [{ height: 109n, at: 1_000 }])
    assert.deepStrictEqual(absencesOf([seen], attempt({ windowMax: 20 })), [])
  })

  it("begins when the window and its margin are over", () => {
    assert.deepStrictEqual(
      [107n, 108n, 109n].map((tip) => isOver(attempt(), sure(tip))),
      [false, false, true],
    )
  })

  it("is not waited for longer than sixty blocks", () => {
    assert.isFalse(isProofOverdue(attempt(), sure(168n)))
    assert.isTrue(isProofOverdue(attempt(), sure(169n)))
    // A listing that was read late bears witness, and another one must have time to follow it.
    assert.isFalse(isProofOverdue(attempt(), sure(560n), [500n]))
    assert.isTrue(isProofOverdue(attempt(), sure(561n), [500n, 555n]))
    assert.isTrue(isProofOverdue(attempt(), sure(169n), [90n]))
  })
})

describe("several gateways", () => {
  it("agree where the majority does", () => {
    assert.deepStrictEqual([1, 2, 3, 4, 5].map(majorityOf), [1, 2, 2, 3, 3])
  })

  it("have begun the newest block that a majority has begun", () => {
    assert.strictEqual(quorumTip([7n], 1), 7n)
    assert.strictEqual(quorumTip([7n, 900n, 8n], 2), 8n, "one that is far ahead counts for nothing")
    assert.strictEqual(quorumTip([7n, 1n, 8n], 2), 7n, "and so does one that is behind")
    assert.isUndefined(quorumTip([900n], 2), "two of three must tell")
    assert.isUndefined(quorumTip([], 1))
  })

  it("list together what a majority lists completely, and hold what any of them holds", () => {
    assert.deepStrictEqual(quorumListing([whole(9n), whole(7n), whole(8n)], { quorum: 2, tip: sure(9n) }), whole(8n))
    const torn = { height: 9n, complete: false, holds: false }
    assert.deepStrictEqual(quorumListing([torn, whole(7n), whole(undefined)], { quorum: 2, tip: sure(9n) }), {
      height: undefined,
      complete: false,
      holds: false,
    })
    assert.isTrue(quorumListing([whole(9n), whole(9n), { ...torn, holds: true }], { quorum: 2, tip: sure(9n) }).holds)
  })
})

describe("the height that is sure", () => {
  const start = 1_700_000_000_000
  /** Anchored on 1,000, with the network's default window; signed at the start. */
  const own = attempt({ anchorHeight: 1_000n, windowBlocks: 100, createdAt: start })
  const reached = (told: bigint, seconds: number, blockMillis = 1_000) =>
    sureHeight(own, { reported: told, now: start + seconds * 1_000, blockMillis })

  it.each<[string, bigint, number, number | undefined, bigint]>([
    ["is what is told where the chain comes to it in that time", 1_050n, 60, undefined, 1_050n],
    ["is the anchor's at the signature", 1_950n, 0, undefined, 1_000n],
    ["is what the chain comes to in that time where more is told", 1_950n, 60, undefined, 1_060n],
    ["counts whole blocks", 1_950n, 0.95, undefined, 1_000n],
    ["goes by the pace that was measured", 1_950n, 60, 3_000, 1_020n],
    ["counts a clock that was put back as no time", 1_950n, -90_000, undefined, 1_000n],
    ["lets a week pass", 600_000n, 604_800, undefined, 600_000n],
  ])("%s", (_, told, seconds, blockMillis, expected) => {
    assert.strictEqual(reached(told, seconds, blockMillis), expected)
  })

  it("ends no window before it is over by the clock, whatever is told", () => {
    assert.isFalse(isOver(own, reached(10_000n, 110)))
    assert.isTrue(isOver(own, reached(10_000n, 111)))
  })

  it("bounds the marks of listings", () => {
    const far = quorumListing([whole(900n)], { quorum: 1, tip: sure(111n) })
    assert.deepStrictEqual(far, whole(111n))
    assert.strictEqual(judgeAbsence(attempt(), sure(110n), far, [109n]), "proven")
    const near = quorumListing([whole(900n)], { quorum: 1, tip: sure(110n) })
    assert.strictEqual(judgeAbsence(attempt(), sure(110n), near, [109n]), "nothing")
  })
})

describe("bytes that were never sent", () => {
  it("are dead with their window, and not before", () => {
    const unsent = attempt({ state: "signed", sends: 0 })
    assert.isFalse(isDeadUnsent(unsent, 0, sure(105n)))
    assert.isTrue(isDeadUnsent(unsent, 0, sure(106n)))
  })

  it("were sent if any trace says so, and final attempts stay final", () => {
    assert.isFalse(isDeadUnsent(attempt({ state: "signed", sends: 0 }), 1, sure(106n)), "a row of a send")
    assert.isFalse(isDeadUnsent(attempt({ state: "signed", sends: 1 }), 0, sure(106n)), "a count")
    assert.isFalse(isDeadUnsent(attempt({ state: "expired", sends: 0 }), 0, sure(106n)))
  })
})

describe("after an attempt's proven death", () => {
  it.each([
    [1, undefined, "in_flight", "reserved"],
    [1, 70, "unknown", "reserved"],
    [2, 89, "in_flight", "reserved"],
    [attemptsMax, undefined, "in_flight", "abandoned"],
    [1, 60, "in_flight", "abandoned"],
    [1, 51, "in_flight", "abandoned"],
    [1, 80, "in_flight", "abandoned"],
    [1, undefined, "manual", "abandoned"],
  ] as const)("attempt %i, last refused with %s, intent %s: %s", (k, refusal, intent, expected) => {
    assert.strictEqual(afterExpiry(k, refusal, intent), expected)
  })
})

describe("states", () => {
  it("an accepted attempt stays accepted while answers are missing", () => {
    assert.strictEqual(stateAfterSend("accepted", { state: "unknown" }), "accepted")
    assert.strictEqual(stateAfterSend("accepted", { state: "refused" }), "refused")
    assert.strictEqual(stateAfterSend("sending", { state: "unknown" }), "unknown")
  })

  it("an intent shows unknown while a POST may have arrived", () => {
    const states: ReadonlyArray<AttemptState> = ["signed", "sending", "accepted", "refused", "unknown"]
    assert.deepStrictEqual(states.map(intentStateOf), ["in_flight", "unknown", "in_flight", "in_flight", "unknown"])
  })
})

describe("a sighting under the transfer id", () => {
  const sent = attempt()
  const { payment } = intentOf("a")
  const paid = {
    from: payment.fromKey,
    to: payment.toKey,
    asset: payment.assetId,
    amount: payment.amount,
    timestamp: 5n,
  }
  const seen: Parameters<typeof judgeSighting>[0] = {
    intent: intentOf("a"),
    attempt: sent,
    height: sure(109n),
    gateway: "g",
    found: { ...paid, status: "rejected" },
    latest: 5n,
    lacking: undefined,
    before: "no",
  }
  type Change = Partial<typeof seen> & { readonly of?: Partial<(typeof seen)["found"]> }
  const sightings: ReadonlyArray<readonly [string, Change, string, string?]> = [
    ["done", { of: { status: "done" } }, "Executed"],
    [
      "of another amount",
      { of: { amount: 7n } },
      "Other",
      `another payment (7 of ${"c".repeat(8)} to ${"b".repeat(8)})`,
    ],
    ["from another key", { of: { from: "x", status: "done" } }, "Other"],
    [
      "at a time that has not come",
      { latest: 4n, of: { status: "done" } },
      "Nothing",
      "g shows it at a time that has not come",
    ],
    ["pending", { of: { status: "pending" } }, "Nothing"],
    ["refused within the window", { height: sure(108n) }, "Nothing"],
    ["refused, while more gateways must agree", { lacking: "2 must agree" }, "Nothing"],
    ["refused, not asked", { before: undefined }, "Ask"],
    ["refused, executed before", { before: "yes" }, "ExecutedBefore"],
    [
      "refused, perhaps executed before",
      { before: "unknown" },
      "Nothing",
      "g shows it rejected, and nothing tells whether it executed before",
    ],
    ["refused", {}, "Failed", "in a block and rejected: no reason given"],
    [
      "stopped for a reason",
      { of: { status: "stopped", reason: "no funds" } },
      "Failed",
      "in a block and stopped: no funds",
    ],
  ]
  for (const [name, change, tag, words] of sightings) {
    it(`${name}: ${tag}`, () => {
      const verdict = judgeSighting({ ...seen, ...change, found: { ...seen.found, ...change.of } })
      assert.strictEqual(verdict._tag, tag)
      const told =
        "why" in verdict ? verdict.why : "shown" in verdict ? verdict.shown : "detail" in verdict ? verdict.detail : ""
      if (words !== undefined) assert.strictEqual(told, words)
    })
  }
})
