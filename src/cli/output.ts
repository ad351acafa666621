import { Console, type Effect } from "effect"
import { Flag } from "effect/cli"

/** --output: text for people, json for programs. Results go to standard output, everything else to standard error. */
export const outputFlag = Flag.Literals("output", ["text", "json"]).pipe(
  Flag.withAlias("o"),
  Flag.withDescription("text for people, json for programs"),
  Flag.withDefault("text" as const),
)
export type Output = "text" | "json"

const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? value.toString() : value)

/** JSON with 64-bit and larger integers as strings. */
export const toJson = (value: unknown): string => JSON.stringify(value, plain, 2)

/** Prints a result in the form that was asked for. */
export const printResult = (output: Output, value: unknown, text: () => string): Effect.Effect<void> =>
  Console.log(output === "json" ? toJson(value) : text())

/** Columns padded to the widest cell; two spaces between. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
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
