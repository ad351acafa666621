import { Effect } from "effect"
import { inForceOr } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import type { Terms } from "../rules/weakens.ts"
import type { StoreError } from "../store/StoreError.ts"
import { TermsLog } from "../store/TermsLog.ts"

/** Operators whom terms name, whatever the group: name to public key. */
export const operatorsIn = ({ policy }: Pick<Terms, "policy">): ReadonlyMap<string, string> =>
  new Map((policy.groups ?? []).flatMap(({ of }) => [...of]))

/** The same of a treasury's file. */
export const operatorsOf = ({ approvals }: Pick<Treasury, "approvals">): ReadonlyMap<string, string> =>
  new Map([...approvals.values()].flatMap(({ of }) => [...of]))

/** How many operators must agree to what is nobody's own: two, or all where there is one; 0 where there is none. */
export const neededOf = (operators: ReadonlyMap<string, string>): number => Math.min(2, operators.size)

/**
 * The operators whose agreement counts now: those of the terms in force, whatever the file of this process names. In a
 * store that was never live, those of the configuration in force.
 */
export const operatorsInForce = (
  treasury: Treasury,
): Effect.Effect<ReadonlyMap<string, string>, StoreError, TermsLog> =>
  Effect.gen(function* () {
    const known = yield* (yield* TermsLog).inForce
    if (known !== undefined) return operatorsIn(known.terms)
    return operatorsOf((yield* inForceOr({ treasury, mode: treasury.mode })).treasury)
  })
