import { Schema } from "effect"

/** The sandbox cannot start or go on. After a failure of its files it answers nothing more. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  message: Schema.String,
  /** True if another process listens on the configured port. */
  isPortBusy: Schema.optionalKey(Schema.Boolean),
}) {}

/** The ledger file or a key file cannot be read or written. */
export const filesFailed = (operation: string, cause: unknown): SandboxError => {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new SandboxError({ message: `the sandbox's files failed during ${operation}: ${why}` })
}
