import { Clock, Data, Effect } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import type { Terms } from "../rules/policy/weakens.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import {
  type Agreement,
  type ApprovalPlace,
  agreementText,
  approversOf,
  expiriesAt,
  expiryFrom,
  factIn,
  type GivenApproval,
  type HaltNamed,
  type Operators,
  readApproval,
  signerOf,
} from "../tx/Approval.ts"
import { problem } from "./stories.ts"

/**
 * Approval that a verb needs. "operators": two of those in force, or the only one; nobody if the treasury names none.
 * "what is weaker": the operators, but only for terms that permit more than before; without operators it needs an
 * explicit option (`--allow-weaker`). "the policy": its limits, and the groups of its lines, as for every payment.
 */
export type Agrees = "nobody" | "operators" | "what is weaker" | "the policy"

interface Agreed {
  readonly agrees: Agrees
  /** Effect on money, as a reason. */
  readonly why: string
}

const movesNothing: Agreed = { agrees: "nobody", why: "it moves no money" }
const stops: Agreed = { agrees: "nobody", why: "it stops money" }

/** Every verb of the socket, by its path below /api/v1 with * for an id. */
export const agreements = {
  halt: stops,
  pause: stops,
  "intents/*/cancel": stops,
  "intents/*/reject": stops,
  "intents/*/abandon": { agrees: "nobody", why: "it ends a payment that is proven never executed" },
  resume: { agrees: "operators", why: "it ends halts, and stops that the machine made; pauses of people end alone" },
  adopt: { agrees: "operators", why: "it ends the halt for payments made elsewhere" },
  recover: { agrees: "operators", why: "it ends the halt of a restored store" },
  "balances/rebase": { agrees: "operators", why: "rules pay by the balances that it takes" },
  "intents/*/resolve": { agrees: "operators", why: "what is called never executed is decided and paid again" },
  reload: { agrees: "what is weaker", why: "terms bound the money" },
  "terms/accept": {
    agrees: "what is weaker",
    why: "the same at a start; without them it takes an hour, and any halt ends it",
  },
  submit: { agrees: "the policy", why: "it is a payment" },
  "intents/*/approve": { agrees: "nobody", why: "it is an operator's own signature" },
  "terms/approve": { agrees: "nobody", why: "it is an operator's own signature" },
  "alerts/ack": movesNothing,
  "alerts/silence": movesNothing,
  "alerts/unsilence": movesNothing,
  "alerts/resend": movesNothing,
  "alerts/test": movesNothing,
  plan: movesNothing,
  backfill: movesNothing,
  reconcile: movesNothing,
} as const satisfies Readonly<Record<string, Agreed>>

export type VerbName = keyof typeof agreements

/** Beginnings of the scopes that the machine itself stops: it takes operators to end them, as it does for halts. */
const machineScopes = ["pin:", "lock:"] as const

export const isMachineStop = (scope: string): boolean => machineScopes.some((prefix) => scope.startsWith(prefix))

/** Operators of all groups of the terms. */
export const operatorsIn = ({ policy }: Pick<Terms, "policy">): Operators =>
  new Map((policy.groups ?? []).flatMap(({ of }) => [...of]))

/** How many operators must agree to a verb: two, or one if there is only one; 0 if there are none. */
export const neededOf = (operators: Operators): number => Math.min(2, operators.size)

/**
 * Operators whose agreement counts now: those of the terms in force, which may differ from the file's. In a database
 * that was never live, those of the configuration in force.
 */
export const operatorsInForce = Effect.gen(function* () {
  const known = yield* (yield* Approvals).termsInForce
  if (known !== undefined) return operatorsIn(known.terms)
  const { approvals } = (yield* ConfigInForce).now().treasury
  return new Map([...approvals.values()].flatMap(({ of }) => [...of])) satisfies Operators as Operators
})

/** Key under which its signatures are stored. Their text decides if they count. */
const subjectOf = (asked: Agreement): string => {
  switch (asked.kind) {
    case "terms":
      return `terms ${asked.terms}`
    case "resume":
      return `resume ${[...asked.halts, ...asked.stops].map(({ seq }) => seq).join(",")}`
    case "adopt":
    case "recover":
      return `${asked.kind} ${asked.list}`
    case "rebase":
      return `rebase ${asked.partyKey} ${asked.assetId}`
    case "resolve":
      return `resolve ${asked.payment}`
  }
}

export const treasuryPlace = ({ name, network }: Treasury): ApprovalPlace => ({
  treasury: name,
  chainId: network.chainId,
})

/** Progress of the agreement by the signatures that count now. `missing` is 0 without operators. */
export const agreementOf = Effect.fnUntraced(function* (operators: Operators, place: ApprovalPlace, asked: Agreement) {
  const now = yield* Clock.currentTimeMillis
  const textUntil = (expires: number) => agreementText(place, asked, expires)
  const given = yield* (yield* Approvals).about(subjectOf(asked))
  const by = approversOf(operators, expiriesAt(now).map(textUntil), given)
  const others = [...operators.keys()].filter((name) => !by.includes(name))
  const missing = Math.max(0, neededOf(operators) - by.length)
  const otherReasons = others.flatMap((operator) => {
    if (asked.kind === "terms") return []
    const reason = reasonGiven(given, operators.get(operator), (one) =>
      expiriesAt(now).map((expires) => agreementText(place, { ...asked, reason: one }, expires)),
    )
    return reason === undefined ? [] : [{ operator, reason }]
  })
  // The text to sign now: its UTF-8 bytes, the last line break included.
  return { text: textUntil(expiryFrom(now)), by, others, missing, otherReasons }
})

type SharedApproval = Effect.Success<ReturnType<typeof agreementOf>>

/** The reason of a key's newest text that says the same but for its reason; undefined where it has signed none. */
const reasonGiven = (
  given: ReadonlyArray<GivenApproval & { readonly text: string }>,
  key: string | undefined,
  textsFor: (reason: string) => ReadonlyArray<string>,
): string | undefined =>
  given
    .flatMap((one) => {
      const read = one.key === key ? readApproval(one.text) : undefined
      const reason = read && factIn(read, "reason")
      return reason !== undefined && textsFor(reason).includes(one.text) ? [reason] : []
    })
    .at(-1)

/**
 * Stores an operator's signature over the text printed now or within the last day, and returns the progress. `problem`
 * if it is no operator's signature.
 */
export const takeAgreement = Effect.fnUntraced(function* (
  operators: Operators,
  place: ApprovalPlace,
  asked: Agreement,
  given: string,
) {
  const signature = given.toLowerCase()
  const texts = expiriesAt(yield* Clock.currentTimeMillis).map((expires) => agreementText(place, asked, expires))
  const signer = signerOf(operators, texts, signature)
  if (signer === undefined) {
    const remedy = "sign the text that is printed now, with the key of an operator in force"
    return problem("the signature is of no operator over this", 403, remedy)
  }
  const isNew = yield* (yield* Approvals).give({ subject: subjectOf(asked), ...signer, signature })
  return { operator: signer.operator, isNew, ...(yield* agreementOf(operators, place, asked)) }
})

/** Fails a verb that operators have not agreed to: nothing was changed. */
class NotAgreed extends Data.TaggedError("NotAgreed")<{
  readonly asked: Agreement
  readonly shared: SharedApproval
}> {}

/** Answer of a verb that waits for operators: the text, who signed it, and who still may. */
type Waiting = SharedApproval & { readonly waits: Agreement["kind"] }

/** A halt or a stop in the text that operators sign. */
export const haltNamed = ({
  seq,
  reason,
  at,
}: {
  readonly seq: number
  readonly reason: string
  readonly at: number
}): HaltNamed => ({ seq, reason: `${reason}, since ${new Date(at).toISOString()}` })

/** Fails with `NotAgreed` unless the operators in force have agreed; passes if there are none. */
export const needAgreement = Effect.fnUntraced(function* (treasury: Treasury, asked: Agreement) {
  const operators = yield* operatorsInForce
  if (neededOf(operators) === 0) return []
  const shared = yield* agreementOf(operators, treasuryPlace(treasury), asked)
  return shared.missing > 0 ? yield* new NotAgreed({ asked, shared }) : shared.by
})

/**
 * Performs a verb that operators must agree to. Its transaction fails with `NotAgreed`, which holds the exact text to
 * sign; a given signature is stored for that text, and the verb is tried once more.
 */
export const agreeing = <A, E, R>(
  treasury: Treasury,
  signature: string | undefined,
  verb: Effect.Effect<A, E | NotAgreed, R>,
) =>
  Effect.catchIf(verb, isNotAgreed, (first) =>
    Effect.gen(function* () {
      if (signature === undefined) return waiting(first)
      const operators = yield* operatorsInForce
      const taken = yield* takeAgreement(operators, treasuryPlace(treasury), first.asked, signature)
      if ("problem" in taken) return taken
      return yield* Effect.catchIf(verb, isNotAgreed, (second) => Effect.succeed(waiting(second)))
    }),
  )

const isNotAgreed = (error: unknown): error is NotAgreed => error instanceof NotAgreed

const waiting = ({ asked, shared }: NotAgreed): Waiting => ({ waits: asked.kind, ...shared })
