import type { Writable } from "node:stream"
import { Clock, Console, Effect, Predicate, Runtime, Schedule, Schema } from "effect"
import { Flag } from "effect/cli"
import { ProcessContext, terminalColumns } from "../../config/Environment.ts"
import { fitted, jsonText, shellWord, visible, visibleJson, visibleLines } from "../../domain/text.ts"
import type { GatewayError } from "../../gateway/GatewayError.ts"
import { CommandFlags, withFlags } from "../../telemetry/Logging.ts"

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

/** A command failed: one line on standard error, and the exit code. */
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

/** --output: text for people, json for programs. Results go to standard output, everything else to standard error. */
export const outputFlag = Flag.Literals("output", ["text", "json"]).pipe(
  Flag.withAlias("o"),
  Flag.withDescription("text for people, json for programs; default text"),
  Flag.withDefault("text" as const),
)
export type Output = "text" | "json"

/** JSON with 64-bit and larger integers as strings. */
export const toJson = (value: unknown): string => visibleJson(jsonText(value, 2))

export const printResult = (output: Output, value: unknown, text: () => string): Effect.Effect<void> =>
  output === "json" ? Console.log(toJson(value)) : printText(text())

/** Flags of a call that say which treasury it is about, as typed. */
export const treasuryFlagsOf = (args: ReadonlyArray<string>): string =>
  args
    .flatMap((arg, i) => {
      if (/^--(config|data|treasury)=/.test(arg)) return [arg]
      return /^(-c|-d|--config|--data|--treasury)$/.test(arg) ? [`${arg} ${shellWord(args[i + 1] ?? "")}`] : []
    })
    .join(" ")

const fittedText = (text: string, columns: number | undefined) =>
  Effect.map(CommandFlags, (flags) => inColumns(withFlags(text, flags), columns))

/** Prints lines for people, as wide as their terminal. */
export const printText = Effect.fnUntraced(function* (text: string) {
  const { output } = yield* ProcessContext
  yield* Console.log(yield* fittedText(text, terminalColumns(output)))
})

/** The same on standard error. */
export const printError = Effect.fnUntraced(function* (text: string) {
  const { progress } = yield* ProcessContext
  yield* Console.error(yield* fittedText(text, progress && terminalColumns(progress)))
})

/** Lines broken to a terminal's width; unchanged if it is undefined. */
const inColumns = (text: string, columns: number | undefined): string =>
  text
    .split("\n")
    .map((line) => (line.startsWith("  cofferer ") ? continued(line, columns) : fitted(line, columns)))
    .join("\n")

/** A command on its own lines, continued before a flag, so that it can be copied into a shell. */
const continued = (line: string, columns: number | undefined): string => {
  if (columns === undefined || line.length <= columns) return line
  return line.split(/ (?=--)/).reduce((text, part) => {
    const isFull = text.length - text.lastIndexOf("\n") + part.length + 2 > columns
    return `${text}${isFull ? " \\\n     " : ""} ${part}`
  })
}

/** Writes text unchanged, and waits until its reader took it. A reader that closes the pipe ends the command. */
export const writeOut = (text: string): Effect.Effect<void, CliFailure> =>
  Effect.flatMap(ProcessContext, ({ output }) =>
    Effect.callback((resume) => {
      const failed = (error: NodeJS.ErrnoException) =>
        resume(error.code === "EPIPE" ? Effect.interrupt : Effect.fail(failWith("failure", error.message)))
      output.once("error", failed)
      output.write(text, (error) => {
        if (error !== null && error !== undefined) return
        output.off("error", failed)
        resume(Effect.void)
      })
    }),
  )

/** Columns padded to the widest cell; two spaces between. A line break in a cell does not begin a row. */
export const table = (cells: ReadonlyArray<ReadonlyArray<string>>): string => {
  const rows = cells.map((row) => row.map(visible))
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? "").length)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}

/** Lines beside a label in a column of its own. */
export const labelled = (label: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line, i) => `${(i === 0 ? label : "").padEnd(9)} ${line}`)

const visibleValues = (values: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  values.map((value) => (typeof value === "string" ? visibleLines(value) : value))

/** Console that shows invisible characters: texts of gateways, files and people reach a terminal through it. */
export const visibleConsole = (console: Console.Console): Console.Console => ({
  ...console,
  log: (...values) => console.log(...visibleValues(values)),
  error: (...values) => console.error(...visibleValues(values)),
  warn: (...values) => console.warn(...visibleValues(values)),
  info: (...values) => console.info(...visibleValues(values)),
})

const barWidth = 30
const clearLine = `\r${String.fromCharCode(27)}[K`

/** Progress bar on standard error; without a terminal it draws nothing. */
export const progressBar = (terminal: Writable | undefined, title: string) => {
  let drawn = -1
  return {
    /** Draws the completed share, 0 to 1, if its percentage changed. */
    show: (share: number): void => {
      const percent = Math.floor(Math.min(1, Math.max(0, share)) * 100)
      if (percent === drawn) return
      drawn = percent
      const done = Math.round((percent / 100) * barWidth)
      terminal?.write(`${clearLine}${title} [${"#".repeat(done)}${" ".repeat(barWidth - done)}] ${percent} %`)
    },
    end: (): void => {
      if (drawn >= 0) terminal?.write(clearLine)
    },
  }
}

/** Runs long work of unknown length, and shows its seconds on a terminal's standard error. */
export const withSeconds =
  (title: string) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.gen(function* () {
      const { progress: terminal } = yield* ProcessContext
      if (terminal === undefined) return yield* work
      const start = yield* Clock.currentTimeMillis
      const show = Effect.map(Clock.currentTimeMillis, (now) =>
        terminal.write(`${clearLine}${title} ${Math.round((now - start) / 1_000)} s`),
      )
      const shown = Effect.andThen(Effect.repeat(show, Schedule.spaced("1 second")), Effect.never)
      return yield* Effect.raceFirst(work, shown).pipe(Effect.ensuring(Effect.sync(() => terminal.write(clearLine))))
    })
