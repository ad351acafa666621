import { assert, describe, it } from "@effect/vitest"
import { GatewayError, type GatewayReason } from "../../src/gateway/GatewayError.ts"
import { classifyAnswer, classifyError } from "../../src/submitter/classify.ts"

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
