import { userInfo } from "node:os"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { writeHaltFile } from "../config/files.ts"
import { bodyOf, control } from "./controlClient.ts"
import { outputFlag, printResult } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { configFlag, dataDirOf, dataFlag } from "./setup.ts"

/** A person's halt of everything, until `resume`. Where no daemon runs, the HALT file stops the next one. */
export const halt = Command.make(
  "halt",
  { reason: reasonFlag, config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const { reason } = chosen
    const author = userInfo().username
    const answer = yield* control(dataDir, "POST", "/api/v1/halt", { reason, author })
    const said = { halted: true, reason, author }
    if (answer !== undefined) {
      yield* bodyOf(answer)
      return yield* printResult(chosen.output, said, () => 'halted: nothing is signed or sent until "resume"')
    }
    yield* writeHaltFile(dataDir, `${author}: ${reason}`)
    const where = `no daemon runs: wrote ${dataDir}/HALT, which halts the next one; "resume" takes it away`
    return yield* printResult(chosen.output, said, () => where)
  }),
).pipe(Command.withDescription("Stop all signing and sending, with a reason"))
