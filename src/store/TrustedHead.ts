import { Context, Effect, Layer, Option, Schema } from "effect"
import { type Belief, isNearBlock, nothingBelieved } from "../rules/headBelief.ts"
import { Digits } from "./columns.ts"
import { Settings } from "./Settings.ts"
import type { StoreError } from "./StoreError.ts"

const Block = Schema.Struct({ height: Digits, timestamp: Digits })
const Named = Schema.Struct({ height: Digits, at: Schema.Finite })
const Run = Schema.Struct({ firstAt: Schema.Finite, answers: Schema.Int, last: Named })
const Stored = Schema.fromJsonString(
  Schema.Struct({
    trusted: Schema.optional(Schema.Struct({ ...Named.fields, epoch: Schema.Int, isFirst: Schema.Boolean })),
    doubt: Schema.optional(
      Schema.Struct({
        since: Schema.Finite,
        height: Digits,
        why: Schema.String,
        run: Schema.optional(Run),
        trustable: Schema.optional(Digits),
        begunBelow: Schema.optional(Digits),
      }),
    ),
    stood: Schema.optional(Schema.Struct({ height: Digits, next: Named })),
    low: Schema.optional(
      Schema.Struct({
        first: Schema.Finite,
        since: Schema.Finite,
        last: Named,
        followedFrom: Schema.optional(Schema.Finite),
      }),
    ),
    block: Schema.optional(Block),
  }),
)
const decode = Schema.decodeUnknownOption(Stored)
const encode = Schema.encodeSync(Stored)

/** What is stored may be so much older than what is believed: a new process begins with that much more room. */
const behindBlocks = 5n
const behindMillis = 60_000

const keyOf = (chainId: string): string => `trustedHead/${chainId}`

/** The newest block that is believed, by chain, and what is doubted. It outlives the process. */
export class TrustedHead extends Context.Service<
  TrustedHead,
  {
    readonly of: (chainId: string) => Effect.Effect<Belief, StoreError>
    /** Whether a head is doubted now, as far as this process asked. */
    readonly isDoubted: Effect.Effect<boolean>
    /** Holds at once; what differs little from what is stored is not written. */
    readonly keep: (chainId: string, belief: Belief) => Effect.Effect<void, StoreError>
  }
>()("cofferer/store/TrustedHead") {
  static readonly layerNoDeps: Layer.Layer<TrustedHead, never, Settings> = Layer.effect(
    TrustedHead,
    Effect.gen(function* () {
      const settings = yield* Settings
      const now = new Map<string, Belief>()
      const stored = new Map<string, Belief>()
      return TrustedHead.of({
        of: Effect.fnUntraced(function* (chainId: string) {
          const known = now.get(chainId)
          if (known !== undefined) return known
          const text = yield* settings.get(keyOf(chainId))
          const belief = text === undefined ? nothingBelieved : beliefOf(text)
          now.set(chainId, belief)
          stored.set(chainId, belief)
          return belief
        }),
        isDoubted: Effect.sync(() => [...now.values()].some(({ doubt }) => doubt !== undefined)),
        keep: Effect.fnUntraced(function* (chainId: string, belief: Belief) {
          now.set(chainId, belief)
          if (isNear(stored.get(chainId), belief)) return
          yield* settings.set(keyOf(chainId), encode(belief))
          stored.set(chainId, belief)
        }),
      })
    }),
  )
}

/** What cannot be read counts as nothing: the first head is believed as on the first day. */
const beliefOf = (text: string): Belief => {
  const { trusted, doubt, stood, low, block } = Option.getOrElse(decode(text), () => nothingBelieved)
  return { trusted, doubt: doubt && { ...doubt, run: doubt.run }, stood, low, block }
}

const isSameOffer = (a: bigint | undefined, b: bigint | undefined): boolean =>
  a === undefined || b === undefined ? a === b : isNearBlock(a, b)

const isNear = (stored: Belief | undefined, { trusted, doubt, low, block }: Belief): boolean => {
  if (stored === undefined || (stored.block === undefined) !== (block === undefined)) return false
  if (stored.low?.since !== low?.since) return false
  const [a, b] = [stored.trusted, stored.doubt]
  if ((a === undefined) !== (trusted === undefined) || (b === undefined) !== (doubt === undefined)) return false
  if (a !== undefined && trusted !== undefined) {
    if (a.epoch !== trusted.epoch || a.isFirst !== trusted.isFirst || a.at > trusted.at) return false
    if (trusted.height - a.height >= behindBlocks || trusted.at - a.at >= behindMillis) return false
  }
  if (b === undefined || doubt === undefined) return true
  if (b.begunBelow !== doubt.begunBelow || !isSameOffer(b.trustable, doubt.trustable)) return false
  return b.since === doubt.since && b.run?.firstAt === doubt.run?.firstAt && b.run?.answers === doubt.run?.answers
}
