import { Effect } from "effect"

/** What happened, for people: one line a change. */
interface Said {
  /** What it is about: a rule, an intent, an asset. */
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
