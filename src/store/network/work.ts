import { Effect, Schema } from "effect"
import {
  isLegalWindow,
  isSameWork,
  noteWork,
  oddWork,
  type WorkKnown,
  type WorkParameters,
  windowAt,
  windowBlocksMax,
} from "../../rules/workParameters.ts"
import { Digits } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { jsonSetting, memoizeLast, Settings } from "../database/Settings.ts"
import type { StoreError } from "../database/StoreError.ts"
import { Outbox } from "../payments/Outbox.ts"

/** The chain's requirements for transactions, with the block at which they were seen. */
interface SeenHead {
  readonly chainId: string
  readonly height: bigint
  readonly pow: WorkParameters
}

const { decode, encode } = jsonSetting(
  Schema.Struct({
    chainId: Schema.String,
    work: Schema.Struct({
      hashFunction: Schema.String,
      difficulty: Schema.Finite,
      pastBlocks: Schema.Finite,
      txPerBlock: Schema.Finite,
      increasing: Schema.Boolean,
    }),
    window: Schema.optionalKey(Schema.Finite),
    larger: Schema.optionalKey(Schema.Struct({ window: Schema.Finite, until: Digits })),
  }),
)
const key = "chainRules"

/**
 * The network's parameters for transactions: its proof of work and the window of blocks. rules/workParameters.ts judges
 * them; open attempts keep the largest window reported while they are open.
 */
export interface KnownWork {
  /** Hears of a head that is accepted; stores only what changed. */
  readonly seeHead: (head: SeenHead) => Effect.Effect<void, StoreError>
  /** Why nothing is signed or solved by the last head's parameters, as text. */
  readonly oddWork: Effect.Effect<string | undefined, StoreError>
  /** The largest window by which a node may judge what is signed at this height; the largest legal one if unknown. */
  readonly windowAt: (height: bigint) => Effect.Effect<number, StoreError>
}

export const makeKnownWork = Effect.gen(function* () {
  const settings = yield* Settings
  const outbox = yield* Outbox
  const database = yield* Database
  const known = Effect.map(settings.get(key), memoizeLast(decode))
  const isNews = (before: WorkKnown | undefined, { chainId, pow }: SeenHead) =>
    before?.chainId !== chainId || !isSameWork(before.work, pow)
  const note = Effect.fnUntraced(function* (head: SeenHead) {
    const before = yield* known
    if (!isNews(before, head)) return
    const { chainId, height, pow } = head
    if (isLegalWindow(pow.pastBlocks)) yield* outbox.noteWindow(pow.pastBlocks)
    yield* settings.set(key, encode(noteWork(before, { chainId, height, work: pow })))
  })
  return {
    seeHead: Effect.fn("ChainState.seeHead")(function* (head: SeenHead) {
      const seen = { ...head, pow: bounded(head.pow) }
      if (isNews(yield* known, seen)) yield* database.write(note(seen))
    }),
    oddWork: Effect.map(known, (now) => now && oddWork(now.work)),
    windowAt: Effect.fnUntraced(function* (height: bigint) {
      const now = yield* known
      return now === undefined ? windowBlocksMax : windowAt(now, height)
    }),
  } satisfies KnownWork
})

/** The gateway's word for the hash function; longer ones are none that we know. */
const bounded = (pow: WorkParameters): WorkParameters => ({ ...pow, hashFunction: pow.hashFunction.slice(0, 64) })
