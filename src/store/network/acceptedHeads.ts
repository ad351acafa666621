import { Clock, Effect, Schema } from "effect"
import { alertOf } from "../../domain/alerts/Alert.ts"
import type { HeadKnown } from "../../rules/saneHead.ts"
import { AlertQueue } from "../alerts/AlertQueue.ts"
import { Digits } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { jsonSetting, Settings } from "../database/Settings.ts"
import type { StoreError } from "../database/StoreError.ts"
import { Journal } from "../journal/Journal.ts"

const { decode, encode } = jsonSetting(
  Schema.Struct({
    accepted: Schema.optionalKey(
      Schema.Struct({
        height: Digits,
        at: Schema.Finite,
        block: Schema.optionalKey(Schema.Struct({ height: Digits, timestamp: Digits })),
      }),
    ),
    stray: Schema.optionalKey(
      Schema.Struct({
        kind: Schema.Literals(["first", "higher", "behind", "lower", "changed"]),
        since: Schema.Finite,
        kindSince: Schema.Finite,
        height: Digits,
        why: Schema.String,
        isTold: Schema.optionalKey(Schema.Boolean),
      }),
    ),
  }),
)

/** The stored head may lag the one in memory by this much: a new process allows that much more room. */
const behindBlocks = 5n
const behindMillis = 60_000

const keyOf = (chainId: string): string => `acceptedHead/${chainId}`

/** The newest accepted block by chain, and the stray heads reported since. It outlives the process. */
export interface AcceptedHeads {
  readonly acceptedHead: (chainId: string) => Effect.Effect<HeadKnown, StoreError>
  /** True if a chain has a stray head now, by what this process has read. */
  readonly isHeadStray: Effect.Effect<boolean>
  /** Holds at once; what differs little from what is stored is not written. */
  readonly keepHead: (chainId: string, known: HeadKnown) => Effect.Effect<void, StoreError>
  /** The same, of a higher line that lasted: with a journal entry and a ticket. */
  readonly keepRisenHead: (chainId: string, known: HeadKnown, words: string) => Effect.Effect<void, StoreError>
}

export const makeAcceptedHeads = Effect.gen(function* () {
  const settings = yield* Settings
  const database = yield* Database
  const journal = yield* Journal
  const alerts = yield* AlertQueue
  const now = new Map<string, HeadKnown>()
  const stored = new Map<string, HeadKnown>()
  const keep = Effect.fnUntraced(function* (chainId: string, known: HeadKnown) {
    now.set(chainId, known)
    if (isNear(stored.get(chainId), known)) return
    yield* settings.set(keyOf(chainId), encode(known))
    stored.set(chainId, known)
  })
  return {
    acceptedHead: Effect.fnUntraced(function* (chainId: string) {
      const known = now.get(chainId)
      if (known !== undefined) return known
      // An unreadable value counts as none: the next head is accepted as on the first day.
      const read: HeadKnown = decode(yield* settings.get(keyOf(chainId))) ?? {}
      now.set(chainId, read)
      stored.set(chainId, read)
      return read
    }),
    isHeadStray: Effect.sync(() => [...now.values()].some(({ stray }) => stray !== undefined)),
    keepHead: keep,
    keepRisenHead: (chainId, known, words) =>
      database.write(
        Effect.gen(function* () {
          yield* journal.append({ kind: "config", subject: chainId, body: { detail: words } })
          yield* alerts.raise(alertOf("head_risen", { at: yield* Clock.currentTimeMillis, words, chain: chainId }))
          yield* keep(chainId, known)
        }),
      ),
  } satisfies AcceptedHeads
})

const isNear = (stored: HeadKnown | undefined, { accepted, stray }: HeadKnown): boolean => {
  if (stored === undefined) return false
  const [a, b] = [stored.accepted, stored.stray]
  if ((a === undefined) !== (accepted === undefined) || (a?.block === undefined) !== (accepted?.block === undefined))
    return false
  if (a !== undefined && accepted !== undefined) {
    if (a.at > accepted.at || accepted.height < a.height) return false
    if (accepted.height - a.height >= behindBlocks || accepted.at - a.at >= behindMillis) return false
  }
  const of = (one: HeadKnown["stray"]) => one && [one.kind, one.since, one.kindSince, one.isTold]
  return String(of(b)) === String(of(stray))
}
