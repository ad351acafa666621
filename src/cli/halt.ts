import { Console, Effect, Result } from "effect"
import { Command } from "effect/cli"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { haltNext, reasonFlag } from "./pause.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { userName } from "./userName.ts"

/** A person's halt of everything, until `resume`. Where no daemon takes it, the HALT file says it. */
export const halt = Command.make(
  "halt",
  { reason: reasonFlag, config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen, "stop")
    const { reason } = chosen
    const author = userName()
    const told = yield* control(dataDir, "POST", "/api/v1/halt", { reason, author }).pipe(
      Effect.flatMap((answer) => (answer === undefined ? Effect.undefined : bodyOf(answer))),
      Effect.result,
    )
    if (Result.isFailure(told)) {
      yield* Console.error(`warn ${told.failure.message}`)
      return yield* haltNext(chosen.output, dataDir, { reason, author, isHeard: false, chosen })
    }
    if (told.success === undefined) return yield* haltNext(chosen.output, dataDir, { reason, author, chosen })
    const text = 'halted: nothing is signed or sent until "resume"'
    return yield* printResult(chosen.output, { halted: true, reason, author }, () => text)
  }),
).pipe(Command.withDescription("Stop all signing and sending, with a reason"))
