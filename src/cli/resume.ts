import { userInfo } from "node:os"
import { Console, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import { removeHaltFile } from "../config/files.ts"
import { signApproval } from "../signer/signApproval.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { type Output, outputFlag, printResult } from "./output.ts"
import { reasonFlag, scopeFlag } from "./pause.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { keyFlag, signatureFlag } from "./signingFlags.ts"

const Waiting = Schema.Struct({
  text: Schema.String,
  by: Schema.Array(Schema.String),
  others: Schema.Array(Schema.String),
  missing: Schema.Int,
})

/** What is signed goes to standard output, so that it can be signed elsewhere. */
const tellWaiting = Effect.fnUntraced(function* (output: Output, body: unknown) {
  const { text, by, others, missing } = yield* Schema.decodeUnknownEffect(Waiting)(body)
  yield* printResult(output, body, () => text.slice(0, -1))
  const done = by.length === 0 ? "" : `approved by ${by.join(", ")}; `
  const next = `${missing} of ${others.join(", ")} must say "resume" with the same reason and --key or --signature`
  return yield* failWith("needsApproval", `${done}${next}`)
})

/** Ends pauses of a scope; with scope all also the HALT file. */
export const resume = Command.make(
  "resume",
  {
    scope: scopeFlag,
    reason: reasonFlag,
    key: keyFlag,
    signature: signatureFlag,
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const { scope, reason } = chosen
    const body = { scope, reason, author: userInfo().username }
    const ask = (more: object) => control(dataDir, "POST", "/api/v1/resume", { ...body, ...more })
    let answer = yield* ask(
      Option.match(chosen.signature, { onNone: () => ({}), onSome: (signature) => ({ signature }) }),
    )
    if (answer?.status === 202 && Option.isSome(chosen.key)) {
      const { text } = yield* Schema.decodeUnknownEffect(Waiting)(answer.body)
      yield* Console.error(text.slice(0, -1))
      answer = yield* ask({ signature: yield* signApproval(chosen.key.value, text) })
    }
    if (answer?.status === 202) return yield* tellWaiting(chosen.output, answer.body)
    if (answer !== undefined) yield* bodyOf(answer)
    const removed = scope === "all" ? yield* removeHaltFile(dataDir) : false
    if (answer === undefined) {
      if (!removed) return yield* failWith("notFound", `no daemon runs in ${dataDir}, and no HALT file lies there`)
      return yield* printResult(chosen.output, { resumed: scope, haltFile: "removed" }, () => "took the HALT file away")
    }
    const file = removed ? ", and took the HALT file away" : ""
    return yield* printResult(
      chosen.output,
      { resumed: scope, removed, answer: answer.body },
      () => `resumed ${scope}${file}`,
    )
  }),
).pipe(Command.withDescription("Continue payments, with a reason"))
