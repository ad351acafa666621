import { Console, Effect, Predicate } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { plural } from "../domain/plural.ts"
import { storyWithApproval } from "../status/approvals.ts"
import { listIntents, type Problem } from "../status/stories.ts"
import type { IntentView } from "../status/View.ts"
import { askStore } from "./askStore.ts"
import { failWith } from "./CliFailure.ts"
import { codeOf } from "./controlClient.ts"
import { endCommands } from "./endIntents.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { type Story, storyText } from "./storyText.ts"
import { intentsText } from "./viewText.ts"

/** The daemon's answers, of the same version as this command line. */
const listOf = (body: unknown) => body as ReadonlyArray<IntentView>
const isProblem = (body: unknown): body is Problem => Predicate.hasProperty(body, "problem")
const toStory = (body: unknown) => body as Story

const shared = { config: configFlag, data: dataFlag, output: outputFlag }

const show = Command.make(
  "show",
  { id: Argument.String("id").pipe(Argument.withDescription("Id, or the start of one")), ...shared },
  Effect.fn(function* (chosen) {
    const body = yield* askStore(chosen, `/api/v1/intents/${encodeURIComponent(chosen.id)}`, ({ treasury }) =>
      storyWithApproval(treasury, chosen.id),
    )
    if (isProblem(body)) return yield* failWith(codeOf(body.status), `${body.problem}; ${body.remedy}`)
    const story = toStory(body)
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
    const found = listOf(yield* askStore(chosen, `/api/v1/intents?limit=${limit + 1}`, listIntents(limit + 1)))
    const list = found.slice(0, limit)
    yield* printResult(chosen.output, list, () => (list.length === 0 ? "no payment yet" : intentsText(list)))
    if (found.length > limit) yield* Console.error(`the newest ${plural(limit, "payment")}; --limit N shows more`)
  }),
).pipe(Command.withDescription("List payments"), Command.withSubcommands([show, ...endCommands]))
