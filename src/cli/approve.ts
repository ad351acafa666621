import { readSync } from "node:fs"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { signApproval } from "../signer/signApproval.ts"
import { type ApprovalView, findApproval, approve as giveApproval } from "../status/approvals.ts"
import { readApproval } from "../tx/Approval.ts"
import { approvalLines } from "./approvalText.ts"
import { approveTerms } from "./approveTerms.ts"
import { failWith } from "./CliFailure.ts"
import { type Output, outputFlag, printResult } from "./output.ts"
import { type Chosen, configFlag, dataFlag, type Setup } from "./setup.ts"
import { paymentWords, shownText, signablePayment } from "./signable.ts"
import { keyFlag, oneOf, printFlag, signatureFlag } from "./signingFlags.ts"
import { throughDaemon } from "./throughDaemon.ts"

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
  // What is signed is read by itself.
  return yield* Schema.decodeEffect(Schema.Struct({ text: Schema.String }))(body).pipe(
    Effect.mapBoth({
      onFailure: () => failWith("refused", "what the daemon shows is no approval of a payment: nothing is signed"),
      onSuccess: ({ text }) => ({ ...body, text }),
    }),
  )
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
    key: keyFlag,
    signature: signatureFlag,
    print: printFlag,
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
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
