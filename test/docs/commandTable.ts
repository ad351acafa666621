import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Option } from "effect"
import { CliOutput, Command } from "effect/cli"
import type { HelpDoc } from "effect/cli/HelpDoc"
import { commandNames, loadCommands } from "../../src/cli/root.ts"

export interface CommandHelp {
  /** "intents resolve" */
  readonly path: string
  readonly help: HelpDoc
}

/** The help of each command and of each command below it, in the order of the program's own help. */
export const commandHelp = async (): Promise<ReadonlyArray<CommandHelp>> => {
  const root = await loadCommands([])
  const look = async (path: ReadonlyArray<string>): Promise<ReadonlyArray<CommandHelp>> => {
    const shown: Array<HelpDoc> = []
    const capture = CliOutput.layerPresenter({
      present: (event) => Effect.sync(() => (event._tag === "Help" ? shown.push(event.helpDoc) : undefined)),
    })
    await Command.runWith(root, { version: "0" })([...path, "--help"]).pipe(
      Effect.provide([capture, NodeServices.layer]),
      Effect.runPromise,
    )
    const found = shown.map((help) => ({ path: path.join(" "), help }))
    const names = shown.flatMap((help) => (help.subcommands ?? []).flatMap(({ commands }) => commands))
    const inner: Array<CommandHelp> = []
    for (const { name } of names) inner.push(...(await look([...path, name])))
    return [...found, ...inner]
  }
  const all: Array<CommandHelp> = []
  for (const name of commandNames) all.push(...(await look([name])))
  return all
}

const choicesMax = 120

/** A text as a cell of a table; long lists of choices are left to --help. */
const cell = (text: string): string =>
  text
    .replace(/ \(choices: .*\)$/, (choices) => (choices.length > choicesMax ? " (choices: see --help)" : choices))
    .replaceAll("|", "\\|")
    .replaceAll("\n", " ")

/** Whether the command does something itself, and does not only hold others. */
const doesSomething = ({ help }: CommandHelp): boolean => help.flags.length > 0 || (help.subcommands ?? []).length === 0

const flagText = ({ name, type }: HelpDoc["flags"][number]): string =>
  type === "boolean" ? `--${name}` : `--${name} ${type === "choice" ? "CHOICE" : type.toUpperCase()}`

const lines = (head: string, rows: ReadonlyArray<string>): string => {
  const columns = head.split("|").length - 2
  return [head, `|${"---|".repeat(columns)}`, ...rows, ""].join("\n")
}

/** Flags that at least this many commands have are listed once. */
const commonMin = 5

const flagUse = (commands: ReadonlyArray<CommandHelp>): ReadonlyMap<string, number> => {
  const uses = new Map<string, number>()
  for (const { help } of commands) {
    for (const flag of help.flags) uses.set(flag.name, (uses.get(flag.name) ?? 0) + 1)
  }
  return uses
}

/** Each command with its arguments and what it does. */
export const commandTable = (commands: ReadonlyArray<CommandHelp>): string =>
  lines(
    "| command | what it does |",
    commands.filter(doesSomething).map(({ path, help }) => {
      const args = (help.args ?? []).map(({ name, type, required }) => {
        const word = type === "integer" ? "NUMBER" : name.toUpperCase()
        return required ? word : `[${word}]`
      })
      return `| \`${[path, ...args].join(" ")}\` | ${cell(help.description)} |`
    }),
  )

/** Flags of one or few commands. */
export const ownFlagTable = (commands: ReadonlyArray<CommandHelp>): string => {
  const uses = flagUse(commands)
  return lines(
    "| command | flag | meaning |",
    commands.flatMap(({ path, help }) =>
      help.flags
        .filter(({ name }) => (uses.get(name) ?? 0) < commonMin)
        .map(
          (flag) => `| \`${path}\` | \`${flagText(flag)}\` | ${cell(Option.getOrElse(flag.description, () => ""))} |`,
        ),
    ),
  )
}

/** Flags that many commands share. */
export const commonFlagTable = (commands: ReadonlyArray<CommandHelp>): string => {
  const uses = flagUse(commands)
  const common = new Map(
    commands
      .flatMap(({ help }) => help.flags)
      .filter(({ name }) => (uses.get(name) ?? 0) >= commonMin)
      .map((flag) => [flag.name, flag] as const),
  )
  return lines(
    "| flag | short | meaning |",
    [...common.values()].map((flag) => {
      const short = flag.aliases.map((alias) => `\`${alias}\``).join(", ")
      return `| \`${flagText(flag)}\` | ${short} | ${cell(Option.getOrElse(flag.description, () => ""))} |`
    }),
  )
}
