import { Cause, Effect, Layer, Logger, type LogLevel, References } from "effect"
import { type DestinationStream, type Level, pino } from "pino"
import { hasElapsed } from "../domain/Time.ts"
import { visible, visibleJson, visibleLines } from "../domain/text.ts"

/** A change for people to read: one log line each. */
interface Said {
  /** Subject of the change: a rule, an intent, an asset. */
  readonly subject?: string
  /** The sentence behind the word. */
  readonly detail: string
  /** More, for machines. */
  readonly [field: string]: string | number | boolean | undefined
}

/** How urgent an event is: a page needs somebody now, a ticket on the next working day. */
type Severity = "page" | "ticket" | "info"

const logBy = { page: Effect.logError, ticket: Effect.logWarning, info: Effect.logInfo }

/**
 * Logs a change in the operator's words: `word` is static ("confirmed"), the rest are fields. On a terminal it is a
 * line of the story, elsewhere a JSON line with the same words. A page is an error, a ticket a warning.
 */
export const say = (word: string, said: Said, severity: Severity = "info"): Effect.Effect<void> =>
  logBy[severity](word, said)

const quietMillis = 60_000
/** Others choose some of the words: what is remembered of them is bounded. */
const rememberedMax = 200

/**
 * Decides if a message is written, and counts its unwritten repeats: the same one is written once a minute. An outage
 * repeats a message each second, which hides the others.
 */
const makeRepeats = () => {
  const known = new Map<string, { at: number; unwritten: number }>()
  return (message: string, fields: Readonly<Record<string, unknown>>, now: number): number | undefined => {
    const key = JSON.stringify([message, fields])
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
}

interface Entry {
  readonly message: string
  readonly fields: Record<string, unknown>
}

/** Secrets never come this far: they are Redacted, and pino masks what still looks like one. */
const redact = ["privateKey", "secret", "token", "authorization", "*.privateKey", "*.secret", "*.token"]

/** pino behind Effect's logger; the only logger of the process. */
export const layer = (options: LoggingOptions): Layer.Layer<never> => {
  const destination = options.destination ?? pino.destination({ dest: options.descriptor ?? 1, sync: true })
  // Whatever stands in a line, and however deep: it is seen as it is.
  const seen = { write: (line: string) => destination.write(visibleJson(line)) }
  const log = pino(
    { base: null, level: "trace", timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: redact, censor: "***" } },
    seen,
  )
  const repeats = makeRepeats()
  const logger = Logger.make<unknown, void>((o) => {
    const level = levels[o.logLevel]
    if (level === undefined) return
    const { message, fields } = entryOf(o.message)
    Object.assign(fields, o.fiber.getRef(References.CurrentLogAnnotations))
    for (const [key, value] of Object.entries(fields)) if (typeof value === "string") fields[key] = visible(value)
    if (o.cause.reasons.length > 0) fields["cause"] = visibleLines(Cause.pretty(o.cause))
    if (level === "warn") {
      const unwritten = repeats(message, fields, o.date.getTime())
      if (unwritten === undefined) return
      if (unwritten > 0) fields["repeated"] = unwritten
    }
    try {
      if (options.format === "text") destination.write(textLine(level, message, fields, o.date, options.startedAt))
      else log[level](fields, message)
    } catch {
      // A log that takes no line, as on a full disk, stops neither money's guards nor alerts: the line is lost.
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
const colours: Record<string, number> = { warn: 33, error: 31, fatal: 31, ALERT: 35, confirmed: 32, unknown: 33 }

/** Ids stand in a column; a longer name is set off from what follows. */
const columnOf = (subject: string): string => (subject.length > 7 ? `${subject}  ` : subject.padEnd(8))

/** " 12.1 s  proposed   7k2m    keep-hot-funded: 16,210.00 USDT reserve -> hot". Colour only adds. */
const textLine = (
  level: Level,
  message: string,
  fields: Record<string, unknown>,
  date: Date,
  startedAt: number,
): string => {
  const seconds = `${((date.getTime() - startedAt) / 1_000).toFixed(1)} s`.padStart(8)
  const colour =
    process.stdout.isTTY && process.env["NO_COLOR"] === undefined ? (colours[message] ?? colours[level]) : undefined
  const paint = (text: string) => (colour === undefined ? text : `${escape}[${colour}m${text}${escape}[0m`)
  if (level === "info" && typeof fields["detail"] === "string") {
    const subject = typeof fields["subject"] === "string" ? columnOf(fields["subject"]) : ""
    return `${seconds}  ${paint(message.padEnd(10))} ${subject}${fields["detail"]}\n`
  }
  const shown = Object.entries(fields).map(
    ([key, value]) =>
      `${visible(key)}=${typeof value === "string" ? value : visibleJson(JSON.stringify(value) ?? "undefined")}`,
  )
  return `${seconds}  ${paint(level.padEnd(10))} ${message}${shown.length > 0 ? `  ${shown.join(" ")}` : ""}\n`
}
