import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect, Predicate, Schema } from "effect"
import { Command } from "effect/cli"
import { readHaltFile } from "../config/files.ts"
import { secureDataDir } from "../config/ownFiles.ts"
import { storeLayer } from "../services.ts"
import { type ResumeBody, resumeScope } from "../status/brakeVerbs.ts"
import { databaseFile } from "../store/Database.ts"
import { Resumed, stillText } from "./brakeText.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, codeOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult, toJson } from "./output.ts"
import { reasonFlag, scopeFlag } from "./pause.ts"
import { type Chosen, configFlag, dataFlag, setup } from "./setup.ts"
import { agreementFlags, signAgreement } from "./signAgreement.ts"
import { userName } from "./userName.ts"

/** Where no daemon runs, the same on its database: what operators must agree to there, they must agree to here. */
const resumeStored = Effect.fnUntraced(function* (chosen: Chosen, dataDir: string, asked: typeof ResumeBody.Type) {
  const hasFile = asked.scope === "all" && (yield* readHaltFile(dataDir)) !== undefined
  if (!hasFile && !existsSync(join(dataDir, databaseFile))) {
    return yield* failWith("notFound", `no daemon runs in ${dataDir}, and nothing is halted or paused there`)
  }
  const found = yield* setup(chosen)
  const where = { treasury: found.treasury, dataDir }
  yield* secureDataDir(dataDir)
  const done = yield* resumeScope(where, asked).pipe(
    Effect.provide(storeLayer({ ...found, dataDir })),
    Effect.mapError((error) => failWith("failure", error.message)),
  )
  if (Predicate.hasProperty(done, "problem"))
    return yield* failWith(codeOf(done.status), `${done.problem}; ${done.remedy}`)
  return JSON.parse(toJson(done)) as unknown
})

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
    const answer = yield* signAgreement(
      chosen,
      { kind: "resume", says: { scope, reason } },
      Effect.fnUntraced(function* (more) {
        const answer = yield* control(dataDir, "POST", "/api/v1/resume", { ...body, ...more })
        return answer === undefined ? yield* resumeStored(chosen, dataDir, { ...body, ...more }) : yield* bodyOf(answer)
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
