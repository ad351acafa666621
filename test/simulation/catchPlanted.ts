import type { Gateways } from "./Plan.ts"
import type { Planted } from "./planted.ts"
import type { Verdict } from "./runSeed.ts"
import { seedsFrom, simulate } from "./simulate.ts"

/** The first violation that one planted mistake leads to, within so many seeds; undefined where it stays unseen. */
export const catchOne = async (
  one: Planted,
  seeds: number,
  gateways: (seed: number) => Gateways,
): Promise<Verdict | undefined> => {
  const isCaught = ({ violations }: Verdict) => violations.length > 0
  const verdicts = await simulate({
    asked: seedsFrom(1, seeds).map((seed) => ({ seed, gateways: gateways(seed) })),
    workers: 2,
    edits: one.edits,
    enough: isCaught,
  })
  return verdicts.find(isCaught)
}
