import { assert, describe, it } from "vitest"
import { SignerError } from "../../src/signer/SignerError.ts"

describe("why no signature came out of the signer", () => {
  it.each([
    [{ _tag: "Refused", refusal: "halted", detail: "operator" }, "refused (halted): operator"],
    [{ _tag: "KeyMissing", party: "ab" }, "no key for ab"],
    [{ _tag: "MemoryFailed", detail: "no disk", cause: new Error("no disk") }, "no disk"],
  ] as const)("is said: %o", (reason, message) => {
    assert.strictEqual(new SignerError({ operation: "sign", reason }).message, message)
  })
})
