import { assert, describe, it } from "vitest"
import { makeKernel, widths } from "../../src/pow/kernel.ts"
import { differing } from "./solves.ts"

describe("five thousand random works", () => {
  it.each([
    ["two nonces at a time", widths.two],
    ["one nonce at a time", widths.one],
  ])("have the nonce that the oracle finds: %s", (name, width) => {
    assert.deepStrictEqual(differing(makeKernel(width), 5_000, name), [])
  })
})
