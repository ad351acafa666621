import { assert, describe, it } from "vitest"
import { SignerError } from "../../src/signer/SignerError.ts"

describe("why no signature came out of the signer", () => {
  it.each([
    [{ _tag: "Refused", refusal: "halted", detail: "operator" }, "refused (halted): operator", false],
    [{ _tag: "KeyMissing", party: "ab" }, "no key for ab", false],
    [{ _tag: "MemoryFailed", detail: "no disk", cause: new Error("no disk") }, "no disk", true],
  ] as const)("is said: %o", (reason, message, isRetryable) => {
    const error = new SignerError({ operation: "sign", reason })
    assert.deepStrictEqual([error.message, error.isRetryable], [message, isRetryable])
  })
})
