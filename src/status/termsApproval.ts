import { Effect, Option, Result, Schema } from "effect"
import { ConfigInForce, type InForce, termsOf } from "../config/ConfigInForce.ts"
import { loadTreasury } from "../config/Treasury.ts"
import { visible } from "../domain/visible.ts"
import { termsHash } from "../rules/storedTerms.ts"
import { weakens } from "../rules/weakens.ts"
import { TermsLog } from "../store/TermsLog.ts"
import type { Agreement } from "../tx/Approval.ts"
import { agreementOf, operatorsInForce, placeOf, takeAgreement } from "./agreeing.ts"
import { SignatureText } from "./approvals.ts"
import { problem } from "./stories.ts"

/**
 * A treasury whose files somebody names to the daemon. Where it cannot be used, nothing of what the files hold is told:
 * the daemon may read more than who asks. The command line reads them itself first, and tells what is wrong in them.
 */
export const loadAsked = Effect.fnUntraced(function* (files: readonly [string, ...ReadonlyArray<string>]) {
  const loaded = yield* Effect.result(loadTreasury(...files))
  if (Result.isSuccess(loaded)) return { treasury: loaded.success }
  return {
    problem: `${files.map(visible).join(", ")}: no treasury that the daemon can use`,
    remedy: '"cofferer check" says what is wrong in it; the daemon reads the files itself',
  }
})

/**
 * What a configuration permits that the terms in force do not, in words. Empty for one that is not live, and in a store
 * that never was.
 */
export const weakerIn = Effect.fnUntraced(function* ({ treasury, mode }: InForce) {
  const known = yield* (yield* TermsLog).inForce
  return known === undefined || mode !== "live" ? [] : weakens(known.terms, termsOf({ treasury }))
})

/**
 * What another configuration changes in the terms in force, as operators agree to it. Nothing is used up by that: once
 * the terms are in force, journalled in the same transaction, `replaces` is another number and no signature fits.
 */
export const termsChangeOf = Effect.fnUntraced(function* (old: InForce, next: Pick<InForce, "treasury">) {
  const known = yield* (yield* TermsLog).inForce
  return {
    kind: "terms",
    replaces: known?.seq ?? 0,
    terms: termsHash(termsOf(next)),
    weaker: weakens(known?.terms ?? termsOf(old), termsOf(next)),
  } as const satisfies Agreement
})

/** Whether the operators in force agreed to exactly these terms; else what they can do about it. */
export const approvalOfTerms = Effect.fnUntraced(function* (old: InForce, next: InForce) {
  const change = yield* termsChangeOf(old, next)
  const operators = yield* operatorsInForce(old.treasury)
  const { by, others, missing } = yield* agreementOf(operators, placeOf(old.treasury), change)
  if (operators.size === 0) return { isEnough: false, by, advice: "" }
  const so = by.length === 0 ? `${missing} of` : `approved by ${by.join(", ")}, ${missing} more of`
  const advice = `operators "cofferer approve terms ${change.terms.slice(0, 8)}" (${so} ${others.join(", ")})`
  return { isEnough: missing === 0, by, advice }
})

/** Absolute paths of the changed file and what lies over it; without a signature it is told what would be signed. */
export const ApproveTermsBody = Schema.Struct({
  files: Schema.NonEmptyArray(Schema.String.check(Schema.isPattern(/^\//))),
  signature: Schema.optional(SignatureText),
})

/** What operators would sign for the terms of files, how far they have, and what is weaker in them. */
export const approveTerms = Effect.fn("People.approveTerms")(function* (
  given: InForce,
  { files, signature }: typeof ApproveTermsBody.Type,
) {
  const held = yield* Effect.serviceOption(ConfigInForce)
  const old = Option.isSome(held) ? held.value.now() : given
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
  const operators = yield* operatorsInForce(old.treasury)
  const place = placeOf(old.treasury)
  if (signature !== undefined) return yield* takeAgreement(operators, place, change, signature)
  const { terms, weaker } = change
  return { terms, policy: treasury.policy.digest, weaker, ...(yield* agreementOf(operators, place, change)) }
})
