import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { hasElapsed } from "../domain/hasElapsed.ts"
import { parametersReadKey } from "../domain/readings.ts"
import {
  boundedWork,
  doubtOf,
  isAskingWork,
  isSameWork,
  oddWork,
  seeWork,
  termsText,
  trustWork,
  type WorkDoubt,
  type WorkKnown,
  type WorkTerms,
  windowIn,
  windowNow,
  workBounds,
} from "../rules/workTerms.ts"
import { Digits } from "./columns.ts"
import { Database } from "./Database.ts"
import { Listings } from "./Listings.ts"
import { lastly } from "./lastly.ts"
import { makeTrouble, type Noted } from "./makeTrouble.ts"
import { Outbox } from "./Outbox.ts"
import { Settings } from "./Settings.ts"
import type { StoreError } from "./StoreError.ts"
import { vouchedWork } from "./vouchedWork.ts"

const Work = Schema.Struct({
  hashFunction: Schema.String,
  difficulty: Schema.Finite,
  pastBlocks: Schema.Finite,
  txPerBlock: Schema.Finite,
  increasing: Schema.Boolean,
})

/** What the chain asks of transactions, with the block at which it was seen to ask for it. */
export interface SeenHead {
  readonly chainId: string
  readonly height: bigint
  readonly pow: WorkTerms
}

const change = { before: Work, at: Digits, until: Digits }
const Known = Schema.fromJsonString(
  Schema.Struct({
    /** Absent in what was stored before terms had bounds. */
    form: Schema.optionalKey(Schema.Literal(2)),
    chainId: Schema.String,
    work: Work,
    first: Schema.optionalKey(
      Schema.Struct({ height: Digits, at: Schema.Finite, still: Digits, stillAt: Schema.Finite }),
    ),
    changed: Schema.optionalKey(
      Schema.Struct({
        ...change,
        seenAt: Schema.optionalKey(Schema.Finite),
        persisted: Schema.optionalKey(Schema.Boolean),
        trusted: Schema.optionalKey(Schema.Boolean),
        prior: Schema.optionalKey(Schema.Struct(change)),
      }),
    ),
  }),
)
const decode = Schema.decodeUnknownOption(Known)
const encode = Schema.encodeSync(Known)
const key = "chainRules"
/** Setting that says since when the terms are not relied on. */
export const workDoubtKey = "workDoubt"
/** Parameters that were read so long ago vouch for no head any more: both are of one round. */
const roundMillis = 120_000

/** What became of the wish to believe the terms that are seen now. */
export type WorkTrust =
  /** `since`: the block at which these terms were seen first, so that a later doubt of the same terms is another. */
  { readonly trusted: string; readonly since: bigint } | { readonly refused: string; readonly remedy: string }

/**
 * The network's rules for transactions: its proof of work and the window of blocks. While they are unknown or odd, and
 * for a window after each change, nothing new is signed: nodes may still judge by either. rules/workTerms.ts decides.
 */
export class ChainRules extends Context.Service<
  ChainRules,
  {
    /** Hears of a head that is believed; stores only what changed. */
    readonly see: (head: SeenHead) => Effect.Effect<void, StoreError>
    /** Why they are not to be relied on where the chain has come to this height. */
    readonly doubt: (height: bigint) => Effect.Effect<WorkDoubt | undefined, StoreError>
    /** The same, in words. `pow`: by which something is to be signed, and which no other head may have changed. */
    readonly unsettled: (height: bigint, pow?: WorkTerms) => Effect.Effect<string | undefined, StoreError>
    /** Why no work is solved by the terms that are seen now, in words. */
    readonly odd: Effect.Effect<string | undefined, StoreError>
    /** Whether the next head may say at once what to believe. */
    readonly isAsking: Effect.Effect<boolean, StoreError>
    /** The largest window by which a node may judge what is signed at this height. */
    readonly windowNow: (height: bigint) => Effect.Effect<number, StoreError>
    /** No window is longer. */
    readonly windowMax: Effect.Effect<number>
    /**
     * Takes the terms that are seen now as in force, on people's word; undefined where nothing waits. Odd ones are
     * refused. The height is that of the newest block known.
     */
    readonly trust: (height: bigint) => Effect.Effect<WorkTrust | undefined, StoreError>
    /** Since when they are not relied on, and whether people were told. */
    readonly doubted: Effect.Effect<Noted | undefined, StoreError>
  }
>()("cofferer/store/ChainRules") {
  static readonly layerNoDeps: Layer.Layer<ChainRules, never, Settings | Listings | Outbox | Database> = Layer.effect(
    ChainRules,
    Effect.gen(function* () {
      const settings = yield* Settings
      const outbox = yield* Outbox
      const database = yield* Database
      const { parameters } = yield* Listings
      const config = Option.getOrUndefined(yield* Effect.serviceOption(ConfigInForce))
      const network = () => config?.now().treasury.network
      const bounds = () => network()?.work ?? workBounds
      const read = lastly((text) => Option.getOrUndefined(decode(text)))
      const stored = Effect.map(settings.get(key), (text) => {
        const known = read(text)
        return known === undefined || known.form === 2 ? known : boundedWork(known, bounds())
      })
      const isVouched = Effect.fnUntraced(function* (work: WorkTerms) {
        const fixed = network()?.fixedChain
        const readAt = Number((yield* settings.get(parametersReadKey)) ?? 0)
        const isFresh = !hasElapsed(readAt, yield* Clock.currentTimeMillis, roundMillis)
        return vouchedWork(work, fixed, isFresh ? yield* parameters : new Map())
      })
      /** Parameters that were read after the head vouch for it as well. */
      const known = Effect.gen(function* () {
        const now = yield* stored
        if (now?.first === undefined || oddWork(now.work, bounds()) !== undefined) return now
        return (yield* isVouched(now.work)) ? trustWork(now) : now
      })
      let newest = 0n
      const reached = (height: bigint) => (height > newest ? height : newest)
      const doubt = Effect.fnUntraced(function* (height: bigint) {
        return doubtOf(yield* known, reached(height), bounds())
      })
      const store = (after: WorkKnown) => settings.set(key, encode({ form: 2, ...after }))
      const judge = Effect.fnUntraced(function* ({ chainId, height, pow }: SeenHead) {
        const before = yield* stored
        const work = bounded(pow)
        const isFirst = before?.chainId !== chainId || before.first !== undefined
        const now = yield* Clock.currentTimeMillis
        const isSure = isFirst && (yield* isVouched(work))
        const after = seeWork(before, { chainId, height, work, now, isVouched: isSure, bounds: bounds() })
        // Of the window of the terms that stay, open attempts know.
        const isNews = after !== before || !isSameWork(after.work, work)
        return isNews ? { after, isChanged: after !== before, window: windowIn(work, bounds()) } : undefined
      })
      const see = Effect.fnUntraced(function* (head: SeenHead) {
        const judged = yield* judge(head)
        if (judged === undefined) return
        if (judged.window > 0) yield* outbox.noteWindow(judged.window)
        if (judged.isChanged) yield* store(judged.after)
      })
      return ChainRules.of({
        see: Effect.fn("ChainRules.see")(function* (head: SeenHead) {
          newest = head.height
          if ((yield* judge(head)) !== undefined) yield* database.atomically(see(head))
        }),
        doubt,
        unsettled: Effect.fnUntraced(function* (height: bigint, pow?: WorkTerms) {
          const doubted = yield* doubt(height)
          if (doubted !== undefined || pow === undefined) return doubted?.detail
          const seen = (yield* known)?.work
          const isTheirs = seen === undefined || isSameWork(seen, bounded(pow))
          return isTheirs ? undefined : "the work for transactions is changing"
        }),
        odd: Effect.map(stored, (now) => now && oddWork(now.work, bounds())?.detail),
        isAsking: Effect.map(known, (now) => isAskingWork(now, bounds())),
        windowNow: Effect.fnUntraced(function* (height: bigint) {
          const now = yield* known
          return now === undefined ? bounds().maxWindow : windowNow(now, reached(height), bounds())
        }),
        windowMax: Effect.sync(() => bounds().maxWindow),
        trust: Effect.fn("ChainRules.trust")(function* (height: bigint) {
          const now = yield* known
          const doubted = doubtOf(now, reached(height), bounds())
          if (doubted === undefined) return undefined
          if (now === undefined || doubted.kind === "odd") return { refused: doubted.detail, remedy: doubted.remedy }
          yield* store(trustWork(now))
          return { trusted: termsText(now.work), since: now.first?.height ?? now.changed?.at ?? height }
        }),
        doubted: makeTrouble(settings, workDoubtKey).now,
      })
    }),
  )
}

/** The gateway's word for the hash function; longer ones are none that we know. */
const bounded = (pow: WorkTerms): WorkTerms => ({ ...pow, hashFunction: pow.hashFunction.slice(0, 64) })
