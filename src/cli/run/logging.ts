import { Effect, Layer, type LogLevel, Option } from "effect"
import { Flag } from "effect/cli"
import { ProcessContext, terminalColumns } from "../../config/Environment.ts"
import { version } from "../../config/files.ts"
import type { Mode, Treasury } from "../../config/Treasury.ts"
import * as Logging from "../../telemetry/Logging.ts"
import { Metrics } from "../../telemetry/Metrics.ts"
import type { Setup } from "../common/setup.ts"

/** Form of the daemon's lines: text on a terminal, JSON elsewhere, or the requested one. */
export const linesFlag = Flag.Literals("output", ["text", "json"]).pipe(
  Flag.withAlias("o"),
  Flag.withDescription("Form of the log lines; default text on a terminal, json elsewhere"),
  Flag.optional,
)

const levels: Record<string, LogLevel.LogLevel> = { debug: "Debug", info: "Info", warning: "Warn", error: "Error" }

export const loggingLayer = (
  setup: {
    readonly treasury: Pick<Treasury, "logLevel">
    readonly environment: Pick<Setup["environment"], "logLevel">
  },
  output: Option.Option<"text" | "json">,
  startedAt: number,
  {
    descriptor = 1,
    isOfMany = false,
  }: {
    /** 1: standard output; 2: standard error, for commands whose result is on the other. */
    readonly descriptor?: 1 | 2
    readonly isOfMany?: boolean
  } = {},
) =>
  Layer.unwrap(
    Effect.map(ProcessContext, (context) => {
      const columns = terminalColumns(context.output)
      return Logging.layerLogging({
        level: levels[setup.environment.logLevel ?? setup.treasury.logLevel] ?? "Info",
        format: Option.getOrElse(output, () => (columns === undefined ? "json" : "text")),
        startedAt,
        isOfMany,
        columns,
        hasColours: columns !== undefined && (context.env["NO_COLOR"] ?? "") === "",
        ...(descriptor === 1 && context.output !== process.stdout ? { destination: context.output } : { descriptor }),
      })
    }),
  )

/** Metrics for the time of one command: nobody reads them. */
export const layerMetrics = (
  {
    name,
    network,
  }: Pick<Treasury, "name"> & { readonly network: { readonly gateways: ReadonlyArray<{ readonly name: string }> } },
  mode: Mode = "observe",
) =>
  Metrics.layer({
    treasury: name,
    mode,
    gateways: network.gateways.map((gateway) => gateway.name),
    rules: [],
    receivers: [],
    version,
    revision: "",
  })
