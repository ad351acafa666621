import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { configFlag, dataFlag, notRunning } from "./setup.ts"
import { userName } from "./userName.ts"

/** Lets the daemon read its files again: all of it is put in force, or nothing. */
export const reload = Command.make(
  "reload",
  {
    reason: reasonFlag,
    allowWeaker: Flag.Boolean("allow-weaker").pipe(
      Flag.withDescription("Put it in force even where it permits what was not permitted before"),
      Flag.withDefault(false),
    ),
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* ({ reason, allowWeaker, output, ...chosen }) {
    const dataDir = yield* dataDirOf(chosen)
    const author = userName()
    const answer = yield* control(dataDir, "POST", "/api/v1/reload", { reason, author, allowWeaker })
    if (answer === undefined) return yield* notRunning(chosen, dataDir)
    const done = (yield* bodyOf(answer)) as {
      readonly hash: string
      readonly parts?: ReadonlyArray<string>
      readonly weaker?: ReadonlyArray<string>
    }
    return yield* printResult(output, done, () => {
      if (done.parts === undefined) return `nothing changed: ${done.hash.slice(0, 12)} is in force`
      const weaker = (done.weaker ?? []).map((words) => `now permitted: ${words}`)
      return [`in force: ${done.parts.join(", ")} changed, ${done.hash.slice(0, 12)}`, ...weaker].join("\n")
    })
  }),
).pipe(Command.withDescription("Put the changed treasury file in force, as a whole or not at all"))
