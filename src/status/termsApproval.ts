import { Effect, Option, Schema } from "effect"
import { ConfigInForce, type InForce, termsOf } from "../config/ConfigInForce.ts"
import { termsHash } from "../rules/storedTerms.ts"
import { weakens } from "../rules/weakens.ts"
import { TermsLog } from "../store/TermsLog.ts"
import type { TermsChange } from "../tx/Agreement.ts"
import { SignatureText } from "./approvals.ts"
import { loadAsked } from "./loadAsked.ts"
import { operatorsInForce } from "./operatorsInForce.ts"
import { takeTerms, termsApprovalOf } from "./sharedApprovals.ts"
import { problem } from "./stories.ts"

/**
 * What a configuration permits that the terms in force do not, in words. Empty for one that is not live, and in a store
 * that never was.
 */
export const weakerIn = Effect.fnUntraced(function* ({ treasury, mode }: InForce) {
  const known = yield* (yield* TermsLog).inForce
  return known === undefined || mode !== "live" ? [] : weakens(known.terms, termsOf({ treasury }))
})

/** What another configuration changes in the terms in force, as operators agree to it. */
export const termsChangeOf = Effect.fnUntraced(function* (old: InForce, next: Pick<InForce, "treasury">) {
  const known = yield* (yield* TermsLog).inForce
  return {
    treasury: old.treasury.name,
    chainId: old.treasury.network.chainId,
    replaces: known?.seq ?? 0,
    terms: termsHash(termsOf(next)),
    weaker: weakens(known?.terms ?? termsOf(old), termsOf(next)),
  } satisfies TermsChange
})

/** How far the operators in force agree to another configuration. */
export const agreementToTerms = Effect.fnUntraced(function* (old: InForce, next: Pick<InForce, "treasury">) {
  const change = yield* termsChangeOf(old, next)
  return { ...(yield* termsApprovalOf(yield* operatorsInForce(old.treasury), change)), change }
})

const Files = Schema.NonEmptyArray(Schema.String.check(Schema.isPattern(/^\//)))
/** Absolute paths of the changed file and what lies over it. */
export const TermsBody = Schema.Struct({ files: Files })
export const ApproveTermsBody = Schema.Struct({ files: Files, signature: SignatureText })

/** The configuration of files, as it would come into force here. */
const changeIn = Effect.fnUntraced(function* (old: InForce, files: typeof Files.Type) {
  const loaded = yield* loadAsked(files)
  if ("problem" in loaded) return problem(loaded.problem, 422, loaded.remedy)
  const { treasury } = loaded
  if (treasury.name !== old.treasury.name) {
    return problem(`the file is of the treasury ${treasury.name}, not ${old.treasury.name}`, 409, "name its own file")
  }
  const change = yield* termsChangeOf(old, { treasury })
  if (change.terms === ((yield* (yield* TermsLog).inForce)?.hash ?? termsHash(termsOf(old)))) {
    return problem("these terms are in force already", 409, "nothing is left to approve")
  }
  return { change, policy: treasury.policy.digest }
})

const inForceHere = (given: InForce) =>
  Effect.map(Effect.serviceOption(ConfigInForce), (held) => (Option.isSome(held) ? held.value.now() : given))

/** What operators would sign for the terms of files, how far they have, and what is weaker in them. */
export const findTerms = Effect.fnUntraced(function* (given: InForce, { files }: typeof TermsBody.Type) {
  const old = yield* inForceHere(given)
  const found = yield* changeIn(old, files)
  if ("problem" in found) return found
  const { terms, weaker } = found.change
  const done = yield* termsApprovalOf(yield* operatorsInForce(old.treasury), found.change)
  return { terms, policy: found.policy, weaker, ...done }
})

/** Takes an operator's signature for the terms of files. */
export const approveTerms = Effect.fn("People.approveTerms")(function* (
  given: InForce,
  { files, signature }: typeof ApproveTermsBody.Type,
) {
  const old = yield* inForceHere(given)
  const found = yield* changeIn(old, files)
  if ("problem" in found) return found
  return yield* takeTerms(yield* operatorsInForce(old.treasury), found.change, signature)
})
