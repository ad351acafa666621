import { Clock, Context, Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import { Gateways } from "../gateway/Gateways.ts"
import type { Live } from "./endings.ts"
import { isOver } from "./evidence.ts"
import { Looks } from "./Looks.ts"

/** Ends of which a gateway tells: `done` and `refused` under the transfer's id, `moved` by the balances of its ends. */
type Word = "done" | "refused" | "moved"
const executedWords: ReadonlyArray<Word> = ["done", "moved"]
const words: ReadonlyArray<Word> = [...executedWords, "refused"]

/** So long a lone gateway must tell of an end that nothing else shows. */
export const aloneMillis = 30_000
/**
 * So long where its own balances show it as well: a lie of some seconds may be about all things at once. Milliseconds;
 * tests that are about other things set it to 0.
 */
export const ShownMillis = Context.Reference<number>("cofferer/submitter/ShownMillis", { defaultValue: () => 5_000 })
/** A gateway that is asked slowly answers the same question so often. */
const pauseMillisMax = 15_000

const nameOf = (word: Word, { transferId }: Attempt): string => `${word}/${transferId}`

/** A look that told this, or nothing: what was told before is no lasting word. */
export const forgetWords = Effect.fnUntraced(function* (attempt: Attempt, but?: Word) {
  const looks = yield* Looks
  for (const word of words) if (word !== but) yield* looks.forget("", nameOf(word, attempt))
})

/** Whether the last looks told that it executed, which does not count yet: then it is not sent meanwhile. */
export const isToldExecuted = Effect.fnUntraced(function* (attempt: Attempt) {
  const looks = yield* Looks
  const clock = yield* Clock.currentTimeMillis
  for (const word of executedWords) if (yield* looks.isTold(nameOf(word, attempt), clock, pauseMillisMax)) return true
  return false
})

/**
 * Whether what a look tells counts: a quorum's word at once, a lone gateway's where it told the same for so long, in
 * each look. Once the window is over no bytes execute any more, and looks may be as far apart as they are.
 */
export const isLasting = Effect.fnUntraced(function* ({ attempt, height }: Live, word: Word, needMillis: number) {
  yield* forgetWords(attempt, word)
  if ((yield* Gateways).quorum > 1) return true
  const pause = isOver(attempt, height) ? Number.POSITIVE_INFINITY : pauseMillisMax
  const told = yield* (yield* Looks).toldFor(nameOf(word, attempt), yield* Clock.currentTimeMillis, pause)
  return told >= needMillis
})
