import { Context, Effect, Layer, Option, Schema } from "effect"
import { powHashFunction } from "../tx/ProofOfWork.ts"
import { Digits } from "./columns.ts"
import { lastly } from "./lastly.ts"
import { Settings } from "./Settings.ts"
import type { StoreError } from "./StoreError.ts"

const Work = Schema.Struct({
  /** The gateway's word; longer ones are none that we know. */
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
  readonly pow: typeof Work.Type
}

const Known = Schema.fromJsonString(
  Schema.Struct({
    chainId: Schema.String,
    work: Work,
    /** What was asked for before, since which block that is over, and up to which it may still be on its way. */
    changed: Schema.optionalKey(Schema.Struct({ before: Work, at: Digits, until: Digits })),
  }),
)
type Known = typeof Known.Type
const decode = Schema.decodeUnknownOption(Known)
const encode = Schema.encodeSync(Known)
const key = "chainRules"

/**
 * The network's rules for transactions: its proof of work and the window of blocks. While they are unknown, and for a
 * window after each change, nothing new is signed: nodes may still judge by either.
 */
export class ChainRules extends Context.Service<
  ChainRules,
  {
    /** Hears of a head; stores only what changed. */
    readonly see: (head: SeenHead) => Effect.Effect<void, StoreError>
    /** Why they are not to be relied on, in words, where balances are known up to a block of this height. */
    readonly unsettled: (height: bigint) => Effect.Effect<string | undefined, StoreError>
  }
>()("cofferer/store/ChainRules") {
  static readonly layerNoDeps: Layer.Layer<ChainRules, never, Settings> = Layer.effect(
    ChainRules,
    Effect.gen(function* () {
      const settings = yield* Settings
      const known = Effect.map(
        settings.get(key),
        lastly((text) => Option.getOrUndefined(decode(text))),
      )
      let newest = 0n
      return ChainRules.of({
        see: Effect.fn("ChainRules.see")(function* (head: SeenHead) {
          if (head.height > newest) newest = head.height
          const before = yield* known
          const hashFunction = head.pow.hashFunction.slice(0, 64)
          const after = knownAfter(before, { ...head, pow: { ...head.pow, hashFunction } })
          if (after !== before) yield* settings.set(key, encode(after))
        }),
        unsettled: Effect.fnUntraced(function* (height: bigint) {
          return unsettledWords(yield* known, height > newest ? height : newest)
        }),
      })
    }),
  )
}

const isSame = (a: typeof Work.Type, b: typeof Work.Type): boolean =>
  a.hashFunction === b.hashFunction &&
  a.difficulty === b.difficulty &&
  a.pastBlocks === b.pastBlocks &&
  a.txPerBlock === b.txPerBlock &&
  a.increasing === b.increasing

/** What is known after a head. One from before the last change tells of rules that are over. */
export const knownAfter = (known: Known | undefined, { chainId, height, pow }: SeenHead): Known => {
  if (known === undefined) return { chainId, work: pow }
  if (known.chainId === chainId) {
    if (isSame(known.work, pow)) return known
    const { changed } = known
    if (changed !== undefined && height < changed.at && isSame(changed.before, pow)) return known
  }
  const window = BigInt(Math.max(known.work.pastBlocks, pow.pastBlocks))
  return { chainId, work: pow, changed: { before: known.work, at: height, until: height + window } }
}

const unsettledWords = (known: Known | undefined, height: bigint): string | undefined => {
  if (known === undefined) return "what work the network asks for is not known yet"
  const { work, changed } = known
  if (work.hashFunction !== powHashFunction) return "the network asks for an unknown proof of work"
  if (work.pastBlocks === 0 || work.txPerBlock === 0) return "the network does not tell for how long work counts"
  if (changed === undefined || height >= changed.until) return undefined
  const what = isSame(changed.before, work)
    ? "the chain"
    : `the work for transactions (${changeText(changed.before, work)})`
  return `${what} changed at block ${changed.at}; payments go on after block ${changed.until}`
}

const changeText = (before: typeof Work.Type, after: typeof Work.Type): string =>
  (
    [
      ["known hash", before.hashFunction === powHashFunction, true],
      ["difficulty", before.difficulty, after.difficulty],
      ["window", before.pastBlocks, after.pastBlocks],
      ["per block", before.txPerBlock, after.txPerBlock],
      ["increasing", before.increasing, after.increasing],
    ] as const
  )
    .filter(([, a, b]) => a !== b)
    .map(([name, a, b]) => `${name} ${a} -> ${b}`)
    .join(", ")
