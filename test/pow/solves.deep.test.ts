// @ts-expect-error: the package brings no types.
import * as wallet from "@vegaprotocol/crypto/pow.js"
import { assert, describe, it } from "vitest"
import { makeKernel, widths } from "../../src/pow/kernel.ts"
import { makeSearch } from "../../src/pow/search.ts"
import { powPreimage } from "../../src/tx/ProofOfWork.ts"
import { makeDice } from "../support/Dice.ts"
import { differing, workOf } from "./solves.ts"

describe.each([
  ["two nonces at a time", widths.two],
  ["one nonce at a time", widths.one],
])("the search of %s", (name, width) => {
  const kernel = makeKernel(width)

  it("finds the nonce that the oracle finds, of five thousand random works", () => {
    assert.deepStrictEqual(differing(kernel, 5_000, name), [])
  })

  it("finds the nonce that the network's own wallet finds, of five hundred that are harder", async () => {
    const dice = makeDice(`wallet ${name}`)
    for (let i = 0; i < 500; i++) {
      const [work, difficulty] = [workOf(dice), 8 + dice.below(7)]
      const { nonce } = await wallet.solve(difficulty, work.blockHash, work.tid, 0n, 2n ** 22n)
      assert.strictEqual(makeSearch(powPreimage(work, 0n), difficulty, kernel)(0, 2 ** 22), Number(nonce))
    }
  })
})
