import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { askBackfill } from "../status/ledgerVerbs.ts"
import { MomentText, momentOf } from "./explain.ts"
import { printResult } from "./output.ts"
import { commonFlags } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"

const flags = {
  since: Flag.String("since").pipe(
    Flag.withSchema(MomentText),
    Flag.withDescription("From when on: a duration back from now, such as 7d, or a time such as 2026-11-21T10:00:00Z"),
  ),
  ...commonFlags,
}

/** Has the daemon read the past behind its back; where none runs, the next one does. */
export const backfill = Command.make(
  "backfill",
  flags,
  Effect.fn(function* (chosen) {
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const since = BigInt(momentOf(chosen.since, now)) * 1_000_000n
    const { running, body: asked } = yield* throughDaemon(chosen, {
      method: "POST",
      path: "/api/v1/backfill",
      body: { since: String(since) },
      stored: ({ treasury }) => askBackfill(since, treasury.keepMillis),
    })
    const who = running ? "the daemon reads" : "the next daemon reads"
    yield* printResult(chosen.output, { running, ...asked }, () =>
      asked.until === null
        ? `balance changes since ${asked.since} are stored already, or being read`
        : `${who} the balance changes from ${asked.since} to ${asked.until}; "status" tells how far it is`,
    )
  }),
).pipe(Command.withDescription("Read balance changes of the past"))
