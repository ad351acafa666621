import { writeFileSync } from "node:fs"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readUtf8 } from "../config/readBytes.ts"
import { receiptOf } from "../status/receipts.ts"
import { checkReceipt } from "../store/checkReceipt.ts"
import type { Receipt } from "../store/receipt.ts"
import { failWith } from "./CliFailure.ts"
import { outputFlag, printResult, toJson } from "./output.ts"
import { receiptText } from "./receiptText.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"

/** A receipt with a thousand entries has less. */
const receiptBytesMax = 16_000_000

const read = (file: string) =>
  Effect.suspend(() => {
    const text = readUtf8(file, receiptBytesMax)
    if (typeof text === "string") return Effect.succeed(text)
    return failWith(text.code === "ENOENT" ? "notFound" : "failure", `${file}: ${text.problem}; name a receipt`)
  }).pipe(
    Effect.flatMap((text) =>
      Effect.try({ try: (): unknown => JSON.parse(text), catch: () => failWith("failure", `${file} is no JSON`) }),
    ),
  )

const verify = Command.make(
  "verify",
  { file: Argument.String("file").pipe(Argument.withDescription("A receipt")), output: outputFlag },
  Effect.fn(function* (chosen) {
    const document = yield* read(chosen.file)
    const { problem, statement, proven } = checkReceipt(document)
    if (problem !== undefined || statement === undefined) {
      if (chosen.output === "json") yield* printResult("json", { whole: false, problem }, () => "")
      return yield* failWith("failure", `receipt broken: ${problem}`)
    }
    const { journal } = document as Receipt
    const whole = { whole: true, proven, claimed: statement }
    return yield* printResult(chosen.output, whole, () => receiptText(statement, proven, journal))
  }),
).pipe(Command.withDescription("Check a receipt with nothing but itself, and tell what it proves from what it claims"))

/** One payment with its proof, as one document. */
export const receipt = Command.make(
  "receipt",
  {
    id: Argument.String("id").pipe(Argument.withDescription("Id of a payment, or the start of one")),
    file: Flag.String("file").pipe(Flag.withDescription("Write it there; default standard output"), Flag.optional),
    config: configFlag,
    data: dataFlag,
  },
  Effect.fn(function* (chosen) {
    const { config, data } = chosen
    const path = `/api/v1/receipts/${encodeURIComponent(chosen.id)}`
    const { body } = yield* throughDaemon({ config, data }, { method: "GET", path, stored: () => receiptOf(chosen.id) })
    const text = toJson(body)
    if (Option.isNone(chosen.file)) return yield* Console.log(text)
    const file = chosen.file.value
    return yield* Effect.try({
      try: () => writeFileSync(file, `${text}\n`),
      catch: (error) => failWith("failure", `${file} cannot be written (${(error as NodeJS.ErrnoException).code})`),
    })
  }),
).pipe(Command.withDescription("Write one payment with its proof"), Command.withSubcommands([verify]))
