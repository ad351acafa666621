import { userInfo } from "node:os"
import { Console, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import { removeHaltFile } from "../config/files.ts"
import { signApproval } from "../signer/signApproval.ts"
import { Resumed, stillText } from "./brakeText.ts"
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

/** Where no daemon runs, a HALT file is all that can be taken back: the next daemon goes on from its store. */
const takeFile = Effect.fnUntraced(function* (output: Output, dataDir: string, scope: string) {
  if (scope !== "all") return yield* failWith("notFound", `no daemon runs in ${dataDir}: one that runs ends pauses`)
  if (!(yield* removeHaltFile(dataDir))) {
    return yield* failWith("notFound", `no daemon runs in ${dataDir}, and no HALT file lies there`)
  }
  const text = "took the HALT file away; where operators end halts, one that a daemon has seen stays in force"
  return yield* printResult(output, { resumed: scope, haltFile: "removed" }, () => text)
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
    if (answer === undefined) return yield* takeFile(chosen.output, dataDir, scope)
    const done = yield* Schema.decodeUnknownEffect(Resumed)(yield* bodyOf(answer))
    const file = done.haltFile === "removed"
    if (done.ended === 0 && !file) {
      const none = scope === "all" ? "nothing was resumed: no pause of all, and no halt" : `${scope} is not paused`
      return yield* failWith("notFound", [none, ...stillText(done)].join("\n"))
    }
    return yield* printResult(chosen.output, { resumed: scope, removed: file, answer: answer.body }, () =>
      [`resumed ${scope}${file ? ", and took the HALT file away" : ""}`, ...stillText(done)].join("\n"),
    )
  }),
).pipe(Command.withDescription("Continue payments, with a reason"))
