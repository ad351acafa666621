import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { plural } from "../domain/plural.ts"
import { storyWithApproval } from "../status/approvals.ts"
import { listIntents } from "../status/stories.ts"
import { endCommands } from "./endIntents.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { storyText } from "./storyText.ts"
import { throughDaemon } from "./throughDaemon.ts"
import { intentsText } from "./viewText.ts"

const shared = { config: configFlag, data: dataFlag, output: outputFlag }

const show = Command.make(
  "show",
  { id: Argument.String("id").pipe(Argument.withDescription("Id, or the start of one")), ...shared },
  Effect.fn(function* (chosen) {
    const { body: story } = yield* throughDaemon(chosen, {
      method: "GET",
      path: `/api/v1/intents/${encodeURIComponent(chosen.id)}`,
      stored: ({ treasury }) => storyWithApproval(treasury, chosen.id),
    })
    return yield* printResult(chosen.output, story, () => storyText(story))
  }),
).pipe(Command.withDescription("The whole story of one payment"))

export const intents = Command.make(
  "intents",
  {
    limit: Flag.Int("limit").pipe(
      Flag.filter(
        (count) => count > 0,
        (count) => `--limit ${count} is not a number from 1 on`,
      ),
      Flag.withDescription("The newest payments, this many at most"),
      Flag.withDefault(20),
    ),
    ...shared,
  },
  Effect.fn(function* (chosen) {
    const { limit } = chosen
    // One more than is shown tells whether the list is whole.
    const stored = () => listIntents(limit + 1)
    const path = `/api/v1/intents?limit=${limit + 1}`
    const { body: found } = yield* throughDaemon(chosen, { method: "GET", path, stored })
    const list = found.slice(0, limit)
    yield* printResult(chosen.output, list, () => (list.length === 0 ? "no payment yet" : intentsText(list)))
    if (found.length > limit) yield* Console.error(`the newest ${plural(limit, "payment")}; --limit N shows more`)
  }),
).pipe(Command.withDescription("List payments"), Command.withSubcommands([show, ...endCommands]))
