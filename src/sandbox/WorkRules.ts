import type { Chain } from "./Chain.ts"
import type { PowRules } from "./Scenario.ts"

/** The rules that a command anchored on the newest block must keep. */
export const rulesNow = (chain: Pick<Chain, "ruleSets">): PowRules => chain.ruleSets[chain.ruleSets.length - 1]!.rules

/** The rules for a height; undefined where they are forgotten: a command so old is refused whatever its work is. */
export const rulesFor = (chain: Pick<Chain, "ruleSets">, height: number): PowRules | undefined =>
  chain.ruleSets.find(({ from, until }) => height >= from && (until === undefined || height <= until))?.rules

const same = (a: PowRules, b: PowRules): boolean =>
  a.difficulty === b.difficulty &&
  a.pastBlocks === b.pastBlocks &&
  a.txPerBlock === b.txPerBlock &&
  a.increaseDifficulty === b.increaseDifficulty

/**
 * At the beginning of a block: what the scenario asks for holds for the commands anchored on it and
 * on later ones. Sets whose last window is over are forgotten.
 */
export const turnRules = (chain: Chain): void => {
  const { height, scenario, ruleSets } = chain
  const planned = scenario.powChanges.filter((change) => change.height <= height).map(({ rules }) => rules)
  const rules: PowRules = Object.assign({}, scenario.pow, ...planned)
  const last = ruleSets.length - 1
  if (!same(rules, ruleSets[last]!.rules)) {
    ruleSets[last] = { ...ruleSets[last]!, until: height - 1 }
    ruleSets.push({ from: height, until: undefined, rules })
  }
  const kept = ruleSets.filter(({ until, rules: own }) => until === undefined || until + own.pastBlocks > height)
  if (kept.length < ruleSets.length) ruleSets.splice(0, ruleSets.length, ...kept)
}
