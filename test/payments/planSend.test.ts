import { assert, describe, it } from "@effect/vitest"
import { GatewayError, type GatewayReason } from "../../src/gateway/GatewayError.ts"
import {
  backoffMillis,
  classifyAnswer,
  classifyError,
  executedForm,
  isSendDue,
  nextSend,
  planSend,
  sendsMax,
} from "../../src/payments/planSend.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"

const answer = (success: boolean, code: number, data = "") => ({
  success,
  txHash: "AB".repeat(32),
  code,
  data,
  log: "",
  height: 0n,
})
const party = "a".repeat(64)

/** success, code, text, whether the other form may be tried → outcome, evidence, state, next step. */
const answers: ReadonlyArray<readonly [boolean, number, string, boolean, readonly [string, string, string, string]]> = [
  [true, 0, "", true, ["accepted", "accepted", "accepted", "observe"]],
  [true, 70, "", false, ["ambiguous", "silent", "unknown", "resend"]],
  [false, 0, "", false, ["ambiguous", "silent", "unknown", "resend"]],
  [false, 60, "tx.signature.value (invalid signature)", true, ["framing", "refused", "refused", "otherFraming"]],
  [false, 60, "tx.signature.value (invalid signature)", false, ["refused", "refused", "refused", "observe"]],
  [false, 51, "disabled", true, ["refused", "refused", "refused", "observe"]],
  [false, 70, "not enough funds to transfer", true, ["refused", "refused", "refused", "observe"]],
  [false, 71, "", true, ["refused", "refused", "refused", "observe"]],
  [false, 80, "", true, ["refused", "refused", "refused", "observe"]],
  [false, 89, "proof of work tid already seen by the node", true, ["refused", "seen", "unknown", "nextBlock"]],
  [false, 89, "transaction hash already used", true, ["duplicate", "known", "unknown", "observe"]],
  [false, 89, "proof of work tid already used", true, ["duplicate", "known", "unknown", "observe"]],
  [false, 89, "nonce already used by party", true, ["duplicate", "known", "unknown", "observe"]],
  [
    false,
    89,
    `unknown block height for tx:ab, command:Transfer, party:${party}`,
    true,
    ["refused", "out_of_window", "unknown", "nextBlock"],
  ],
  [false, 89, "transaction too old", true, ["refused", "out_of_window", "unknown", "nextBlock"]],
  [false, 89, "failed to verify proof of work", true, ["refused", "refused", "refused", "newWork"]],
  [
    false,
    89,
    "party has already submitted the maximum number of transfer requests per epoch",
    true,
    ["refused", "refused", "refused", "observe"],
  ],
  [false, 42, "what is this", true, ["refused", "silent", "unknown", "observe"]],
  [false, -1, "", true, ["refused", "silent", "unknown", "observe"]],
]

const reasons: ReadonlyArray<readonly [GatewayReason, readonly [string, string, string]]> = [
  [{ _tag: "AlreadyKnown", detail: "tx already exists in cache" }, ["duplicate", "known", "observe"]],
  [{ _tag: "RateLimited" }, ["throttled", "throttled", "resend"]],
  [{ _tag: "Banned", retryAfterMillis: 600_000 }, ["throttled", "throttled", "resend"]],
  [{ _tag: "Unreachable", detail: "refused" }, ["unreachable", "silent", "resend"]],
  [{ _tag: "Timeout", afterMillis: 2_000 }, ["ambiguous", "silent", "resend"]],
  [{ _tag: "Ambiguous", detail: "502" }, ["ambiguous", "silent", "resend"]],
  [{ _tag: "Unreadable", detail: "<html>" }, ["ambiguous", "silent", "resend"]],
  [{ _tag: "TooLarge", detail: "" }, ["ambiguous", "silent", "resend"]],
  [{ _tag: "Rejected", detail: "400" }, ["ambiguous", "silent", "resend"]],
  [{ _tag: "NotFound", detail: "404" }, ["ambiguous", "silent", "resend"]],
  [{ _tag: "Unsupported", detail: "501" }, ["ambiguous", "silent", "resend"]],
]

const sent = (...outcomes: ReadonlyArray<readonly ["bare" | "prefixed", string | null]>) =>
  outcomes.map(([framing, outcome]) => ({ framing, outcome }))

/** Sends so far, known form, refused form → form, whether the other may be tried, whether it counts as the first. */
const forms: ReadonlyArray<readonly [...Parameters<typeof planSend>, "bare" | "prefixed", boolean, boolean]> = [
  [[], undefined, undefined, "prefixed", true, true],
  [[], undefined, "prefixed", "bare", true, true],
  [[], "bare", undefined, "bare", false, true],
  [sent(["prefixed", "framing"]), undefined, "prefixed", "bare", false, true],
  [sent(["prefixed", "framing"], ["bare", "ambiguous"]), undefined, "prefixed", "bare", false, false],
  [sent(["bare", "framing"]), undefined, "bare", "prefixed", false, true],
  [sent(["bare", "accepted"]), undefined, "prefixed", "bare", true, false],
  [sent(["bare", null]), "prefixed", undefined, "prefixed", false, false],
]

/** Sends of an attempt that executed → the form to remember. */
const executedForms: ReadonlyArray<readonly [Parameters<typeof executedForm>[0], ReturnType<typeof executedForm>]> = [
  [[], undefined],
  [sent(["bare", null]), "bare"],
  [sent(["prefixed", "refused"]), "prefixed"],
  [sent(["prefixed", "framing"], ["bare", "accepted"]), "bare"],
  [sent(["prefixed", "framing"], ["bare", "ambiguous"]), undefined],
]

describe("the form of an execution", () => {
  it.each(executedForms)("by the sends %j: %s", (sends, form) => {
    assert.strictEqual(executedForm(sends), form)
  })
})

describe("the next send", () => {
  const attempt = attemptOf(intentOf("1"), 1, { nextAt: 1_000, nextHeight: 100n })
  it.each(forms)("after %j, known %s, refused %s: in form %s", (sends, known, refused, framing, mayReframe, first) => {
    assert.deepStrictEqual(planSend(sends, known, refused), { framing, mayReframe, first })
  })
  it("is due at its time and height, outside the margin of its window, while the attempt is not over", () => {
    const at = { now: 1_000, height: 100n }
    assert.isTrue(isSendDue(attempt, at))
    assert.isFalse(isSendDue(attempt, { ...at, now: 999 }))
    assert.isTrue(isSendDue(attempt, { ...at, now: -7_001 }), "a wrong clock does not hold it")
    assert.isFalse(isSendDue(attempt, { ...at, height: 99n }))
    assert.isFalse(isSendDue(attempt, { ...at, height: 190n }))
    assert.isFalse(isSendDue({ ...attempt, state: "expired" }, at))
  })
  it("after silence comes within a doubling time, and by blocks after the quick sends and for known bytes", () => {
    const waits = Array.from({ length: sendsMax }, (_, i) => backoffMillis("resend", i + 1))
    assert.deepStrictEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, undefined])
    const at = { now: 1_000, height: 120n, sends: 1, wait: 400 }
    const slow = { nextAt: 1_000, nextHeight: 130n }
    assert.deepStrictEqual(nextSend("resend", attempt, at), { nextAt: 1_400, nextHeight: 0n })
    assert.deepStrictEqual(nextSend("resend", attempt, { ...at, sends: sendsMax }), slow)
    assert.deepStrictEqual(nextSend("nextBlock", attempt, { ...at, sends: sendsMax }), slow)
    assert.deepStrictEqual(nextSend("observe", attempt, at), slow)
    assert.deepStrictEqual(nextSend("nextBlock", attempt, at), { nextAt: 1_000, nextHeight: 121n })
    for (const step of ["otherFraming", "newWork"] as const) {
      assert.deepStrictEqual(nextSend(step, attempt, { ...at, sends: sendsMax - 1 }), { nextAt: 1_000, nextHeight: 0n })
    }
    assert.deepStrictEqual(nextSend("newWork", attempt, { ...at, sends: sendsMax }), slow, "a gateway that refuses all")
  })
})

describe("what an answer to a submission proves", () => {
  it.each(answers)("success %s, code %i, %j, other form open %s", (success, code, data, mayReframe, expected) => {
    const verdict = classifyAnswer(answer(success, code, data), mayReframe)
    assert.deepStrictEqual([verdict.outcome, verdict.evidence, verdict.state, verdict.next], [...expected])
    assert.strictEqual(verdict.code, code)
  })

  it.each(reasons)("%j leaves the attempt unknown", (reason, expected) => {
    const verdict = classifyError(new GatewayError({ gateway: "g", operation: "submit", reason }))
    assert.deepStrictEqual([verdict.outcome, verdict.evidence, verdict.next], [...expected])
    assert.strictEqual(verdict.state, "unknown")
    assert.isUndefined(verdict.code)
  })

  it("never leads to a new signature, whatever came", () => {
    const steps = new Set([
      ...answers.map(([success, code, data, may]) => classifyAnswer(answer(success, code, data), may).next),
      ...reasons.map(([reason]) => classifyError(new GatewayError({ gateway: "g", operation: "submit", reason })).next),
    ])
    assert.deepStrictEqual([...steps].sort(), ["newWork", "nextBlock", "observe", "otherFraming", "resend"])
  })
})
