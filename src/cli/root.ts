import { Cause, Console, Effect, Exit, Predicate, Runtime } from "effect"
import { CliOutput, Command } from "effect/cli"
import { version } from "../config/files.ts"
import { CommandFlags } from "../telemetry/Logging.ts"
import {
  exitCodes,
  outputFlag,
  printError,
  printResult,
  printText,
  treasuryFlagsOf,
  visibleConsole,
} from "./common/output.ts"

const versionCommand = Command.make(
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

/** Every command by its name. Only the called one is loaded: loading all takes longer than most commands run. */
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
  pause: async () => (await import("./controls.ts")).pause,
  halt: async () => (await import("./controls.ts")).halt,
  resume: async () => (await import("./controls.ts")).resume,
  reload: async () => (await import("./controls.ts")).reload,
  terms: async () => (await import("./controls.ts")).terms,
  adopt: async () => (await import("./ledger.ts")).adoptCommand,
  recover: async () => (await import("./ledger.ts")).recoverCommand,
  migrate: async () => (await import("./migrate.ts")).migrate,
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
  version: () => Promise.resolve(versionCommand),
}

export const commandNames: ReadonlyArray<string> = Object.keys(commands)

const isCommand = (name: string): name is keyof typeof commands => Object.hasOwn(commands, name)

/** The named command; for any other name all commands, for help and to suggest the nearest name. */
export const loadCommands = async ([name = ""]: ReadonlyArray<string>) => {
  const called = isCommand(name) ? [commands[name]] : Object.values(commands)
  return Command.make("cofferer").pipe(
    Command.withDescription("An unattended treasury agent: each decided payment executed exactly once"),
    Command.withSubcommands(await Promise.all(called.map((command) => command()))),
  )
}

/** Hints for options and commands that belong to another command. */
const elsewhere: Readonly<Record<string, string>> = {
  "halt --for": 'only "resume" ends a halt; "pause --for 2h" ends by itself',
  "backtest --payments": "payments come with the past of a data directory: --data DIR names a copy of one",
  "backtest --settles": "payments take as long as the median of the real ones",
  "backtest --transfers-per-epoch": "transfers are limited as the network limits them; a test file sets another limit",
  "backtest --epoch": "transfers are limited as the network limits them; a test file sets another limit",
}

/** Removed commands, each with its replacement. */
const removed: Readonly<Record<string, string>> = {
  object: 'weaker terms halt a start at once now; "halt" stops terms that "terms accept" accepted',
}

/** Describes a wrong call in one line. */
const wrongCallText = (commandPath: ReadonlyArray<string>, error: Error): string => {
  const command = Predicate.isTagged(error, "UnknownSubcommand") ? String(Reflect.get(error, "subcommand")) : ""
  if (Object.hasOwn(removed, command)) return `${command} is gone; ${removed[command]}`
  const option = Predicate.isTagged(error, "UnrecognizedOption") ? (error as { readonly option?: string }).option : ""
  const other = elsewhere[`${commandPath.at(-1)} ${option}`]
  if (other !== undefined) return `Unrecognized flag: ${option}; ${other}`
  const path = commandPath.slice(1).join(" ")
  const parts = partsOf(path).map(([name]) => name.slice(path.length + 1))
  if (command !== "" && parts.length > 0 && isEmpty(Reflect.get(error, "suggestions")))
    return `"${path}" is followed by one of ${parts.join(", ")}; "${command}" is none of them`
  const [first = "", ...near] = error.message
    .replace(/(Expected: )?Schema validation failed: /, "")
    .replace("a string representing a finite number", "a number")
    .split(/\n\s*/)
  const meant = near.filter((line) => /^--?[a-z]{2}|^[a-z]/.test(line))
  return meant.length === 0 ? first : `${first}; did you mean ${meant.join(" or ")}?`
}

/** Examples of a group's commands; none for a command that does something by itself. */
const partsOf = (path: string) =>
  path === "" || Object.hasOwn(examples, path)
    ? []
    : Object.entries(examples).filter(([name]) => name.startsWith(`${path} `))

/** Effect's other global flags: a log level, which the treasury file sets, and questions for every flag. */
const hidden: ReadonlySet<string> = new Set(["log-level", "wizard"])

const helpText = ({ commandPath, helpDoc }: CliOutput.Presenter.Help): string => {
  const path = commandPath.slice(1).join(" ")
  const own = examples[path]
  const shown = own === undefined ? partsOf(path).map(([, example]) => example) : [own]
  const isBoth = own !== undefined && helpDoc.subcommands !== undefined
  const plain = helpDoc.usage.replace("<subcommand> ", "")
  const parts = `${commandPath.join(" ")} <subcommand> [flags]`
  return CliOutput.defaultFormatter({ colors: false, globalFlags: "none" })
    .formatHelpDoc({
      ...helpDoc,
      usage: isBoth ? `${plain}\n  ${parts}` : helpDoc.usage,
      ...(helpDoc.globalFlags && { globalFlags: helpDoc.globalFlags.filter(({ name }) => !hidden.has(name)) }),
      examples: shown.map(([typed, description]) => ({ command: `cofferer ${typed}`, description })),
    })
    .replace(/\n+EXAMPLES\n/, "\n\nEXAMPLES\n")
}

/** Requested help is a result; a wrong call prints one line on standard error. */
const presenter = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag === "Help") return printText(helpText(event))
    if (event._tag === "Version") return CliOutput.defaultPresenter.present(event)
    // Behind an unknown command every flag is unknown too.
    const unknown = event.errors.filter(Predicate.isTagged("UnknownSubcommand"))
    const causes = unknown.length > 0 ? unknown : event.errors
    const errors = causes.map((error) => `cofferer: ${wrongCallText(event.commandPath, error)}`)
    return Console.error([...errors, `see: ${event.commandPath.join(" ")} --help`].join("\n"))
  },
})

/** Runs the command line. Every failure is one message on standard error and the exit code of its kind. */
export const commandLine = (args: ReadonlyArray<string>) =>
  Console.consoleWith((plain) =>
    Effect.promise(() => loadCommands(args)).pipe(
      Effect.flatMap((root) => Command.runWith(root, { version })(args)),
      Effect.provide(presenter),
      Effect.tapError((error) => (isUsage(error) ? Effect.void : printError(errorText(error)))),
      Effect.tapDefect((defect) => Console.error(`cofferer: ${messageOf(defect)}`)),
      Effect.provideService(Console.Console, visibleConsole(plain)),
      Effect.provideService(CommandFlags, { place: treasuryFlagsOf(args), hasOperators: false }),
    ),
  )

/** Commands that run until they are stopped. */
const serving: ReadonlySet<string> = new Set(["run", "sandbox"])

const isUsage = (error: unknown): boolean => Predicate.isTagged(error, "ShowHelp")

/** Problems of a file begin with their places, so that editors can jump to them. */
const errorText = (error: unknown): string =>
  Predicate.isTagged(error, "ConfigError") ? messageOf(error) : `cofferer: ${messageOf(error)}`

const messageOf = (error: unknown): string =>
  error instanceof Error
    ? error.message
    : Predicate.hasProperty(error, "message")
      ? String(error.message)
      : String(error)

/** Exit code: the failure's, 2 for a wrong call, 0 for `serving` commands that a signal stops. */
export const exitCodeOf = (
  exit: Exit.Exit<unknown, unknown>,
  [command = "run"]: ReadonlyArray<string> = [],
): number => {
  if (Exit.isSuccess(exit)) return exitCodes.ok
  // A command that is stopped before its answer must not report success.
  if (Cause.hasInterruptsOnly(exit.cause)) return serving.has(command) ? exitCodes.ok : exitCodes.failure
  const error = Cause.squash(exit.cause)
  if (isUsage(error))
    return Predicate.hasProperty(error, "errors") && isEmpty(error.errors) ? exitCodes.ok : exitCodes.usage
  if (Predicate.hasProperty(error, Runtime.errorExitCode)) return Number(error[Runtime.errorExitCode])
  return exitCodes.failure
}

const isEmpty = (errors: unknown): boolean => Array.isArray(errors) && errors.length === 0

/** One example for the help of each command: arguments, and their effect. */
export const examples: Readonly<Record<string, readonly [typed: string, use: string]>> = {
  init: [
    "init treasury.yaml --gateway http://127.0.0.1:3008 --asset USDT --below 10_000 --target 25_000",
    "Write a first treasury without questions",
  ],
  run: ["run treasury.yaml", "Start the daemon"],
  doctor: ["doctor treasury.yaml", "Find faults of the host before the first start"],
  check: ["check treasury.yaml", "Check a file before it is put in force"],
  status: ["status --fail", "Exit 8 unless the treasury is healthy"],
  explain: ["explain keep-hot-funded", "Show why this rule pays nothing now"],
  plan: ["plan", "Show what would be paid now"],
  intents: ["intents --limit 20", "List the newest payments"],
  "intents show": ["intents show r44f", "Show one payment with its attempts and journal"],
  "intents resolve": [
    'intents resolve r44f --never-executed --reason "not on the ledger"',
    "Record that a payment never executed",
  ],
  "intents reject": ['intents reject r44f --reason "wrong account"', "Refuse a payment that waits"],
  "intents cancel": ['intents cancel r44f --reason "paid by hand"', "Stop a payment that is not signed"],
  "intents abandon": ['intents abandon r44f --reason "not needed"', "End a payment instead of signing it again"],
  approve: ["approve r44f --key secrets/ana", "Approve a payment with an operator's key"],
  "approve sign": ["approve sign --key secrets/ana", "Sign the text on standard input, on another machine"],
  "approve terms": ["approve terms 9c1f04e2 --key secrets/ana", "Approve a policy that permits more"],
  reject: ['reject r44f --reason "wrong account"', "Refuse a payment that waits"],
  "keys new": ["keys new secrets/reserve", "Make the key of a party that pays"],
  "keys show": ["keys show secrets/reserve", "Print the public key of a key file"],
  "keys list": ["keys list treasury.yaml", "List the public keys of parties and operators"],
  "keys operator new": ["keys operator new secrets/ana", "Make an operator's key"],
  pause: ['pause --scope rule:keep-hot-funded --for 2h --reason "migration"', "Stop one rule for two hours"],
  halt: ['halt --reason "unknown payment"', "Stop all signing"],
  resume: ['resume --reason "the payment was ours"', "End halts, and a pause of everything"],
  reload: ['reload --reason "lower limit"', "Put the changed file in force"],
  "terms accept": ['terms accept 9c1f04e2 --reason "reviewed"', "Accept the terms that halted the start"],
  adopt: ['adopt --reason "made by the old system"', "Acknowledge transfers that another system signed"],
  recover: ['recover --reason "restored from Monday"', "Import payments after a backup was restored"],
  migrate: ["migrate --to postgres:secrets/postgres", "Move a treasury's rows from SQLite to PostgreSQL"],
  backfill: ["backfill --since 7d", "Read the balance changes of the last week"],
  reconcile: ["reconcile", "Compare balances and payments with the gateway"],
  submit: ["submit payment.yaml", "Make the payment that a file describes"],
  test: ["test tests.yaml", "Run the tests of the rules"],
  backtest: ["backtest --from 2026-11-01 --chart past.svg", "Replay this month with a chart"],
  verify: ["verify", "Check the whole journal"],
  export: ["export --what payments --from 2026-11-01", "Print the payments of this month as CSV"],
  receipt: ["receipt r44f --file r44f.json", "Write one payment with its proof"],
  "receipt verify": ["receipt verify r44f.json", "Verify a receipt without a network"],
  "alerts list": ["alerts list", "List the firing alerts"],
  "alerts show": ["alerts show 3", "Show one alert with its deliveries"],
  "alerts ack": ['alerts ack 3 4 --reason "looking into it"', "Stop the repeats of two alerts"],
  "alerts silence": [
    'alerts silence --kind health --subject "gateway down" --for 2h --reason "upgrade"',
    "For two hours, send no alert about gateways that are down",
  ],
  "alerts resend": ["alerts resend 3", "Send one alert again"],
  "alerts test": ["alerts test oncall", "Send a test alert to one receiver"],
  assets: ["assets --pin", "Print the assets section for the treasury file"],
  balances: ["balances --start 2026-11-21T10:00:00Z", "List the balance changes since then"],
  "balances rebase": ['balances rebase hot USDT --reason "mismatch"', "Read an account's history again"],
  sandbox: ["sandbox config/sandbox.yaml", "Run the play-money network alone"],
  "sandbox fault list": ["sandbox fault list", "List the kinds of faults"],
  "sandbox fault arm": ["sandbox fault arm accept_drop_answer --count 1", "Lose the next answer"],
  "sandbox fault clear": ["sandbox fault clear", "End all faults"],
  version: ["version", "Print the version"],
}
