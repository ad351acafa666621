import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Observations } from "../../src/store/balances/Observations.ts"
import { testStore } from "../support/TestStore.ts"

const begin = 1_800_000_000_000

/** What is measured as balances come to be known up to one block after the other, each so many blocks on. */
const measured = Effect.fnUntraced(function* (steps: ReadonlyArray<readonly [blocks: number, millisEach: number]>) {
  const store = testStore()
  return yield* Effect.gen(function* () {
    const observations = yield* Observations
    let [height, at, pace] = [1n, begin, 0]
    yield* observations.rebase([], { height, timestamp: BigInt(at) * 1_000_000n })
    yield* observations.blockMillis
    for (const [blocks, millisEach] of steps) {
      height += BigInt(blocks)
      at += blocks * millisEach
      yield* observations.rebase([], { height, timestamp: BigInt(at) * 1_000_000n })
      pace = yield* observations.blockMillis
    }
    return pace
  }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
})

describe("how long a block takes", () => {
  it.effect.each([
    { name: "is a second before five blocks are seen", steps: [[4, 3_000]] as const, millis: 1_000 },
    { name: "is measured from five blocks on", steps: [[5, 3_000]] as const, millis: 3_000 },
    { name: "has a lower bound", steps: [[50, 1]] as const, millis: 100 },
    { name: "has an upper bound", steps: [[50, 90_000]] as const, millis: 10_000 },
    {
      name: "forgets the older half after a hundred blocks",
      // From block 71, which was the middle when the 111th came.
      steps: [...Array(10).fill([10, 2_000] as const), [10, 1_000] as const],
      millis: 1_750,
    },
    {
      name: "keeps all of a hundred blocks",
      steps: [...Array(9).fill([10, 2_000] as const), [10, 1_000] as const],
      millis: 1_900,
    },
    {
      name: "is measured anew where the chain is lower",
      steps: [
        [50, 2_000],
        [-20, 1_000],
      ] as const,
      millis: 1_000,
    },
  ])("$name", ({ steps, millis }) => Effect.map(measured(steps), (found) => assert.strictEqual(found, millis)))
})
