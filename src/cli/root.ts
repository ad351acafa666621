import { Cause, Console, Effect, Exit, Predicate, Runtime } from "effect"
import { CliOutput, Command } from "effect/cli"
import { version } from "../config/version.ts"
import { assets } from "./assets.ts"
import { backfill } from "./backfill.ts"
import { balances } from "./balances.ts"
import { exitCodes } from "./CliFailure.ts"
import { check } from "./check.ts"
import { exportCommand } from "./export.ts"
import { halt } from "./halt.ts"
import { intents } from "./intents.ts"
import { adopt, recover } from "./ledgerCommands.ts"
import { pause } from "./pause.ts"
import { receipt } from "./receipt.ts"
import { reconcile } from "./reconcile.ts"
import { resume } from "./resume.ts"
import { run } from "./run.ts"
import { sandboxCommand } from "./sandboxCommand.ts"
import { status } from "./status.ts"
import { submit } from "./submit.ts"
import { verify } from "./verify.ts"
import { versionCommand } from "./versionCommand.ts"

const root = Command.make("cofferer").pipe(
  Command.withDescription("An unattended treasury agent: each decided payment executed exactly once"),
  Command.withSubcommands([
    run,
    check,
    status,
    intents,
    pause,
    halt,
    resume,
    adopt,
    recover,
    backfill,
    reconcile,
    submit,
    verify,
    exportCommand,
    receipt,
    assets,
    balances,
    sandboxCommand,
    versionCommand,
  ]),
)

/** Help that was asked for is a result; a wrong call is told in one line on standard error. */
const presenter = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const errors = event.errors.map((error) => `cofferer: ${error.message}`)
    return Console.error([...errors, `see: ${event.commandPath.join(" ")} --help`].join("\n"))
  },
})

/** Runs the command line. Every failure is one message on standard error and the exit code of its kind. */
export const commandLine = (args: ReadonlyArray<string>) =>
  Command.runWith(root, { version })(args).pipe(
    Effect.provide(presenter),
    Effect.tapError((error) => (isUsage(error) ? Effect.void : Console.error(`cofferer: ${messageOf(error)}`))),
    Effect.tapDefect((defect) => Console.error(`cofferer: ${messageOf(defect)}`)),
  )

const isUsage = (error: unknown): boolean => Predicate.isTagged(error, "ShowHelp")

const messageOf = (error: unknown): string =>
  error instanceof Error
    ? error.message
    : Predicate.hasProperty(error, "message")
      ? String(error.message)
      : String(error)

/** The exit code of a run: 0 for a stop by signal, the code of the failure, 2 for a wrong call. */
export const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return exitCodes.ok
  if (Cause.hasInterruptsOnly(exit.cause)) return exitCodes.ok
  const error = Cause.squash(exit.cause)
  if (isUsage(error))
    return Predicate.hasProperty(error, "errors") && isEmpty(error.errors) ? exitCodes.ok : exitCodes.usage
  if (Predicate.hasProperty(error, Runtime.errorExitCode)) return Number(error[Runtime.errorExitCode])
  return exitCodes.failure
}

const isEmpty = (errors: unknown): boolean => Array.isArray(errors) && errors.length === 0
