import { Effect } from "effect"

/** What happened, for people: one line a change. */
export interface Said {
  /** What it is about: a rule, an intent, an asset. */
  readonly subject?: string
  /** The sentence behind the word. */
  readonly detail: string
  /** More, for machines. */
  readonly [field: string]: string | number | boolean | undefined
}

/**
 * Tells of a change in the operator's words: `word` is static ("confirmed"), the rest are fields. On a terminal it is a
 * line of the story, elsewhere a JSON line with the same words.
 */
export const say = (word: string, said: Said): Effect.Effect<void> => Effect.logInfo(word, said)
