import { Effect } from "effect"
import { inForceOr } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"

/** Every operator that a treasury's file names, whatever the group: name to public key. */
export const operatorsOf = ({ approvals }: Pick<Treasury, "approvals">): ReadonlyMap<string, string> =>
  new Map([...approvals.values()].flatMap(({ of }) => [...of]))

/** How many operators must agree to what is nobody's own: two, or all where there is one; 0 where there is none. */
export const neededOf = (operators: ReadonlyMap<string, string>): number => Math.min(2, operators.size)

/**
 * The operators whose agreement counts now: those of the configuration in force, which are those of the terms last in
 * force where the file's own wait. A command that opens the store itself has them from there as well.
 */
export const operatorsInForce = (treasury: Treasury): Effect.Effect<ReadonlyMap<string, string>> =>
  Effect.map(inForceOr({ treasury, mode: treasury.mode }), (inForce) => operatorsOf(inForce.treasury))
