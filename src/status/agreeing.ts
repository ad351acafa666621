import { Data, Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import type { Agreement, HaltNamed, Place } from "../tx/Agreement.ts"
import { neededOf, operatorsInForce } from "./operatorsInForce.ts"
import { agreementOf, type SharedApproval, takeAgreement } from "./sharedApprovals.ts"

/** Operators have not agreed to it yet: nothing was done. */
export class NotAgreed extends Data.TaggedError("NotAgreed")<{
  readonly asked: Agreement
  readonly shared: SharedApproval
}> {}

/** What a verb that waits for operators answers: what is signed, who has, and who still may. */
export type Waiting = SharedApproval & { readonly waits: Agreement["kind"] }

export const placeOf = ({ name, network }: Treasury): Place => ({ treasury: name, chainId: network.chainId })

/** A halt or a stop, as it stands in what operators sign: one held in memory has no number of its own. */
export const haltNamed = ({
  seq,
  reason,
  at,
}: {
  readonly seq: number
  readonly reason: string
  readonly at: number
}): HaltNamed => ({ seq, reason: `${reason}, since ${new Date(at).toISOString()}` })

/** Fails where the operators in force have not agreed; where there are none it stands in nobody's way. */
export const needAgreement = Effect.fnUntraced(function* (treasury: Treasury, asked: Agreement) {
  const operators = yield* operatorsInForce(treasury)
  if (neededOf(operators) === 0) return []
  const shared = yield* agreementOf(operators, placeOf(treasury), asked)
  return shared.missing > 0 ? yield* new NotAgreed({ asked, shared }) : shared.by
})

/**
 * Does a verb that operators agree on. It says by `NotAgreed`, in the transaction that it then undoes, what it would
 * do; a signature is taken for exactly that, and the verb is tried again. `problem` where the signature is nobody's.
 */
export const agreeing = Effect.fnUntraced(function* <A, E, R>(
  treasury: Treasury,
  signature: string | undefined,
  verb: Effect.Effect<A, E | NotAgreed, R>,
) {
  const first = yield* tried(verb)
  if (first._tag === "Done") return first.done
  if (signature === undefined) return waiting(first.not)
  const operators = yield* operatorsInForce(treasury)
  const taken = yield* takeAgreement(operators, placeOf(treasury), first.not.asked, signature)
  if ("problem" in taken) return taken
  const second = yield* tried(verb)
  return second._tag === "Done" ? second.done : waiting(second.not)
})

const waiting = ({ asked, shared }: NotAgreed): Waiting => ({ waits: asked.kind, ...shared })

const tried = <A, E, R>(verb: Effect.Effect<A, E | NotAgreed, R>) =>
  verb.pipe(
    Effect.map((done) => ({ _tag: "Done", done }) as const),
    Effect.catchIf(
      (error): error is NotAgreed => error instanceof NotAgreed,
      (not) => Effect.succeed({ _tag: "NotAgreed", not } as const),
    ),
  ) as Effect.Effect<
    { readonly _tag: "Done"; readonly done: A } | { readonly _tag: "NotAgreed"; readonly not: NotAgreed },
    Exclude<E, NotAgreed>,
    R
  >
