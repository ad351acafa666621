import { Cause, Context, Effect, Layer, Logger, type LogLevel, References } from "effect"
import { type DestinationStream, type Level, pino } from "pino"
import { plainAmount } from "../domain/Amount.ts"
import { shortId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { hasElapsed } from "../domain/Time.ts"
import { plural, several, visible, visibleJson, visibleLines, wrapped } from "../domain/text.ts"
import {
  type LogEventName,
  type LogFieldName,
  type LogFieldsOf,
  type LogFieldValue,
  type LogSeverity,
  logEventForm,
  logEvents,
  logFields,
} from "./logEvents.ts"

/** Flags that commands within printed text need. */
export interface PrintedFlags {
  /** Flags that say which treasury this process works on. */
  readonly place: string
  /** True if the treasury names operators: verbs that end a stop need the key of one. */
  readonly hasOperators: boolean
}

export const CommandFlags = Context.Reference<PrintedFlags>("cofferer/telemetry/CommandFlags", {
  defaultValue: () => ({ place: "", hasOperators: false }),
})

const operatorVerb = /^"cofferer (?:resume|adopt|recover|balances rebase|intents resolve) (?!.*--key)/

/** Adds the flags to each quoted command that takes them and names no treasury yet. */
export const withFlags = (text: string, { place, hasOperators }: PrintedFlags): string =>
  text.replace(
    /"cofferer (?!run |init)(?![^"]* (-c|-d|--config|--data|--treasury)[ =])[^"]+(?=")/g,
    (command) =>
      `${command}${hasOperators && operatorVerb.test(command) ? " --key FILE" : ""}${place === "" ? "" : ` ${place}`}`,
  )

const logBy = { page: Effect.logError, ticket: Effect.logWarning, info: Effect.logInfo, debug: Effect.logDebug }

/** Logs an event of the table. The level follows its severity, or `severity` where each case has its own. */
export const logEvent = <N extends LogEventName>(
  name: N,
  fields: LogFieldsOf<N>,
  {
    severity = logEventForm(name).severity,
    cause,
  }: { readonly severity?: LogSeverity; readonly cause?: Cause.Cause<unknown> } = {},
): Effect.Effect<void> => (cause === undefined ? logBy[severity](name, fields) : logBy[severity](name, fields, cause))

/** A payment as fields of its events. */
export const logPayment = ({ id, payment, decimals }: Pick<Intent, "id" | "payment" | "decimals">) => ({
  intent: id,
  amount: plainAmount(payment.amount, decimals),
  asset: payment.asset,
  from: payment.from,
  to: payment.to,
})

const quietMillis = 60_000
/** Messages remembered: gateways choose part of their text, so there may be any number. */
const rememberedMax = 200

/**
 * Limits equal messages to one a minute: an outage that repeats a message each second hides the others. Returns how
 * often this one was left out before; undefined if it is left out now.
 */
const makeRepeats = () => {
  const known = new Map<string, { at: number; unwritten: number }>()
  return (message: string, fields: Readonly<Record<string, unknown>>, now: number): number | undefined => {
    // A gateway that is behind names another block each second.
    const key = JSON.stringify([message, { ...fields, block: undefined }])
    const last = known.get(key)
    if (last !== undefined && !hasElapsed(last.at, now, quietMillis)) {
      last.unwritten++
      return undefined
    }
    known.delete(key)
    known.set(key, { at: now, unwritten: 0 })
    for (const oldest of known.keys()) {
      if (known.size <= rememberedMax) break
      known.delete(oldest)
    }
    return last?.unwritten ?? 0
  }
}

const levels: Record<LogLevel.LogLevel, Level | undefined> = {
  All: "trace",
  Trace: "trace",
  Debug: "debug",
  Info: "info",
  Warn: "warn",
  Error: "error",
  Fatal: "fatal",
  None: undefined,
}

interface LoggingOptions {
  readonly level: LogLevel.LogLevel
  /** json: one pino line a message. text: lines for a terminal. */
  readonly format: "json" | "text"
  /** Where lines go; default standard output, written at once so that the last line before an exit is not lost. */
  readonly destination?: DestinationStream
  /** 1: standard output, the default; 2: standard error. */
  readonly descriptor?: 1 | 2
  /** Unix milliseconds from which the text format counts its seconds. */
  readonly startedAt: number
  /** Width of the terminal, at which text lines are broken between words; default: they are not broken. */
  readonly columns?: number | undefined
  /** True if text lines have colours; default false. */
  readonly hasColours?: boolean
  /** True if text lines name their treasury; default false. */
  readonly isOfMany?: boolean
}

interface Entry {
  readonly message: string
  readonly fields: Record<string, unknown>
}

/** Second line of defence: secrets are Redacted, and no field should hold one. */
const redact = ["privateKey", "secret", "token", "authorization", "*.privateKey", "*.secret", "*.token"]

/** pino behind Effect's logger; the only logger of the process. */
export const layerLogging = (options: LoggingOptions): Layer.Layer<never> => {
  const destination = options.destination ?? pino.destination({ dest: options.descriptor ?? 1, sync: true })
  // Escapes invisible characters of all fields, however deep.
  const escaping = { write: (line: string) => destination.write(visibleJson(line)) }
  const log = pino(
    {
      base: null,
      level: "trace",
      timestamp: false,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: redact, censor: "***" },
    },
    escaping,
  )
  const repeatsOf = new Map<unknown, ReturnType<typeof makeRepeats>>()
  const logger = Logger.make<unknown, void>((o) => {
    const level = levels[o.logLevel]
    if (level === undefined) return
    const { message, fields } = entryOf(o.message)
    const flags = o.fiber.getRef(CommandFlags)
    for (const [key, value] of Object.entries(fields)) {
      if (typeof value === "string") fields[key] = visible(withFlags(value, flags))
    }
    if (o.cause.reasons.length > 0) fields["cause"] = visibleLines(Cause.pretty(o.cause))
    const annotations = o.fiber.getRef(References.CurrentLogAnnotations)
    if (level === "warn") {
      const { treasury } = annotations
      const repeats = repeatsOf.get(treasury) ?? makeRepeats()
      repeatsOf.set(treasury, repeats)
      const unwritten = repeats(message, fields, o.date.getTime())
      if (unwritten === undefined) return
      if (unwritten > 0) fields["repeated"] = unwritten
    }
    try {
      if (options.format === "text") {
        const owner = options.isOfMany === true ? annotations["treasury"] : undefined
        destination.write(textLine(level, message, fields, o.date, { ...options, owner }))
      } else log[level]({ time: o.date.toISOString(), ...annotations, ...fields }, message)
    } catch {
      // If the log takes no line, as on a full disk, the line is lost; guards and alerts go on.
    }
  })
  return Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, options.level))
}

const entryOf = (message: unknown): Entry => {
  const fields: Record<string, unknown> = {}
  const words: Array<string> = []
  for (const part of Array.isArray(message) ? message : [message]) {
    if (typeof part === "string") words.push(part)
    else if (part instanceof Error) fields["error"] = part.message
    else if (typeof part === "object" && part !== null) Object.assign(fields, part)
    else words.push(String(part))
  }
  return { message: visible(words.join(" ")), fields }
}

const escape = String.fromCharCode(27)
const colours: Partial<Record<Level, number>> = { warn: 33, error: 31, fatal: 31 }

/** Width of the seconds and the word before the sentence. */
const indent = 21
/** In a narrower column each line would be one word. */
const sentenceColumnsMin = 20

/** Pads an id to a column; two spaces follow a longer name. */
const columnOf = (subject: string): string =>
  subject === "" ? "" : subject.length > 7 ? `${subject}  ` : subject.padEnd(8)

/** " 12.1 s  proposed   7k2m    keep-hot-funded: 16,210.00 USDT reserve -> hot", which colour may only decorate. */
const textLine = (
  level: Level,
  message: string,
  fields: Record<string, unknown>,
  date: Date,
  { startedAt, columns, hasColours = false, owner }: LoggingOptions & { readonly owner: unknown },
): string => {
  const seconds = `${((date.getTime() - startedAt) / 1_000).toFixed(1)} s`.padStart(8)
  const { word, subject, sentence } = logText(message, level, fields)
  const colour = hasColours ? colours[level] : undefined
  const paint = (text: string) => (colour === undefined ? text : `${escape}[${colour}m${text}${escape}[0m`)
  const width = columns === undefined ? undefined : Math.max(sentenceColumnsMin, columns - indent)
  const prefix = owner === undefined ? "" : `[${visible(String(owner))}] `
  const [first = "", ...more] = wrapped(`${prefix}${columnOf(subject)}${sentence}`, width)
  const lines = [`${seconds}  ${paint(word.padEnd(10))} ${first}`, ...more.map((line) => " ".repeat(indent) + line)]
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`
}

type Fields = Readonly<Record<string, unknown>>

const grouped = (amount: string): string =>
  amount.replace(/^([+-]?)(\d+)/, (_, sign: string, whole: string) => sign + whole.replace(/\B(?=(\d{3})+$)/g, ","))

type Row<N extends LogFieldName> = LogFieldValue<N> extends ReadonlyArray<infer R> ? R : never

const rowText = {
  balances: ({ party, balance, asset }: Row<"accounts">) => `${party} ${grouped(balance)} ${asset}`,
  bands: ({ account, low, high }: Row<"levels">) => `${account} ${grouped(low)} .. ${grouped(high)}`,
}

const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** A value as people read it: times to the minute, amounts in groups, ids and hashes shortened. */
const shown = (name: string, value: unknown): string => {
  const type = Object.hasOwn(logFields, name) ? logFields[name as LogFieldName].type : "text"
  if (type === "balances" || type === "bands") return (value as ReadonlyArray<never>).map(rowText[type]).join(", ")
  if (type === "flag") return ""
  if (Array.isArray(value)) return several(value.map(String), 4)
  if (typeof value === "number") return String(value)
  if (typeof value !== "string") return visibleJson(JSON.stringify(value) ?? "")
  if (type === "amount") return grouped(value)
  if (type === "word") return value.replaceAll("_", " ")
  if (type === "id") return shortId(value).slice(0, 4)
  if (instant.test(value)) return `${value.slice(0, 16).replace("T", " ")} UTC`
  return type === "hash" && value.length > 16 ? `${value.slice(0, 6)}..${value.slice(-2)}` : value
}

/** Fills {name} and {name:noun}; undefined where a field is missing. */
const filled = (part: string, fields: Fields): string | undefined => {
  let isWhole = true
  const text = part.replace(/\{(\w+)(?::([^}]+))?\}/g, (_, name: string, noun: string | undefined) => {
    const value = fields[name]
    if (value === undefined) {
      isWhole = false
      return ""
    }
    if (noun === undefined) return shown(name, value)
    return value === 0 ? `no ${noun}s` : plural(Number(value), noun)
  })
  return isWhole ? text : undefined
}

/** Fills a template; a part in [] is left out where a field in it is missing. */
const rendered = (template: string, fields: Fields): string =>
  [...template.matchAll(/\[([^\]]*)\]|[^[\]]+/g)]
    .map(([whole, optional]) => filled(optional ?? whole, fields) ?? (optional === undefined ? whole : ""))
    .join("")

/** A line for people, without its time: the word, the subject and the sentence. */
const logText = (message: string, level: string, fields: Fields) => {
  const form = Object.hasOwn(logEvents, message) ? logEventForm(message as LogEventName) : undefined
  const word = form?.word === undefined ? level : rendered(form.word, fields)
  const subject = form?.subject === undefined ? "" : rendered(form.subject, fields)
  const { repeated, ...own } = fields
  const again = repeated === undefined ? "" : `  (repeated ${plural(Number(repeated), "time")})`
  const sentence =
    form?.line === undefined
      ? [message, ...Object.entries(own).map(([name, value]) => `${visible(name)}=${shown(name, value)}`)].join("  ")
      : rendered(form.line, fields)
  return { word, subject, sentence: sentence + again }
}
