import { Effect, Predicate } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { listIntents, type Problem, storyOf } from "../status/stories.ts"
import type { IntentView } from "../status/View.ts"
import { askStore } from "./askStore.ts"
import { failWith } from "./CliFailure.ts"
import { codeOf } from "./controlClient.ts"
import { endCommands } from "./endIntents.ts"
import { outputFlag, printResult, table } from "./output.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { intentsText } from "./viewText.ts"

/** The daemon's answers, of the same version as this command line. */
interface Story extends IntentView {
  readonly feeMax: string
  readonly fee: string | null
  readonly sends: ReadonlyArray<{
    readonly k: number
    readonly n: number
    readonly gateway: string
    readonly framing: string
    readonly startedAt: number
    readonly outcome: string | null
    readonly code: number | null
    readonly data: string | null
  }>
  readonly evidence: ReadonlyArray<{
    readonly k: number
    readonly kind: string
    readonly at: number
    readonly detail: string
  }>
  readonly journal: ReadonlyArray<{
    readonly seq: number
    readonly at: number
    readonly kind: string
    readonly body: string
  }>
}
const listOf = (body: unknown) => body as ReadonlyArray<IntentView>
const isProblem = (body: unknown): body is Problem => Predicate.hasProperty(body, "problem")
const toStory = (body: unknown) => body as Story

const shared = { config: configFlag, data: dataFlag, output: outputFlag }

const time = (millis: number): string => new Date(millis).toISOString().slice(0, 23).replace("T", " ")

const storyText = (story: Story): string => {
  const sends = story.sends.map((s) => [
    `  ${time(s.startedAt)}`,
    `attempt ${s.k} send ${s.n}`,
    `${s.gateway} ${s.framing}`,
    `${s.outcome ?? "no answer yet"}${s.code === null ? "" : ` code ${s.code}`}`,
    s.data ?? "",
  ])
  const evidence = story.evidence.map((e) => [`  ${time(e.at)}`, `attempt ${e.k}`, e.kind, e.detail])
  const attempts = story.attempts.map((a) => [
    `  ${a.k}`,
    a.state,
    `${a.sends} sends`,
    `window ends at block ${a.deadline}`,
    `transfer ${a.transferId}`,
  ])
  const journal = story.journal.map((j) => [`  ${j.seq}`, time(j.at), j.kind, j.body.slice(0, 90)])
  return [
    `${story.short}  ${story.state}  ${story.amount}  ${story.from} -> ${story.to}   (${story.rule})`,
    `  ${story.detail}`,
    `  id ${story.id}, decided ${story.createdAt}, fee ${story.fee ?? "not known"} of at most ${story.feeMax} base units`,
    "attempts",
    attempts.length === 0 ? "  none signed" : table(attempts),
    "sends",
    sends.length === 0 ? "  none" : table(sends),
    "evidence",
    evidence.length === 0 ? "  none" : table(evidence),
    "journal",
    table(journal),
  ].join("\n")
}

const show = Command.make(
  "show",
  { id: Argument.String("id").pipe(Argument.withDescription("Id, or the start of one")), ...shared },
  Effect.fn(function* (chosen) {
    const body = yield* askStore(chosen, `/api/v1/intents/${encodeURIComponent(chosen.id)}`, storyOf(chosen.id))
    if (isProblem(body)) return yield* failWith(codeOf(body.status), `${body.problem}; ${body.remedy}`)
    const story = toStory(body)
    return yield* printResult(chosen.output, story, () => storyText(story))
  }),
).pipe(Command.withDescription("The whole story of one payment"))

export const intents = Command.make(
  "intents",
  {
    limit: Flag.Int("limit").pipe(Flag.withDescription("At most so many, newest first"), Flag.withDefault(20)),
    ...shared,
  },
  Effect.fn(function* (chosen) {
    const list = listOf(yield* askStore(chosen, `/api/v1/intents?limit=${chosen.limit}`, listIntents(chosen.limit)))
    yield* printResult(chosen.output, list, () => (list.length === 0 ? "no payment yet" : intentsText(list)))
  }),
).pipe(Command.withDescription("List payments"), Command.withSubcommands([show, ...endCommands]))
