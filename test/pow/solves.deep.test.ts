// @ts-expect-error: the package brings no types.
import * as wallet from "@vegaprotocol/crypto/pow.js"
import { assert, beforeAll, describe, it } from "vitest"
import { makeKernel, widths } from "../../src/pow/kernel.ts"
import { makeDice } from "../support/Dice.ts"
import { differing, solvedWorks, workOf } from "./solves.ts"

/** Works by the oracle; a tenth as many, which are harder, by the network's own wallet. */
const count = Number(process.env["COFFERER_TEST_ROUNDS"] ?? 1_000)

// The oracles take most of the time: both kernels are compared with the same answers.
let byOracle: ReturnType<typeof solvedWorks>
const byWallet: Array<{
  readonly work: ReturnType<typeof workOf>
  readonly difficulty: number
  readonly nonce: number
}> = []
beforeAll(async () => {
  byOracle = solvedWorks(count, "deep")
  const dice = makeDice("wallet")
  for (let i = 0; i < count / 10; i++) {
    const [work, difficulty] = [workOf(dice), 8 + dice.below(7)]
    const { nonce } = await wallet.solve(difficulty, work.blockHash, work.tid, 0n, 2n ** 22n)
    byWallet.push({ work, difficulty, nonce: Number(nonce) })
  }
})

describe.each([
  ["two nonces at a time", widths.two],
  ["one nonce at a time", widths.one],
])("the search of %s", (_, width) => {
  const kernel = makeKernel(width)

  it("finds the nonce that the oracle finds, of each random work", () => {
    assert.deepStrictEqual(differing(kernel, byOracle), [])
  })

  it("finds the nonce that the network's own wallet finds, of harder ones", () => {
    assert.deepStrictEqual(differing(kernel, byWallet), [])
  })
})
