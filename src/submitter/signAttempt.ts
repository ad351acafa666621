import { Clock, Effect, Option } from "effect"
import { ConfigInForce, isCycleInForce } from "../config/ConfigInForce.ts"
import type { Attempt } from "../domain/Attempt.ts"
import { accountTypeNumbers } from "../domain/Balance.ts"
import { Command } from "../domain/Command.ts"
import { askedFrom, type Intent } from "../domain/Intent.ts"
import { referenceText } from "../domain/Reference.ts"
import { millisOf } from "../domain/Time.ts"
import {
  type Anchors,
  type AttemptContext,
  type Beginning,
  isNeedDoubtful,
  nextRound,
  planAttempt,
  planBeginning,
  planRefused,
  type Unsigned,
} from "../payments/planAttempt.ts"
import { ProofOfWork } from "../pow/ProofOfWork.ts"
import { isUnsigned } from "../rules/policy/Policy.ts"
import { Signer } from "../signer/Signer.ts"
import type { SignerError } from "../signer/SignerError.ts"
import { Database } from "../store/database/Database.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { encodeInputData } from "../tx/InputData.ts"
import { transferId } from "../tx/Transaction.ts"
import { SigningFacts } from "./SigningFacts.ts"
import { workOf } from "./solveWork.ts"
import { reserve } from "./waiting.ts"

/** Result of the step: a stored signature, a refusal of the signer and its consequence, or a plan without one. */
type Outcome =
  | { readonly _tag: "Signed"; readonly attempt: Attempt }
  | { readonly _tag: "Refused"; readonly error: SignerError; readonly plan: Unsigned }
  | Unsigned

interface Step {
  /** The payment as it stands now. */
  readonly current: Intent
  readonly outcome: Outcome
}

/**
 * Signs a permitted intent if its plan is to sign. Loading, planning, the signer's checks and the record are one
 * transaction, so that concurrent payments never use more places on a block than the network allows. Rules and network
 * are asked before it.
 */
export const signAttempt = Effect.fn("Submitter.sign")(function* (intent: Intent) {
  const facts = yield* SigningFacts
  const beginning = yield* facts.beginning(intent)
  const need = isNeedDoubtful(beginning) ? yield* facts.need(intent) : undefined
  const unsigned = (outcome: Outcome): Step => ({ current: intent, outcome })
  const against = planBeginning(beginning, need)
  if (against !== undefined || beginning.rows === undefined) return unsigned(against ?? nextRound)
  const { rows } = beginning
  const { heads, refusal } = yield* facts.chain(rows)
  if (refusal !== undefined) return unsigned(refusal)
  const { write } = yield* Database
  const { steady } = yield* ConfigInForce
  const outbox = yield* Outbox
  const step = Effect.gen(function* () {
    const stored = Option.getOrUndefined(yield* outbox.byId(intent.id))
    // The next round judges the payment as it stands, by the configuration that came into force meanwhile.
    if (stored === undefined || !isUnsigned(stored) || !(yield* isCycleInForce)) return unsigned(nextRound)
    const current = yield* reserve(stored)
    const context = yield* facts.context({ ...beginning, intent: current }, heads)
    return { current, outcome: yield* signPlanned(context, rows) }
  })
  const { forget } = yield* ProofOfWork
  return yield* steady(write(step, forget)).pipe(
    Effect.catchTag("SignerError", (error) => Effect.succeed(unsigned({ _tag: "Refused", error, plan: nextRound }))),
  )
})

/**
 * A refusal is an outcome: its journal entry is committed. Any other failure rolls the transaction back, so that no
 * signature is stored without its attempt.
 */
const signPlanned = Effect.fnUntraced(function* (context: AttemptContext, rows: Rows) {
  const plan = planAttempt(context)
  if (plan._tag !== "Sign") return plan
  const { forget } = yield* ProofOfWork
  return yield* signAndPersist(context, plan.anchor, rows).pipe(
    Effect.map((attempt): Outcome => ({ _tag: "Signed", attempt })),
    Effect.onError(() => forget),
    Effect.catchTag("SignerError", (error) => {
      const { reason } = error
      if (reason._tag === "MemoryFailed") return Effect.fail(error)
      const refused = planRefused(reason._tag === "Refused" ? reason : undefined, error.message, context)
      return Effect.succeed<Outcome>({ _tag: "Refused", error, plan: refused })
    }),
  )
})

type Anchor = Anchors["heads"][number]
type Rows = NonNullable<Beginning["rows"]>

const signAndPersist = Effect.fn("Submitter.signAndPersist")(function* (
  { intent, k }: AttemptContext,
  anchor: Anchor,
  rows: Rows,
) {
  const signer = yield* Signer
  const now = yield* Clock.currentTimeMillis
  const { payment } = intent
  const { spendable, fee, given, installation, windowMax, asOf } = yield* (yield* SigningFacts).request(
    intent,
    anchor.height,
  )
  const asked = {
    intentId: intent.id,
    k,
    party: payment.fromKey,
    chainId: anchor.chainId,
    blockTimeMillis: millisOf(rows.timestamp),
    spendable,
    fee,
    approval: {
      rule: intent.rule,
      proposer: intent.submittedBy,
      feeMax: intent.feeMax,
      askedAt: askedFrom(intent),
      given,
    },
  }
  const { seq, hash } = yield* signer.permit({ ...asked, command: commandOf(intent, "") })
  // A withdrawal has no reference; of a key that is not held here nothing is signed.
  const tag = signer.tag(payment.fromKey, intent.id) ?? ""
  const command = commandOf(intent, referenceText({ installation, seq, hash, tag }))
  const nonce = yield* signer.nonce(payment.fromKey, intent.id, k)
  const anchored = {
    party: payment.fromKey,
    nonce,
    anchorHash: anchor.hash,
    difficulty: anchor.pow.difficulty,
    workIndex: 0,
  }
  // The search needs no signature. Nothing is sent before this transaction is durable, whatever is found meanwhile.
  yield* (yield* ProofOfWork).begin(workOf(anchored))
  const inputData = encodeInputData({ nonce, blockHeight: anchor.height, command })
  const signature = yield* signer.sign({ ...asked, inputData })
  const attempt: Attempt = {
    ...anchored,
    intentId: intent.id,
    k,
    chainId: anchor.chainId,
    anchorHeight: anchor.height,
    windowBlocks: anchor.pow.pastBlocks,
    windowMax,
    inputData,
    signature,
    transferId: transferId(signature),
    work: undefined,
    hashBare: undefined,
    hashPrefixed: undefined,
    state: "signed",
    framing: undefined,
    sends: 0,
    nextAt: now,
    nextHeight: 0n,
    createdAt: now,
    updatedAt: now,
    signedAfter: asOf,
  }
  yield* (yield* Outbox).persist(intent, attempt)
  return attempt
})

/** Network command of the payment: a transfer at once, or a withdrawal to an address outside. */
const commandOf = ({ command, payment }: Intent, reference: string): Command => {
  const { toKey, assetId: asset, amount } = payment
  if (command === "withdraw") return Command.cases.Withdraw.make({ amount, asset, receiverAddress: toKey })
  return Command.cases.Transfer.make({
    fromAccountType: accountTypeNumbers.ACCOUNT_TYPE_GENERAL,
    to: toKey,
    toAccountType: accountTypeNumbers.ACCOUNT_TYPE_GENERAL,
    asset,
    amount,
    reference,
    kind: { _tag: "OneOff", deliverOn: 0n },
  })
}
