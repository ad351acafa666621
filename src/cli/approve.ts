import { readSync } from "node:fs"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { treasuryTermsOf } from "../config/ConfigInForce.ts"
import type { Treasury } from "../config/Treasury.ts"
import { formatAmount } from "../domain/Amount.ts"
import { missingText } from "../domain/Approval.ts"
import { shortId } from "../domain/Hex.ts"
import { visible } from "../domain/text.ts"
import { type ApprovalView, findApproval, approve as giveApproval, SignatureText } from "../http/approvals.ts"
import { AcceptBody } from "../http/termsApproval.ts"
import { termsHash } from "../rules/policy/storedTerms.ts"
import { worstCase } from "../rules/policy/worstCase.ts"
import { signApproval } from "../signer/KeyFile.ts"
import { type ApprovalKind, factIn, type PaymentTerms, readApproval, readPaymentTerms } from "../tx/Approval.ts"
import { askDaemon, bodyOf, throughDaemon, withLastFiles } from "./common/client.ts"
import { failWith, type Output, printResult } from "./common/output.ts"
import {
  type Chosen,
  commonFlags,
  filesForDaemon,
  notRunning,
  optionalOf,
  pathFlag,
  type Setup,
  setup,
  switchFlag,
  textArgument,
} from "./common/setup.ts"
import { approvalLines, neededText } from "./common/storyText.ts"
import { worstText } from "./common/worstCase.ts"

const keyFlag = pathFlag("key", "Sign with the operator's key in this file; the key is never sent").pipe(Flag.optional)
const signatureFlag = optionalOf(
  "signature",
  SignatureText,
  "Signature that an operator made elsewhere with approve sign",
)
const printFlag = switchFlag("print", "Show the text to sign, and sign nothing")

/** Flags of an approval: sign with a key, submit a signature, or only print the text. */
const signingFlags = { key: keyFlag, signature: signatureFlag, print: printFlag }

/** Fails unless exactly one of these is chosen: a missing flag must not cause a signature. */
const requireOneWay = (chosen: Command.Command.Config.Infer<typeof signingFlags>) => {
  const ways = [chosen.print, Option.isSome(chosen.key), Option.isSome(chosen.signature)].filter(Boolean).length
  return ways === 1 ? Effect.void : failWith("usage", "give one of --key FILE, --signature HEX or --print")
}

// A text is parsed before a key is opened: another program may answer on the daemon's socket.
const nothingSigned = "nothing is signed; check that --data names the right daemon, and -c its files"

/** True if the input is the id, its short form, or a prefix of either. */
export const matchesId = (typed: string, id: string): boolean =>
  /^[0-9a-f]{64}$/.test(id) && typed !== "" && (id.startsWith(typed) || shortId(id).startsWith(typed))

/** The terms in the text of a payment's approval. Fails where it is another text, or that of another payment. */
const signablePayment = Effect.fnUntraced(function* (typed: string, text: string) {
  const terms = readPaymentTerms(text)
  // A text for people must not contain invisible characters or ones that move other words.
  if (terms === undefined || text.split("\n").some((line) => visible(line) !== line))
    return yield* failWith("refused", `the daemon's answer is not an approval of a payment: ${nothingSigned}`)
  if (!matchesId(typed, terms.intentId))
    return yield* failWith(
      "refused",
      `the daemon shows payment ${visible(terms.intentId)}, not ${typed}: ${nothingSigned}`,
    )
  return terms
})

/** Describes payer, receiver and amount from the very terms that are signed. */
const paymentWords = (terms: PaymentTerms): string => {
  const { rule, amount, symbol, decimals, feeMax, fromName, toName } = terms
  const fee = formatAmount(feeMax, decimals)
  return visible(`${rule}: ${formatAmount(amount, decimals)} ${symbol} ${fromName} -> ${toName}, fee at most ${fee}`)
}

/** The signed text for people, with invisible characters shown. */
const shownText = (text: string): string => text.trimEnd().split("\n").map(visible).join("\n")

/** The request as typed: the signed text must agree with it. */
export interface TypedVerb {
  readonly kind: ApprovalKind
  /** Facts that the text must state: each value, or a test of it. */
  readonly says: Readonly<Record<string, string | ((value: string) => boolean)>>
}

/** Reads a text to sign. Fails if it is of another kind or contradicts the request. */
const needSignable = Effect.fnUntraced(function* (text: string, { kind, says }: TypedVerb) {
  const read = readApproval(text)
  if (read?.kind !== kind)
    return yield* failWith("refused", `the daemon's answer is not a text of "${kind}": ${nothingSigned}`)
  for (const [name, wanted] of Object.entries(says)) {
    const value = factIn(read, name)
    const holds = value !== undefined && (typeof wanted === "string" ? value === wanted : wanted(value))
    if (!holds)
      return yield* failWith(
        "refused",
        `the daemon shows ${name} "${visible(value ?? "nothing")}", which is not what was asked for: ${nothingSigned}`,
      )
  }
  return read
})

const Waiting = Schema.Struct({
  waits: Schema.String,
  text: Schema.String,
  by: Schema.Array(Schema.String),
  others: Schema.Array(Schema.String),
  missing: Schema.Int,
  /** Operators who have signed the same with another reason. A daemon of an earlier build omits them. */
  otherReasons: Schema.optionalKey(Schema.Array(Schema.Struct({ operator: Schema.String, reason: Schema.String }))),
})
const isWaiting = Schema.is(Waiting)

/** Flags of verbs that operators must agree to. */
export const agreementFlags = { key: keyFlag, signature: signatureFlag }

type Verb = Command.Command.Config.Infer<typeof agreementFlags> & { readonly output: Output }

/**
 * Requests a verb that operators must agree to: with the given signature, or, if the answer shows exactly what was
 * `asked`, with one by the key. While signatures are missing, the text to sign goes to standard output, so that it can
 * be signed elsewhere; to standard error alone where a key has just signed it.
 */
export const signAgreement = Effect.fnUntraced(function* <A, E, R>(
  chosen: Verb,
  asked: TypedVerb,
  ask: (more: { readonly signature?: string }) => Effect.Effect<A, E, R>,
) {
  let answer: unknown = yield* ask(
    Option.match(chosen.signature, { onNone: () => ({}), onSome: (signature) => ({ signature }) }),
  )
  let shown = ""
  if (isWaiting(answer) && Option.isSome(chosen.key)) {
    yield* needSignable(answer.text, asked)
    shown = answer.text
    const signature = yield* signApproval(chosen.key.value, shown)
    yield* Console.error(shownText(shown))
    answer = yield* ask({ signature })
  }
  if (!isWaiting(answer)) return answer as Exclude<A, { readonly waits: unknown }>
  // Checked before it is printed for a signature elsewhere.
  yield* needSignable(answer.text, asked)
  const { text, by, others, missing, otherReasons = [], waits } = answer
  // Printing adds the line end that the text ends with.
  if (chosen.output === "json" || text !== shown) yield* printResult(chosen.output, answer, () => text.slice(0, -1))
  const done = by.length === 0 ? "" : `approved by ${by.join(", ")}; `
  const next = `${missingText(missing, others)} must say "${waits}" with the same reason and --key or --signature`
  const apart = otherReasons.map(
    ({ operator, reason }) => `; ${operator} has signed it with the reason "${visible(reason)}"`,
  )
  return yield* failWith("needsApproval", `${done}${next}${apart.join("")}`)
})

const ApprovalAnswer = Schema.Struct({
  operator: Schema.String,
  missing: Schema.Int,
  others: Schema.Array(Schema.String),
})

const TermsAnswer = Schema.Struct({
  terms: Schema.String,
  policy: Schema.String,
  text: Schema.String,
})

const hash = Argument.String("hash").pipe(
  Argument.withSchema(AcceptBody.fields.hash),
  Argument.withDescription(
    "Hash of the terms, as reload prints it, or of the policy, as check prints it; 8 to 64 characters",
  ),
)

const flags = {
  hash,
  ...signingFlags,
  ...commonFlags,
}

/** Posts a request about terms to the daemon, and decodes its answer. */
const postTerms = Effect.fnUntraced(function* <A>(
  chosen: Chosen,
  dataDir: string,
  answer: Schema.ConstraintDecoder<A>,
  body: { readonly files: ReadonlyArray<string>; readonly signature?: string },
) {
  const reply = yield* askDaemon(dataDir, "/api/v1/terms/approve", { body })
  if (reply === undefined) return yield* notRunning(chosen, dataDir)
  return yield* Schema.decodeUnknownEffect(answer)(yield* bodyOf(reply))
})

/** Text for operators: each permission that the terms in force lack, and the worst case. */
const termsText = (treasury: Treasury, weaker: ReadonlyArray<string>): string =>
  [
    weaker.length === 0 ? "Nothing in it permits more." : "It permits more:",
    ...weaker.map((words) => `  ${visible(words)}`),
    "At worst, in any 24 hours:",
    ...worstText(worstCase(treasury)).map((line) => `  ${line}`),
  ].join("\n")

const approveTerms = Command.make(
  "terms",
  flags,
  Effect.fn(function* ({ hash, key, signature, print, output, ...given }) {
    yield* requireOneWay({ key, signature, print })
    const chosen = yield* withLastFiles(given)
    const { treasury, dataDir } = yield* setup(chosen)
    const files = yield* filesForDaemon(chosen)
    const { terms, policy, text } = yield* postTerms(chosen, dataDir, TermsAnswer, { files })
    if (terms !== termsHash(treasuryTermsOf({ treasury }))) {
      return yield* failWith(
        "refused",
        "the daemon shows other terms than the file that was read here; run the command again",
      )
    }
    const { name, network } = treasury
    const read = yield* needSignable(text, {
      kind: "terms",
      says: { treasury: name, chain: network.chainId, terms },
    })
    const weaker = read.facts.filter(([fact]) => fact.startsWith("weaker ")).map(([, words]) => words)
    if (!terms.startsWith(hash) && !policy.startsWith(hash)) {
      const is = `terms ${terms.slice(0, hash.length)} with policy ${policy.slice(0, hash.length)}`
      return yield* failWith("refused", `${treasury.file} has ${is}, not ${hash}`)
    }
    const signed = Option.isSome(key) ? yield* signApproval(key.value, text) : Option.getOrElse(signature, () => "")
    yield* Console.error(termsText(treasury, weaker))
    if (print) {
      yield* Console.error("What is signed, to the byte:")
      return yield* Console.log(text.slice(0, -1))
    }
    const done = yield* postTerms(chosen, dataDir, ApprovalAnswer, { files, signature: signed })
    return yield* printResult(output, done, () => {
      const next =
        done.missing > 0
          ? neededText(done)
          : '"cofferer reload --reason TEXT" puts them in force; a start that they halted goes on'
      return `terms ${terms.slice(0, 8)} approved by ${done.operator}; ${next}`
    })
  }),
).pipe(
  Command.withDescription(
    "Approve terms that permit more than those in force, before they are reloaded: give --key, --signature or --print",
  ),
)

const paymentFlags = {
  id: textArgument("id", "Id of the payment, or its first characters"),
  ...signingFlags,
  ...commonFlags,
}
type PaymentChoice = Command.Command.Config.Infer<typeof paymentFlags>

const viewOf = Effect.fnUntraced(function* (chosen: PaymentChoice) {
  const path = `/api/v1/intents/${encodeURIComponent(chosen.id)}/approval`
  const { body } = yield* throughDaemon(chosen, path, ({ treasury }) => findApproval(treasury, chosen.id))
  // Another program may answer on the socket: only the text to sign is used.
  const { text }: { readonly text?: unknown } = { ...body }
  if (typeof text === "string") return { ...body, text }
  return yield* failWith("refused", "the daemon's answer is not an approval of a payment: nothing is signed")
})

const submitApproval = Effect.fnUntraced(function* (chosen: PaymentChoice, id: string, signature: string) {
  const path = `/api/v1/intents/${encodeURIComponent(id)}/approve`
  const stored = ({ treasury }: Setup) => giveApproval(treasury, id, { signature })
  const { body } = yield* throughDaemon(chosen, path, stored, { body: { signature } })
  const { operator, isNew, approval } = body
  yield* printResult(chosen.output, body, () => {
    const isEnough = approval === undefined || approval.missing === 0
    const next = isEnough ? "that is enough: the daemon pays it unless a check refuses it" : neededText(approval)
    return `${isNew ? "approved" : "approved already"} by ${operator}; ${next}`
  })
})

/** Shows what is signed on standard error, so that standard output is the exact text alone. */
const printApproval = Effect.fnUntraced(function* ({ output }: PaymentChoice, view: ApprovalView) {
  if (output === "json") return yield* printResult("json", view, () => "")
  yield* Console.error([view.words, ...approvalLines(view), "What is signed, to the byte:"].join("\n"))
  return yield* Console.log(view.text.slice(0, -1))
})

const textBytesMax = 100_000

/** Reads standard input up to a bound; longer input is no text of ours. Throws the system's errors. */
const readInput = (bytesMax: number): string => {
  const bytes = Buffer.alloc(bytesMax)
  let length = 0
  while (length < bytesMax) {
    const read = readSync(0, bytes, length, bytesMax - length, null)
    if (read === 0) break
    length += read
  }
  return bytes.toString("utf8", 0, length)
}

const sign = Command.make(
  "sign",
  { key: pathFlag("key", "File of an operator's key (required)") },
  Effect.fn(function* ({ key }) {
    const text = yield* Effect.try({
      try: () => readInput(textBytesMax),
      catch: () => failWith("usage", "give the text on standard input: cofferer approve sign --key FILE < text"),
    })
    if (readApproval(text) === undefined) {
      return yield* failWith("usage", 'standard input is not a text of "approve ID --print": nothing is signed')
    }
    const given = yield* signApproval(key, text)
    yield* Console.error(`signs this text:\n${shownText(text)}`)
    return yield* Console.log(given)
  }),
).pipe(
  Command.withDescription(
    "Read the text of approve --print on standard input and print its signature; needs no daemon",
  ),
)

/** An operator's approval of one payment: a signature over exactly that payment. */
export const approveCommand = Command.make(
  "approve",
  paymentFlags,
  Effect.fn(function* (chosen) {
    const { key, signature } = chosen
    yield* requireOneWay(chosen)
    if (Option.isSome(signature)) return yield* submitApproval(chosen, chosen.id, signature.value)
    const view = yield* viewOf(chosen)
    const terms = yield* signablePayment(chosen.id, view.text)
    const words = paymentWords(terms)
    if (Option.isNone(key)) return yield* printApproval(chosen, { ...view, words })
    const given = yield* signApproval(key.value, view.text)
    yield* Console.error([words, shownText(view.text)].join("\n"))
    return yield* submitApproval(chosen, terms.intentId, given)
  }),
).pipe(
  Command.withDescription("Approve a payment with an operator's signature: give --key, --signature or --print"),
  Command.withSubcommands([sign, approveTerms]),
)
