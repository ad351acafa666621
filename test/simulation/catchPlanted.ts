import type { Gateways } from "./Plan.ts"
import { type Planted, planted } from "./planted.ts"
import type { Verdict } from "./runSeed.ts"
import { simulate } from "./simulate.ts"

/** The first violation that one planted mistake leads to, within so many seeds; undefined where it stays unseen. */
export const catchOne = async (
  one: Planted,
  seeds: number,
  gateways: (seed: number) => Gateways,
): Promise<Verdict | undefined> => {
  const isCaught = ({ violations }: Verdict) => violations.length > 0
  const verdicts = await simulate({ first: 1, seeds, gateways, workers: 2, edits: one.edits, enough: isCaught })
  return verdicts.find(isCaught)
}

/** Plants each mistake in turn and prints what caught it. Whether all were caught. */
export const catchPlanted = async (seeds: number, gateways: (seed: number) => Gateways): Promise<boolean> => {
  let missed = 0
  for (const one of planted) {
    const caught = await catchOne(one, seeds, gateways)
    if (caught === undefined) missed++
    console.log(
      caught === undefined
        ? `NOT CAUGHT in ${seeds} seeds: ${one.name}`
        : `caught by seed ${caught.seed}: ${one.name}\n  ${caught.violations[0]}`,
    )
  }
  console.log(`planted ${planted.length} caught ${planted.length - missed}`)
  return missed === 0
}
