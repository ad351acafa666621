import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DurationText, durationMillis } from "../config/schema/Fields.ts"
import { runbookPageOf } from "../domain/alerts/catalogue.ts"
import { plural } from "../domain/text.ts"
import {
  ackAlert,
  alertStory,
  alertsView,
  resendAlerts,
  silenceAlerts,
  type testReceivers,
  unsilenceAlerts,
} from "../http/alertVerbs.ts"
import { problem } from "../http/stories.ts"
import { alertsMax } from "../store/alerts/alertRecords.ts"
import { noDaemonLine, throughDaemon } from "./common/client.ts"
import { failWith, printResult, table } from "./common/output.ts"
import { commonFlags, cutList, limitFlag, optionalInt, optionalText, switchFlag, userName } from "./common/setup.ts"
import { reasonFlag } from "./controls.ts"

const instant = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19)}Z`
const seqArgument = Argument.Int("number").pipe(
  Argument.withDescription("Number of the alert, as alerts list shows it"),
)
/** Alerts that a silence matches. */
const matchText = ({ name, kind, subject }: Readonly<Record<"name" | "kind" | "subject", string | null>>): string =>
  Object.entries({ name, kind, subject })
    .flatMap(([part, word]) => (word === null ? [] : [`${part} ${word}`]))
    .join(", ")
const path = (rest: string) => `/api/v1/alerts${rest}`

const list = Command.make(
  "list",
  {
    all: switchFlag("all", "Show resolved alerts too"),
    limit: limitFlag("alerts", alertsMax),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const { all, limit } = chosen
    const query = `?limit=${limit + 1}${all ? "&all=1" : ""}`
    const { running, body } = yield* throughDaemon(chosen, path(query), () => alertsView(limit + 1, all))
    const alerts = yield* cutList(body.alerts, limit, "alert")
    yield* printResult(chosen.output, { ...body, alerts }, () => {
      const rows = alerts.map(({ seq, at, severity, state, name, subject, detail, dead, silenced }) => [
        String(seq),
        instant(at),
        severity,
        `${state}${dead > 0 ? `, ${dead} undelivered` : ""}${silenced > 0 ? ", silenced" : ""}`,
        name,
        `${subject}: ${detail}`,
      ])
      const silences = body.silences.map(
        ({ id, name, kind, subject, author, reason, until }) =>
          `silence ${id} until ${instant(until)}: alerts with ${matchText({ name, kind, subject })}; by ${author}: ${reason}`,
      )
      const shown = rows.length === 0 ? `no ${all ? "" : "firing or undelivered "}alerts` : table(rows)
      return [...(running ? [] : [noDaemonLine]), shown, ...silences].join("\n")
    })
  }),
).pipe(Command.withDescription("List firing and undelivered alerts, and silences"))

const show = Command.make(
  "show",
  { seq: seqArgument, ...commonFlags },
  Effect.fn(function* (chosen) {
    const { seq } = chosen
    const { body: found } = yield* throughDaemon(chosen, path(`/${seq}`), () => alertStory(seq))
    yield* printResult(chosen.output, found, () => {
      const { severity, state, name, kind, subject, detail, at, endedAt, ackedAt, ackedBy, ackedReason } = found
      return [
        `${seq}  ${severity}  ${state}  ${subject}: ${detail}`,
        `raised ${instant(at)}${endedAt === null || endedAt === at ? "" : `, resolved ${instant(endedAt)}`}`,
        ...(ackedAt === null ? [] : [`acknowledged ${instant(ackedAt)} by ${ackedBy}: ${ackedReason}`]),
        ...found.deliveries.map(
          ({ receiver, state: how, tries, round, error, updatedAt }) =>
            `${receiver}  ${how.replace("_", " ")} ${instant(updatedAt)}, sent ${plural(tries, "time")}${round === 0 ? "" : `, repeated ${plural(round, "time")}`}${error === null ? "" : `: ${error}`}`,
        ),
        ...(name === "" ? [] : [`runbook  ${runbookPageOf(kind)}#${name}`]),
      ].join("\n")
    })
  }),
).pipe(Command.withDescription("Show one alert and its deliveries"))

const ack = Command.make(
  "ack",
  { seqs: seqArgument.pipe(Argument.atLeast(1)), reason: reasonFlag, ...commonFlags },
  Effect.fn(function* (chosen) {
    for (const seq of chosen.seqs) {
      const asked = { seq, reason: chosen.reason, author: userName() }
      const { body } = yield* throughDaemon(chosen, path("/ack"), () => ackAlert(asked), { body: asked })
      yield* printResult(chosen.output, body, () => `acknowledged ${seq} (${body.subject}): it is not repeated`)
    }
  }),
).pipe(Command.withDescription("Acknowledge alerts: they are not repeated and do not escalate"))

const silence = Command.make(
  "silence",
  {
    seq: seqArgument.pipe(Argument.optional),
    name: optionalText("name", "Silence alerts of this name, such as head_risen; docs/runbooks.md lists them"),
    kind: optionalText("kind", "Silence alerts of this kind, such as health or intent"),
    subject: optionalText("subject", 'Silence alerts of this subject, such as "gateway down"'),
    for: Flag.String("for").pipe(
      Flag.withSchema(DurationText),
      Flag.withDescription("Length of the silence, at most 31d; default 2h"),
      Flag.withDefault("2h"),
    ),
    end: optionalInt("end", "End the silence with this number, instead of starting one"),
    reason: reasonFlag.pipe(Flag.withDescription("Reason; required to start a silence"), Flag.optional),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    if (Option.isSome(chosen.end)) {
      const asked = { id: chosen.end.value }
      const { body } = yield* throughDaemon(chosen, path("/unsilence"), () => unsilenceAlerts(asked), { body: asked })
      return yield* printResult(chosen.output, body, () => `silence ${body.ended} is over`)
    }
    if (Option.isNone(chosen.reason)) return yield* failWith("usage", "a silence needs --reason TEXT")
    const asked = {
      seq: Option.getOrUndefined(chosen.seq),
      name: Option.getOrUndefined(chosen.name),
      kind: Option.getOrUndefined(chosen.kind),
      subject: Option.getOrUndefined(chosen.subject),
      millis: durationMillis(chosen.for),
      reason: chosen.reason.value,
      author: userName(),
    }
    const { body } = yield* throughDaemon(chosen, path("/silence"), () => silenceAlerts(asked), { body: asked })
    yield* printResult(
      chosen.output,
      body,
      () =>
        `silence ${body.silenced}: alerts with ${matchText(body)} are sent to nobody until ${instant(body.until)}; what still fires then is sent`,
    )
  }),
).pipe(Command.withDescription("Silence alerts for a time; alerts that still fire at its end are sent then"))

const resendCommand = Command.make(
  "resend",
  { seq: seqArgument.pipe(Argument.optional), ...commonFlags },
  Effect.fn(function* (chosen) {
    const asked = Option.isSome(chosen.seq) ? { seq: chosen.seq.value } : {}
    const { body } = yield* throughDaemon(chosen, path("/resend"), ({ treasury }) => resendAlerts(treasury, asked), {
      body: asked,
    })
    yield* printResult(chosen.output, body, () =>
      body.resent.length === 0 ? "no alert is undelivered" : `sent again: ${body.resent.join(", ")}`,
    )
  }),
).pipe(Command.withDescription("Send one alert again, or all that no receiver accepted"))

const testTimeoutMillis = 20_000
type Tested = Effect.Success<ReturnType<typeof testReceivers>>

const test = Command.make(
  "test",
  {
    receiver: Argument.String("receiver").pipe(
      Argument.withDescription("Name of the receiver; default all"),
      Argument.optional,
    ),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const author = userName()
    const asked = Option.isSome(chosen.receiver) ? { receiver: chosen.receiver.value, author } : { author }
    const stored = () =>
      Effect.succeed<Tested>(problem("no daemon runs that delivers it", 404, "start it: cofferer run"))
    const { body } = yield* throughDaemon(chosen, path("/test"), stored, {
      body: asked,
      timeoutMillis: testTimeoutMillis,
    })
    yield* printResult(chosen.output, body, () =>
      body.deliveries
        .map(({ receiver, state, error }) => `${receiver}  ${state}${error === null ? "" : `: ${error}`}`)
        .join("\n"),
    )
    if (body.deliveries.every(({ state, error }) => state === "delivered" && error === null)) return
    const text =
      "a receiver, or one of its addresses, did not accept it; correct alerts.receivers, or the network to it; waiting alerts are sent again automatically"
    return yield* failWith("failure", text)
  }),
).pipe(Command.withDescription("Send a test alert and wait for its delivery; exit 1 if a receiver does not accept it"))

export const alerts = Command.make("alerts").pipe(
  Command.withDescription("Show, acknowledge, silence, resend and test alerts"),
  Command.withSubcommands([list, show, ack, silence, resendCommand, test]),
)
