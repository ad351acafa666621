import { readSync } from "node:fs"
import { resolve } from "node:path"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { termsOf } from "../config/ConfigInForce.ts"
import { visible } from "../domain/visible.ts"
import { termsHash } from "../rules/storedTerms.ts"
import { worstCase } from "../rules/worstCase.ts"
import { signApproval } from "../signer/signApproval.ts"
import { type ApprovalView, findApproval, approve as giveApproval } from "../status/approvals.ts"
import { readApproval } from "../tx/Approval.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { type Output, printResult } from "./output.ts"
import { type Chosen, commonFlags, filesOf, type Setup, setup } from "./setup.ts"
import { needSignable, oneOf, paymentWords, shownText, signablePayment, signingFlags } from "./signAgreement.ts"
import { approvalLines } from "./storyText.ts"
import { throughDaemon } from "./throughDaemon.ts"
import { worstText } from "./worstCase.ts"

const Given = Schema.Struct({
  operator: Schema.String,
  missing: Schema.Int,
  others: Schema.Array(Schema.String),
})

const Asked = Schema.Struct({
  terms: Schema.String,
  policy: Schema.String,
  text: Schema.String,
})

const hash = Argument.String("hash").pipe(
  Argument.withSchema(
    Schema.String.check(Schema.isPattern(/^[0-9a-f]{8,64}$/, { expected: "8 to 64 hex characters" })),
  ),
  Argument.withDescription("Hash of the terms as reload names it, or of the policy in the file as check prints it"),
)

const flags = {
  hash,
  ...signingFlags,
  ...commonFlags,
}

/** An operator's word for the terms of a treasury file that are to come into force. */
const approveTerms = Command.make(
  "terms",
  flags,
  Effect.fn(function* ({ hash, key, signature, print, output, ...chosen }) {
    yield* oneOf({ key, signature, print })
    const { treasury, dataDir } = yield* setup(chosen)
    const files = filesOf(chosen).map((file) => resolve(file))
    const answer = yield* control(dataDir, "POST", "/api/v1/terms/approve", { files })
    if (answer === undefined) return yield* failWith("notFound", `no daemon runs in ${dataDir}`)
    const { terms, policy, text } = yield* Schema.decodeUnknownEffect(Asked)(yield* bodyOf(answer))
    if (terms !== termsHash(termsOf({ treasury }))) {
      return yield* failWith("refused", "the daemon shows other terms than the file has that was read here; ask again")
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
    yield* Console.error(
      [
        weaker.length === 0 ? "Nothing in it is weaker." : "What is weaker in it:",
        ...weaker.map((words) => `  ${visible(words)}`),
        "At worst, in any 24 hours:",
        ...worstText(worstCase(treasury)).map((line) => `  ${line}`),
      ].join("\n"),
    )
    if (print) {
      yield* Console.error("What is signed, to the byte:")
      return yield* Console.log(text.slice(0, -1))
    }
    const given = Option.isSome(signature)
      ? signature.value
      : yield* signApproval(
          Option.getOrElse(key, () => ""),
          text,
        )
    const taken = yield* control(dataDir, "POST", "/api/v1/terms/approve", { files, signature: given })
    if (taken === undefined) return yield* failWith("notFound", `no daemon runs in ${dataDir}`)
    const done = yield* Schema.decodeUnknownEffect(Given)(yield* bodyOf(taken))
    return yield* printResult(output, done, () => {
      const next =
        done.missing > 0
          ? `${done.missing} more of ${done.others.join(", ")}`
          : '"reload" takes it now, and a start that it halted goes on'
      return `terms ${terms.slice(0, 8)} approved by ${done.operator}; ${next}`
    })
  }),
).pipe(Command.withDescription("Approve terms that permit more than those in force, before they are reloaded"))

interface Choice extends Chosen {
  readonly id: string
  readonly key: Option.Option<string>
  readonly signature: Option.Option<string>
  readonly print: boolean
  readonly output: Output
}

const viewOf = Effect.fnUntraced(function* ({ config, data, id }: Choice) {
  const path = `/api/v1/intents/${encodeURIComponent(id)}/approval`
  const stored = ({ treasury }: Setup) => findApproval(treasury, id)
  const { body } = yield* throughDaemon({ config, data }, { method: "GET", path, stored })
  // Who answers may be somebody else: what is signed is read by itself.
  const { text }: { readonly text?: unknown } = { ...body }
  if (typeof text === "string") return { ...body, text }
  return yield* failWith("refused", "what the daemon shows is no approval of a payment: nothing is signed")
})

const give = Effect.fnUntraced(function* ({ config, data, output }: Choice, id: string, signature: string) {
  const { body } = yield* throughDaemon(
    { config, data },
    {
      method: "POST",
      path: `/api/v1/intents/${encodeURIComponent(id)}/approve`,
      body: { signature },
      stored: ({ treasury }) => giveApproval(treasury, id, { signature }),
    },
  )
  const { operator, isNew, approval } = body
  yield* printResult(output, body, () => {
    const isEnough = approval === undefined || approval.missing === 0
    const next = isEnough
      ? "that is enough: it is paid now"
      : `${approval.missing} more of ${approval.others.join(", ")}`
    return `${isNew ? "approved" : "approved already"} by ${operator}; ${next}`
  })
})

/** Shows what is signed on standard error, so that standard output is the exact text alone. */
const print = Effect.fnUntraced(function* ({ output }: Choice, view: ApprovalView) {
  if (output === "json") return yield* printResult("json", view, () => "")
  yield* Console.error([view.words, ...approvalLines(view), "What is signed, to the byte:"].join("\n"))
  return yield* Console.log(view.text.slice(0, -1))
})

const textBytesMax = 100_000

/** Standard input, up to a bound: what follows it is no text of ours. Throws what the system says. */
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
  { key: Flag.String("key").pipe(Flag.withDescription("File of an operator's key")) },
  Effect.fn(function* ({ key }) {
    const text = yield* Effect.try({
      try: () => readInput(textBytesMax),
      catch: () => failWith("usage", "give the text on standard input: cofferer approve sign --key FILE < text"),
    })
    if (readApproval(text) === undefined) {
      return yield* failWith("usage", 'this is no text of "approve ID --print": nothing is signed')
    }
    yield* Console.error(`signs this text:\n${shownText(text)}`)
    return yield* Console.log(yield* signApproval(key, text))
  }),
).pipe(Command.withDescription("Sign a text of approve --print from standard input, on any machine"))

/** An operator's word for one payment, as a signature over exactly that payment. */
export const approve = Command.make(
  "approve",
  {
    id: Argument.String("id").pipe(Argument.withDescription("Id of a payment, or the start of one")),
    ...signingFlags,
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const { key, signature } = chosen
    yield* oneOf(chosen)
    if (Option.isSome(signature)) return yield* give(chosen, chosen.id, signature.value)
    const view = yield* viewOf(chosen)
    const terms = yield* signablePayment(chosen.id, view.text)
    const words = paymentWords(terms)
    if (Option.isNone(key)) return yield* print(chosen, { ...view, words })
    yield* Console.error([words, shownText(view.text)].join("\n"))
    return yield* give(chosen, terms.intentId, yield* signApproval(key.value, view.text))
  }),
).pipe(
  Command.withDescription("Approve a payment that waits for operators, with a signature of one's own key"),
  Command.withSubcommands([sign, approveTerms]),
)
