import { userInfo } from "node:os"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { removeHaltFile } from "../config/files.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { outputFlag, printResult } from "./output.ts"
import { reasonFlag, scopeFlag } from "./pause.ts"
import { configFlag, dataDirOf, dataFlag } from "./setup.ts"

/** Ends pauses of a scope; with scope all also the HALT file. */
export const resume = Command.make(
  "resume",
  { scope: scopeFlag, reason: reasonFlag, config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const { scope, reason } = chosen
    const removed = scope === "all" ? yield* removeHaltFile(dataDir) : false
    const answer = yield* control(dataDir, "POST", "/api/v1/resume", { scope, reason, author: userInfo().username })
    if (answer === undefined) {
      if (!removed) return yield* failWith("notFound", `no daemon runs in ${dataDir}, and no HALT file lies there`)
      return yield* printResult(chosen.output, { resumed: scope, haltFile: "removed" }, () => "took the HALT file away")
    }
    const body = yield* bodyOf(answer)
    const file = removed ? ", and took the HALT file away" : ""
    return yield* printResult(chosen.output, { resumed: scope, removed, answer: body }, () => `resumed ${scope}${file}`)
  }),
).pipe(Command.withDescription("Continue payments, with a reason"))
