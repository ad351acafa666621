import type { LogFieldName } from "./logFields.ts"

/** Severity of an event: a page needs somebody now, a ticket on the next working day. It decides the level. */
export type LogSeverity = "page" | "ticket" | "info" | "debug"

/**
 * An event. Its key in the table is `msg` of its line. `word`, `subject` and `line` are its form on a terminal: {name}
 * is a field, {name:noun} a count with its noun, and a part in [] is left out where a field in it is missing.
 */
export interface LogEvent {
  readonly severity: LogSeverity
  readonly needs: ReadonlyArray<LogFieldName>
  readonly may?: ReadonlyArray<LogFieldName>
  readonly word?: string
  readonly subject?: string
  readonly line?: string
}

export const info = <const E extends Omit<LogEvent, "severity">>(event: E) => ({ severity: "info", ...event }) as const
export const ticket = <const E extends Omit<LogEvent, "severity">>(event: E) =>
  ({ severity: "ticket", ...event }) as const
export const page = <const E extends Omit<LogEvent, "severity">>(event: E) => ({ severity: "page", ...event }) as const
