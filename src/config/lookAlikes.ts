import { skeletonsOf } from "../domain/lookAlike.ts"
import type { Problem } from "./ConfigError.ts"
import type { Treasury } from "./Treasury.ts"

interface Named {
  readonly name: string
  /** Where the name stands in the treasury file. */
  readonly path: ReadonlyArray<PropertyKey>
}

/** The first name before it that a person can take it for, of each name that has one. */
const pairsOf = (all: ReadonlyArray<Named>): ReadonlyArray<{ readonly later: Named; readonly before: Named }> => {
  const first = new Map<string, Named>()
  return all.flatMap((later) => {
    const skeletons = skeletonsOf(later.name)
    const before = skeletons.map((skeleton) => first.get(skeleton)).find((found) => found !== undefined)
    for (const skeleton of skeletons) if (!first.has(skeleton)) first.set(skeleton, later)
    return before === undefined ? [] : [{ later, before }]
  })
}

/** Names of one kind that look alike: people who approve a payment read names, and cannot tell these apart. */
export const lookAlikes = ({ parties, assets, rules, approvals, document }: Treasury): ReadonlyArray<Problem> => {
  const kinds: ReadonlyArray<readonly [string, ReadonlyArray<Named>]> = [
    ["parties", [...parties.keys()].map((name) => ({ name, path: ["parties", name] }))],
    ["assets", [...assets.keys()].map((name) => ({ name, path: ["assets", name] }))],
    ["rules", rules.map(({ name }, i) => ({ name, path: ["rules", i, "name"] }))],
    ...[...approvals].map(([group, { of }]) => {
      const operators = [...of.keys()].map((name) => ({ name, path: ["approvals", group, "of", name] }))
      return ["operators", operators] as const
    }),
  ]
  return kinds.flatMap(([kind, all]) =>
    pairsOf(all).map(({ later, before }) =>
      document.problem(
        later.path,
        `the ${kind} ${before.name} and ${later.name} look alike: who approves or reads a payment cannot tell them apart`,
        "give one of them another name",
      ),
    ),
  )
}
