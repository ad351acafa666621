import { Effect, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { keptReasons } from "../domain/Halt.ts"
import { Approvals } from "../store/Approvals.ts"
import { Brake } from "../store/Brake.ts"
import { approversOf, isApproval, policyText, resumeText } from "../tx/Approval.ts"
import { SignatureText } from "./approvals.ts"
import { problem } from "./stories.ts"

/** Every operator of the configuration in force, whatever the group. */
export const operatorsOf = ({ approvals }: Treasury): ReadonlyMap<string, string> =>
  new Map([...approvals.values()].flatMap(({ of }) => [...of]))

/** How many of them must agree to what is nobody's own: two, or all where there is one; 0 where there is none. */
export const neededOf = (treasury: Treasury): number => Math.min(2, operatorsOf(treasury).size)

export interface SharedApproval {
  readonly by: ReadonlyArray<string>
  readonly missing: number
  readonly others: ReadonlyArray<string>
}

/** How far the operators in force have approved a text, on the signatures that hold. */
export const sharedApprovalOf = Effect.fnUntraced(function* (treasury: Treasury, subject: string, text: string) {
  const operators = operatorsOf(treasury)
  const by = approversOf(operators, text, yield* (yield* Approvals).about(subject))
  const others = [...operators.keys()].filter((name) => !by.includes(name))
  return { by, others, missing: Math.max(0, neededOf(treasury) - by.length) } satisfies SharedApproval
})

/** Stores an operator's signature over a text that is no payment; `problem` where it is nobody's. */
export const takeShared = Effect.fnUntraced(function* (
  treasury: Treasury,
  asked: { readonly subject: string; readonly text: string; readonly signature: string },
  facts: Readonly<Record<string, unknown>>,
) {
  const { subject, text } = asked
  const signature = asked.signature.toLowerCase()
  const [operator, key] = [...operatorsOf(treasury)].find(([, one]) => isApproval(one, text, signature)) ?? []
  if (operator === undefined || key === undefined) {
    return problem("the signature is of no operator over this", 403, "sign with the key of an operator in force")
  }
  const isNew = yield* (yield* Approvals).give({ subject, operator, key, text, signature }, facts)
  return { operator, isNew, ...(yield* sharedApprovalOf(treasury, subject, text)) }
})

export const PolicyBody = Schema.Struct({
  digest: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/, { expected: "64 lower-case hex characters" })),
  signature: SignatureText,
})

/** What a policy would replace, for who signs it. */
export const policyNow = ({ policy }: Treasury) => ({ digest: policy.digest })

const subjectOf = (digest: string): string => `policy ${digest}`

/** Takes an operator's signature for a policy that is to come into force. */
export const approvePolicy = Effect.fn("People.approvePolicy")(function* (
  treasury: Treasury,
  { digest, signature }: typeof PolicyBody.Type,
) {
  const replaced = treasury.policy.digest
  if (digest === replaced) return problem("this policy is in force already", 409, "name the one of the changed file")
  const text = policyText(treasury.name, replaced, digest)
  return yield* takeShared(treasury, { subject: subjectOf(digest), text, signature }, { policy: digest, replaced })
})

/** How far the operators of the configuration in force have approved the policy with this digest. */
export const policyApprovalOf = (inForce: Treasury, digest: string) =>
  sharedApprovalOf(inForce, subjectOf(digest), policyText(inForce.name, inForce.policy.digest, digest))

/**
 * Ends of halts need operators, where there are any. `missing` above 0: the resume waits, and `text` is what the next
 * of them signs. It is bound to the halts in force and to the reason, so both must still be the same.
 */
export const approveResume = Effect.fnUntraced(function* (
  treasury: Treasury,
  { scope, reason }: { readonly scope: string; readonly reason: string },
  signature: string | undefined,
) {
  const halts = scope === "all" ? yield* (yield* Brake).halts : []
  const lifted = halts.filter(({ reason }) => keptReasons.every((kept) => kept !== reason))
  const text = resumeText(treasury.name, lifted, reason)
  if (lifted.length === 0 || neededOf(treasury) === 0) return { by: [], others: [], missing: 0, text }
  const subject = `resume ${lifted.map(({ seq }) => seq).join(",")}`
  if (signature !== undefined) {
    const taken = yield* takeShared(treasury, { subject, text, signature }, { reason })
    if ("problem" in taken) return taken
  }
  return { ...(yield* sharedApprovalOf(treasury, subject, text)), text }
})
