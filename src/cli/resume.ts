import { Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { readHaltFile } from "../config/files.ts"
import { resumeScope } from "../status/brakeVerbs.ts"
import { Resumed, stillText } from "./brakeText.ts"
import { failWith } from "./CliFailure.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { reasonFlag, scopeFlag } from "./pause.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { agreementFlags, signAgreement } from "./signAgreement.ts"
import { throughDaemon } from "./throughDaemon.ts"
import { userName } from "./userName.ts"

/** Ends pauses of a scope; with scope all also the halts and the HALT file. */
export const resume = Command.make(
  "resume",
  {
    scope: scopeFlag,
    reason: reasonFlag,
    ...agreementFlags,
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const { scope, reason } = chosen
    const body = { scope, reason, author: userName() }
    const mayBegin = scope === "all" && (yield* readHaltFile(dataDir)) !== undefined
    const answer = yield* signAgreement(
      chosen,
      { kind: "resume", says: { scope, reason } },
      Effect.fnUntraced(function* (more) {
        const asked = { ...body, ...more }
        const done = yield* throughDaemon(chosen, {
          method: "POST",
          path: "/api/v1/resume",
          body: asked,
          mayBegin,
          stored: ({ treasury }) => resumeScope({ treasury, dataDir }, asked),
        })
        return done.body
      }),
    )
    const done = yield* Schema.decodeUnknownEffect(Resumed)(answer)
    const file = done.haltFile === "removed"
    if (done.ended === 0 && !file) {
      const none = scope === "all" ? "nothing was resumed: no pause of all, and no halt" : `${scope} is not paused`
      return yield* failWith("notFound", [none, ...stillText(done)].join("\n"))
    }
    return yield* printResult(chosen.output, { resumed: scope, removed: file, answer }, () =>
      [`resumed ${scope}${file ? ", and took the HALT file away" : ""}`, ...stillText(done)].join("\n"),
    )
  }),
).pipe(Command.withDescription("Continue payments, with a reason"))
