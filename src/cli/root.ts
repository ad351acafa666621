import { Cause, Console, Effect, Exit, Predicate, Runtime } from "effect"
import { CliOutput, Command } from "effect/cli"
import { version } from "../config/files.ts"
import { exitCodes, visibleConsole } from "./common/output.ts"
import { examples } from "./examples.ts"

/** Every command by its name. One is loaded when it is called: all of them take longer than most take to run. */
const commands = {
  init: async () => (await import("./init/init.ts")).init,
  run: async () => (await import("./run/run.ts")).run,
  doctor: async () => (await import("./doctor/doctor.ts")).doctor,
  check: async () => (await import("./check.ts")).check,
  status: async () => (await import("./status.ts")).status,
  explain: async () => (await import("./explain.ts")).explainCommand,
  plan: async () => (await import("./plan.ts")).plan,
  intents: async () => (await import("./intents.ts")).intents,
  approve: async () => (await import("./approve.ts")).approveCommand,
  reject: async () => (await import("./intents.ts")).reject,
  keys: async () => (await import("./keys.ts")).keys,
  pause: async () => (await import("./pause.ts")).pause,
  halt: async () => (await import("./pause.ts")).halt,
  resume: async () => (await import("./pause.ts")).resume,
  reload: async () => (await import("./terms.ts")).reload,
  terms: async () => (await import("./terms.ts")).terms,
  adopt: async () => (await import("./ledger.ts")).adoptCommand,
  recover: async () => (await import("./ledger.ts")).recoverCommand,
  backfill: async () => (await import("./ledger.ts")).backfill,
  reconcile: async () => (await import("./ledger.ts")).reconcile,
  submit: async () => (await import("./submit.ts")).submitCommand,
  test: async () => (await import("./backtest.ts")).testCommand,
  backtest: async () => (await import("./backtest.ts")).backtest,
  verify: async () => (await import("./receipt.ts")).verify,
  export: async () => (await import("./receipt.ts")).exportCommand,
  receipt: async () => (await import("./receipt.ts")).receipt,
  alerts: async () => (await import("./alerts.ts")).alerts,
  assets: async () => (await import("./assets.ts")).assetsCommand,
  balances: async () => (await import("./balances.ts")).balances,
  sandbox: async () => (await import("./sandbox.ts")).sandboxCommand,
  version: async () => (await import("./version.ts")).versionCommand,
}

export const commandNames: ReadonlyArray<string> = Object.keys(commands)

const isCommand = (name: string): name is keyof typeof commands => Object.hasOwn(commands, name)

/** All of them where none is called: for help, and for the name that is nearest to a wrong one. */
export const loadCommands = async ([name = ""]: ReadonlyArray<string>) => {
  const called = isCommand(name) ? [commands[name]] : Object.values(commands)
  return Command.make("cofferer").pipe(
    Command.withDescription("An unattended treasury agent: each decided payment executed exactly once"),
    Command.withSubcommands(await Promise.all(called.map((command) => command()))),
  )
}

/** Hints for options and commands that belong to another command. */
const elsewhere: Readonly<Record<string, string>> = {
  "halt --for": 'a halt ends by "resume" alone; "pause --for 2h" ends by itself',
}

/** Commands that are gone, with what takes their place. */
const gone: Readonly<Record<string, string>> = {
  object: 'weaker terms wait for no time any more, they halt a start; "halt" stops those that "terms accept" let begin',
}

/** Describes a wrong call in one line. */
const callText = (commandPath: ReadonlyArray<string>, error: Error): string => {
  const command = Predicate.isTagged(error, "UnknownSubcommand") ? String(Reflect.get(error, "subcommand")) : ""
  if (Object.hasOwn(gone, command)) return `${command} is gone; ${gone[command]}`
  const option = Predicate.isTagged(error, "UnrecognizedOption") ? (error as { readonly option?: string }).option : ""
  const other = elsewhere[`${commandPath.at(-1)} ${option}`]
  if (other !== undefined) return `Unrecognized flag: ${option}; ${other}`
  const [first = "", ...near] = error.message.replace(/(Expected: )?Schema validation failed: /, "").split(/\n\s*/)
  const meant = near.filter((line) => /^--?[a-z]{2}|^[a-z]/.test(line))
  return meant.length === 0 ? first : `${first}; did you mean ${meant.join(" or ")}?`
}

const withExample = ({ commandPath, helpDoc }: CliOutput.Presenter.Help) => {
  const [typed, description] = examples[commandPath.slice(1).join(" ")] ?? []
  return typed === undefined
    ? helpDoc
    : { ...helpDoc, examples: [{ command: `cofferer ${typed}`, description: description! }] }
}

/**
 * Requested help is a result; a wrong call prints one line on standard error. Help has its own format, and has colours
 * on a terminal.
 */
const presenter = (plain: Console.Console) =>
  CliOutput.layerPresenter({
    present: (event) => {
      if (event._tag !== "InvalidInvocation") {
        const shown = event._tag === "Help" ? { ...event, helpDoc: withExample(event) } : event
        return Effect.provideService(CliOutput.defaultPresenter.present(shown), Console.Console, plain)
      }
      const errors = event.errors.map((error) => `cofferer: ${callText(event.commandPath, error)}`)
      return Console.error([...errors, `see: ${event.commandPath.join(" ")} --help`].join("\n"))
    },
  })

/** Runs the command line. Every failure is one message on standard error and the exit code of its kind. */
export const commandLine = (args: ReadonlyArray<string>) =>
  Console.consoleWith((plain) =>
    Effect.promise(() => loadCommands(args)).pipe(
      Effect.flatMap((root) => Command.runWith(root, { version })(args)),
      Effect.provide(presenter(plain)),
      Effect.tapError((error) => (isUsage(error) ? Effect.void : Console.error(saidOf(error)))),
      Effect.tapDefect((defect) => Console.error(`cofferer: ${messageOf(defect)}`)),
      Effect.provideService(Console.Console, visibleConsole(plain)),
    ),
  )

const isUsage = (error: unknown): boolean => Predicate.isTagged(error, "ShowHelp")

/** Problems of a file begin with their places, for editors to jump to. */
const saidOf = (error: unknown): string =>
  Predicate.isTagged(error, "ConfigError") ? messageOf(error) : `cofferer: ${messageOf(error)}`

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
