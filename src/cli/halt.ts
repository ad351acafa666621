import { userInfo } from "node:os"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { bodyOf, control } from "./controlClient.ts"
import { outputFlag, printResult } from "./output.ts"
import { haltNext, reasonFlag } from "./pause.ts"
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
    if (answer === undefined) return yield* haltNext(chosen.output, dataDir, { reason, author })
    yield* bodyOf(answer)
    const text = 'halted: nothing is signed or sent until "resume"'
    return yield* printResult(chosen.output, { halted: true, reason, author }, () => text)
  }),
).pipe(Command.withDescription("Stop all signing and sending, with a reason"))
