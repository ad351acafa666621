import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DurationText, durationMillis } from "../config/Fields.ts"
import { explainPath } from "../status/answerExplain.ts"
import { type Asking, explanationOf } from "../status/explanationOf.ts"
import { explainText } from "./explainText.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"

const isDuration = Schema.is(DurationText)

const Moment = Schema.String.check(
  Schema.makeFilter((text: string) => isDuration(text) || !Number.isNaN(Date.parse(text)), {
    expected: "a duration back from now, such as 5m, or a time such as 2026-11-21T10:00:00Z",
  }),
)

export const explain = Command.make(
  "explain",
  {
    name: Argument.String("name").pipe(
      Argument.withDescription("A rule, a payment's id or the start of one, or the hash of a transaction"),
    ),
    subject: Argument.String("subject").pipe(
      Argument.withDescription("One account of the rule, such as hot/USDT or hot; default all"),
      Argument.optional,
    ),
    at: Flag.String("at").pipe(
      Flag.withSchema(Moment),
      Flag.withDescription("What a rule did then: a time, or a duration back from now such as 5m"),
      Flag.optional,
    ),
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* (chosen) {
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const asking = {
      name: chosen.name,
      subject: Option.getOrUndefined(chosen.subject),
      at: Option.getOrUndefined(Option.map(chosen.at, (text) => momentOf(text, now))),
    }
    const { running, body: explained } = yield* throughDaemon(chosen, {
      method: "GET",
      path: `${explainPath}?${queryOf(asking)}`,
      stored: (found) => explanationOf(found, asking),
    })
    return yield* printResult(chosen.output, { running, ...explained }, () => explainText(explained, running))
  }),
).pipe(Command.withDescription("Say why a rule acts or is silent, or how a payment came about"))

const momentOf = (text: string, now: number): number =>
  isDuration(text) ? now - durationMillis(text) : Date.parse(text)

const queryOf = (asking: Asking): string =>
  String(new URLSearchParams(Object.entries(asking).flatMap(([k, v]) => (v === undefined ? [] : [[k, String(v)]]))))
