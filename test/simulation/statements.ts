import type { Failing } from "./CrashPoints.ts"
import type { Plan } from "./Plan.ts"
import type { Verdict } from "./runSeed.ts"
import { seedsFrom, simulate } from "./simulate.ts"

/** One payment on a calm day: what the disk is to spoil. */
export const calmPlan: Plan = {
  seed: 1,
  gateways: "honest",
  profile: "0.75",
  window: 10,
  blocks: 14,
  blockMillis: 1_000,
  difficulty: 1,
  txPerBlock: 2,
  increaseDifficulty: false,
  epochSeconds: 90,
  transfersPerEpoch: 20,
  workChanges: [],
  faults: [],
  stepsPerLife: undefined,
  rebroadcaster: false,
  manyNodes: false,
  liar: false,
  sleeps: false,
  latencyMillis: 10,
  spends: [{ block: 3, from: "hot", amount: 8_000 }],
}

/** No statement: the run in which nothing goes wrong. */
const none: Failing = { from: 0, to: 0, errcode: 10 }

/** More statements than come between two looks at the disk: trouble that lasts. */
const lasting = 400

/**
 * Lets every `stride`-th statement of the calm day fail: once, and for a while, by an I/O error and by a full disk in
 * turn. The verdict of each run.
 */
export const failEachStatement = async (stride: number): Promise<ReadonlyArray<Verdict>> => {
  const gateways = "honest"
  const [clean] = await simulate({ asked: [{ seed: 1, gateways, failing: none }], workers: 1 })
  if (clean === undefined || clean.executed !== 1) throw new Error("the calm day has no payment")
  const places = Math.ceil(clean.statements / stride)
  const failing = (seed: number): Failing => {
    const from = ((seed - 1) % places) * stride
    return { from, to: from + (seed > places ? lasting : 1), errcode: seed % 2 === 0 ? 13 : 10 }
  }
  const asked = seedsFrom(1, 2 * places).map((seed) => ({ seed, gateways, failing: failing(seed) }) as const)
  return simulate({ asked, workers: 2 })
}
