import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { summaries } from "../../src/cli/run/runLog.ts"
import { runLoops } from "../../src/daemon.ts"
import { layerLogging } from "../../src/telemetry/Logging.ts"
import { flow } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { turn } from "../support/until.ts"

describe("a calm hour", () => {
  it.effect(
    "writes at most 20 lines, and none of them is a warning",
    () => {
      const lines: Array<string> = []
      const destination = { write: (line: string) => void lines.push(line) }
      return flow(
        (options, sandbox) =>
          Effect.gen(function* () {
            yield* Effect.forkScoped(runLoops(options))
            yield* Effect.forkScoped(summaries(options, undefined))
            const halfMinute = Effect.gen(function* () {
              yield* sandbox.stepBlock
              yield* TestClock.adjust("30 seconds")
              yield* Effect.repeat(turn, { times: 6 })
            })
            yield* Effect.repeat(halfMinute, { times: 6 })
            const begun = lines.length
            yield* Effect.repeat(halfMinute, { times: 119 })
            const hour = lines.slice(begun)
            assert.isAtMost(hour.length, 20, hour.join(""))
            assert.isAbove(hour.length, 4, "the summaries")
            assert.isFalse(
              hour.some((line) => /"level":"(warn|error)"/.test(line)),
              hour.join(""),
            )
          }).pipe(
            Effect.scoped,
            Effect.provide(layerLogging({ level: "Info", format: "json", destination, startedAt: 0 })),
          ),
        {
          network: { maxAge: "2m", poll: { busy: "10s", idle: "10s" } },
          keepBob: { topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "10", target: "20" }] } },
        },
      )
    },
    120_000,
  )
})
