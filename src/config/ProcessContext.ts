import type { Writable } from "node:stream"
import { Context } from "effect"

/** Environment and standard output of the process. Tests that run a command within their own process replace both. */
export interface ProcessContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly output: Writable
}

export const ProcessContext = Context.Reference<ProcessContext>("cofferer/config/ProcessContext", {
  defaultValue: () => ({ env: process.env, output: process.stdout }),
})
