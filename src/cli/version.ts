import { Effect } from "effect"
import { Command } from "effect/cli"
import { version } from "../config/files.ts"
import { outputFlag, printResult } from "./common/output.ts"

export const versionCommand = Command.make(
  "version",
  { output: outputFlag },
  Effect.fn(function* ({ output }) {
    yield* printResult(
      output,
      { version, node: process.version },
      () => `cofferer ${version} (Node ${process.version})`,
    )
  }),
).pipe(Command.withDescription("Print the version"))
