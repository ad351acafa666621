import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Predicate } from "effect"
import { CliOutput, Command } from "effect/cli"
import type { HelpDoc } from "effect/cli/HelpDoc"
import { commandNames, loadCommands } from "../../src/cli/root.ts"
import type { Page } from "./Markdown.ts"

/** A call of the command line that a page shows, as the words behind its name. */
export interface Call {
  readonly words: ReadonlyArray<string>
  /** Whether it is whole: what stands between backticks may leave out what a call must have. */
  readonly isWhole: boolean
  readonly line: number
}

/** What stands for a value in a page, and a value of that kind. */
const values: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(TX)?HASH$/, "ab".repeat(32)],
  [/^[0-9a-f]{4}\.\.\.$/, "ab".repeat(64)],
  [/^HEIGHT$/, "1000"],
  [/^NUMBER$/, "1"],
  [/^KIND$/, "delay"],
]

const valueFor = (word: string): string => values.find(([pattern]) => pattern.test(word))?.[1] ?? word

/** Words of a line of a shell, as far as pages write such lines: a comment or a redirection ends it. */
const wordsOf = (line: string): ReadonlyArray<string> => {
  const [call = ""] = line.trim().split(/\s(?:#|[<>|]|&&)\s/)
  const found = [...call.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
  return found.map(([, double, single, bare]) => valueFor(double ?? single ?? bare ?? ""))
}

/** Each way of reading `a|b ID`. */
const ways = (span: string): ReadonlyArray<string> => {
  const choice = /[\w-]+(?:\|[\w-]+)+/.exec(span)?.[0]
  return choice === undefined ? [span] : choice.split("|").flatMap((one) => ways(span.replace(choice, one)))
}

const program = /^(npm run -s cofferer -- |(src\/)?cofferer(\.sh)? )/

/** The lines of code that a page shows, without those that a parser of their language reads. */
export const linesOf = ({ blocks }: Pick<Page, "blocks">) =>
  blocks
    .filter(({ language }) => !["yaml", "ts"].includes(language))
    .flatMap(({ language, text, line: first }) =>
      text.split("\n").map((typed, i) => ({ text: typed.replace(/^\$ /, ""), line: first + i, language })),
    )

/** Whether a line is typed, and not printed. */
export const isTyped = (line: string): boolean => /^(npm|docker|kubectl|mkdir|alias) /.test(line) || program.test(line)

/** The calls of Cofferer in the code of a page, and between its backticks. */
export const callsOf = (page: Page): ReadonlyArray<Call> => [
  ...linesOf(page).flatMap(({ text, line }) =>
    program.test(text) ? [{ words: wordsOf(text.replace(program, "")), isWhole: true, line }] : [],
  ),
  ...page.spans.flatMap(({ text, line }) => {
    const span = text.replaceAll("\\|", "|")
    const typed = span.replace(program, "")
    const isCall = typed !== span || commandNames.includes(typed.split(" ")[0] ?? "")
    return isCall && typed !== "COMMAND"
      ? ways(typed.replaceAll(/[[\]]/g, "")).map((way) => ({ words: wordsOf(way), isWhole: false, line }))
      : []
  }),
]

const silent = CliOutput.layerPresenter({ present: () => Effect.void })

/** What the command line finds wrong with a call. Nothing of what it asks for is done. */
export const problemsOf = ({ words, isWhole }: Pick<Call, "words" | "isWhole">): Promise<ReadonlyArray<string>> =>
  Effect.promise(() => loadCommands(words)).pipe(
    Effect.map((root) => Command.withHandler(root, () => Effect.void)),
    Effect.flatMap((root) => Command.runWith(root, { version: "0", renderErrors: false })(words)),
    Effect.as([]),
    Effect.catch((error) => {
      const errors = Predicate.isTagged(error, "ShowHelp") && "errors" in error ? error.errors : [error]
      const isLeftOut = ({ _tag }: { readonly _tag: string }) => _tag === "MissingOption" || _tag === "MissingArgument"
      return Effect.succeed(errors.filter((one) => isWhole || !isLeftOut(one)).map(({ message }) => message))
    }),
    Effect.provide([silent, NodeServices.layer]),
    Effect.provideService(Console.Console, { ...console, log: () => undefined }),
    Effect.runPromise,
  )

/** The flags of each command by its path, those included that have subcommands and do something themselves. */
export const flagsOfCommands = async (): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
  const found = new Map<string, ReadonlySet<string>>()
  const root = await loadCommands([])
  const look = async (path: ReadonlyArray<string>): Promise<void> => {
    let help: HelpDoc | undefined
    const capture = CliOutput.layerPresenter({
      present: (event) =>
        Effect.sync(() => {
          if (event._tag === "Help") help = event.helpDoc
        }),
    })
    await Command.runWith(root, { version: "0" })([...path, "--help"]).pipe(
      Effect.provide([capture, NodeServices.layer]),
      Effect.runPromise,
    )
    const inner = (help?.subcommands ?? []).flatMap(({ commands }) => commands.map(({ name }) => name))
    const flags = (help?.flags ?? []).map(({ name }) => `--${name}`)
    // What has subcommands and no flags does nothing itself.
    if (inner.length === 0 || flags.length > 0) found.set(path.join(" "), new Set(flags))
    for (const name of inner) await look([...path, name])
  }
  for (const name of commandNames) await look([name])
  return found
}
