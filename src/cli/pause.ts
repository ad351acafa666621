import { existsSync } from "node:fs"
import { userInfo } from "node:os"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { DurationText, durationMillis } from "../config/Fields.ts"
import { writeHaltFile } from "../config/files.ts"
import { Paused, pausedText } from "./brakeText.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { type Output, outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag } from "./setup.ts"

export const scopeFlag = Flag.String("scope").pipe(
  Flag.withDescription(
    "all, rule:NAME, party:NAME, asset:SYMBOL; pin:SYMBOL that its listing stopped, lock:NAME that locked itself; default all: everything",
  ),
  Flag.withDefault("all"),
)
export const reasonFlag = Flag.String("reason").pipe(
  Flag.withSchema(Schema.String.check(Schema.isMinLength(1, { expected: "a reason" }))),
  Flag.withDescription("Why: it is journalled, and shown wherever the effect is"),
)

/** Where no daemon runs, the HALT file stops the next one before its first signature; one that is deaf reads it too. */
export const haltNext = Effect.fnUntraced(function* (
  output: Output,
  dataDir: string,
  { reason, author, isHeard = true }: { readonly reason: string; readonly author: string; readonly isHeard?: boolean },
) {
  if (!existsSync(dataDir)) {
    const message = `${dataDir}  is no data directory: nothing is halted; name the right one with --data DIR`
    return yield* failWith("notFound", message)
  }
  yield* writeHaltFile(dataDir, `${author}: ${reason}`)
  const text = isHeard
    ? `no daemon runs: wrote ${dataDir}/HALT, which halts the next one; "resume" takes it away`
    : `wrote ${dataDir}/HALT, which halts the daemon when it next looks; "resume" takes it away`
  return yield* printResult(output, { halted: true, reason, author }, () => text)
})

/** A person's pause. Where no daemon runs, the HALT file stops the next one before its first signature. */
export const pause = Command.make(
  "pause",
  {
    scope: scopeFlag,
    reason: reasonFlag,
    for: Flag.String("for").pipe(
      Flag.withSchema(DurationText),
      Flag.withDescription("Ends by itself after this long, such as 2h"),
      Flag.optional,
    ),
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen, "stop")
    const { scope, reason } = chosen
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const until = Option.match(chosen.for, { onNone: () => undefined, onSome: (text) => now + durationMillis(text) })
    const author = userInfo().username
    const answer = yield* control(dataDir, "POST", "/api/v1/pause", { scope, reason, author, until })
    if (answer !== undefined) {
      const { longest } = yield* Schema.decodeUnknownEffect(Paused)(yield* bodyOf(answer))
      return yield* printResult(chosen.output, { paused: scope, reason, author, until, longest }, () =>
        pausedText({ scope, until }, longest),
      )
    }
    return yield* haltNext(chosen.output, dataDir, { reason, author })
  }),
).pipe(Command.withDescription("Stop payments, all of them or those of --scope, with a reason"))
