import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect } from "effect"
import { commandLine, exitCodeOf } from "../../src/cli/root.ts"
import type { Outcome } from "./Cofferer.ts"

/**
 * Runs the command line within this process: as `cofferer` does but for the second that a process takes to start. For
 * commands that end by themselves and say all that they say through the console.
 */
export const callCofferer = async (args: ReadonlyArray<string>): Promise<Outcome> => {
  let stdout = ""
  let stderr = ""
  const heard: Console.Console = Object.assign(Object.create(globalThis.console), {
    log: (...said: ReadonlyArray<unknown>) => {
      stdout += `${said.join(" ")}\n`
    },
    error: (...said: ReadonlyArray<unknown>) => {
      stderr += `${said.join(" ")}\n`
    },
  })
  const exit = await commandLine(args).pipe(
    Effect.provide(NodeServices.layer),
    Effect.provideService(Console.Console, heard),
    Effect.runPromiseExit,
  )
  return { code: exitCodeOf(exit), signal: null, stdout, stderr }
}
