import { Predicate, Runtime, Schema } from "effect"
import type { GatewayError } from "../gateway/GatewayError.ts"

/** Exit codes of every command. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  configuration: 3,
  notFound: 4,
  timeOut: 5,
  refused: 6,
  needsApproval: 7,
  unhealthy: 8,
  wouldFire: 9,
} as const

/** A command did not do what was asked: one line on standard error, and the exit code. */
export class CliFailure extends Schema.TaggedError<CliFailure>()("CliFailure", {
  message: Schema.String,
  exitCode: Schema.Int,
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode
}

export const failWith = (code: keyof typeof exitCodes, message: string): CliFailure =>
  new CliFailure({ message, exitCode: exitCodes[code] })

/** The failure with the exit code of its kind. */
export const failureOf = (error: CliFailure | GatewayError | { readonly message: string }): CliFailure => {
  if (error instanceof CliFailure) return error
  const isLate = Predicate.isTagged(error, "GatewayError") && (error as GatewayError).reason._tag === "Timeout"
  return failWith(isLate ? "timeOut" : "failure", error.message)
}
