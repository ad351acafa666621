import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { DurationText, durationMillis } from "../config/Fields.ts"
import { storeLayer } from "../services.ts"
import { type AskedBackfill, askBackfill } from "../status/askBackfill.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { type Chosen, configFlag, dataFlag, storedSetup } from "./setup.ts"

const isDuration = Schema.is(DurationText)

const Since = Schema.String.check(
  Schema.makeFilter((text: string) => isDuration(text) || !Number.isNaN(Date.parse(text)), {
    expected: "a duration such as 7d, or a time such as 2026-11-21T10:00:00Z",
  }),
)

const flags = {
  since: Flag.String("since").pipe(
    Flag.withSchema(Since),
    Flag.withDescription("From when on: a duration back from now, such as 7d, or a time such as 2026-11-21T10:00:00Z"),
  ),
  config: configFlag,
  data: dataFlag,
  output: outputFlag,
}

/** Has the daemon read the past behind its back; where none runs, the next one does. */
export const backfill = Command.make(
  "backfill",
  flags,
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const millis = isDuration(chosen.since) ? now - durationMillis(chosen.since) : Date.parse(chosen.since)
    const since = BigInt(millis) * 1_000_000n
    const answer = yield* control(dataDir, "POST", "/api/v1/backfill", { since: String(since) })
    const asked = answer === undefined ? yield* stored(chosen, dataDir, since) : askedOf(yield* bodyOf(answer))
    const who = answer === undefined ? "the next daemon reads" : "the daemon reads"
    yield* printResult(chosen.output, { running: answer !== undefined, ...asked }, () =>
      asked.until === null
        ? `balance changes since ${asked.since} are stored already, or being read`
        : `${who} the balance changes from ${asked.since} to ${asked.until}; "status" tells how far it is`,
    )
  }),
).pipe(Command.withDescription("Read balance changes of the past"))

/** The daemon is of the same version as this command line: its answer is taken as it comes. */
const askedOf = (body: unknown): AskedBackfill => body as AskedBackfill

const stored = Effect.fnUntraced(function* (chosen: Chosen, dataDir: string, since: bigint) {
  const found = yield* storedSetup(chosen, dataDir)
  const asked = yield* askBackfill(since, found.treasury.keepMillis).pipe(
    Effect.provide(storeLayer(found)),
    Effect.mapError((error) => failWith("failure", error.message)),
  )
  if ("problem" in asked) return yield* failWith("usage", `${asked.problem}; ${asked.remedy}`)
  return asked
})
