import { Effect } from "effect"
import { Command } from "effect/cli"
import { verifyStore } from "../store/verifyStore.ts"
import { failWith } from "./CliFailure.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"

/** A journal of years takes minutes. */
const timeoutMillis = 3_600_000

/** Holds the journal against itself and against every payment. */
export const verify = Command.make(
  "verify",
  { config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const { body: found } = yield* throughDaemon(chosen, {
      method: "GET",
      path: "/api/v1/verify",
      timeoutMillis,
      stored: verifyStore,
    })
    const { problem, entries, head } = found
    if (problem === null) {
      const text = `journal whole: ${entries} entries, head ${head.slice(0, 16)}`
      return yield* printResult(chosen.output, found, () => text)
    }
    if (chosen.output === "json") yield* printResult(chosen.output, found, () => "")
    return yield* failWith("failure", `journal broken: ${problem}`)
  }),
).pipe(Command.withDescription("Recompute the journal from its first entry and hold every payment against it"))
