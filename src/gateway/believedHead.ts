import { Clock, Effect, Option, Result } from "effect"
import {
  atOdds,
  type Belief,
  begunAgain,
  believed,
  doubted,
  fits,
  type HeadBounds,
  headBounds,
  isContradicted,
  isNearBlock,
  reviewed,
  type ToldHead,
  trustableOf,
} from "../rules/headBelief.ts"
import { TrustedHead } from "../store/TrustedHead.ts"
import { agreedHead, isForked } from "./agreedHead.ts"
import { ChainContext } from "./ChainContext.ts"
import { GatewayError, type GatewayReason, otherChain } from "./GatewayError.ts"
import { Gateways, type Told } from "./Gateways.ts"
import { type GatewayHealth, Health, isUnheard } from "./Health.ts"
import type { ChainHead } from "./schema/ChainHead.ts"

export interface ChainOptions {
  readonly chainId: string
  /** Default: headBounds. */
  readonly bounds?: HeadBounds | undefined
  /** Whether a person wrote the head down: then it is believed as it is. */
  readonly isFixed?: boolean
}

type Heads = ReadonlyArray<Told<ChainHead>>

const failure = (reason: GatewayReason) => new GatewayError({ gateway: "quorum", operation: "height", reason })

const agreed = (heads: Heads, quorum: number): ChainHead | undefined =>
  agreedHead(
    heads.map(({ value }) => value),
    quorum,
  )

/**
 * The newest block that is believed, of the treasury's chain: where a quorum is on another one, it fails as OtherChain.
 * It fails as Doubted while fewer gateways than must agree tell one that the chain can have come to, and as BegunAgain
 * where a quorum's chain has begun again: only people believe that.
 */
export const believedHead = Effect.fnUntraced(function* ({ chainId, bounds = headBounds, isFixed }: ChainOptions) {
  const gateways = yield* Gateways
  const health = yield* Health
  const known = isFixed === true ? undefined : Option.getOrUndefined(yield* Effect.serviceOption(TrustedHead))
  const kept = known ?? inMemory()
  const { quorum } = gateways
  const isAlone = gateways.all.length === 1
  let highest: ChainHead | undefined

  /** A store that takes no writes is its own trouble, which others tell of: what is believed holds in memory. */
  const keep = Effect.fnUntraced(function* (belief: Belief) {
    if (isFixed === true) return
    yield* health.believe(belief, bounds)
    yield* Effect.catchTag(kept.keep(chainId, belief), "StoreError", (error) =>
      Effect.logWarning("the newest block could not be stored", { reason: error.message }),
    )
  })
  const leaveOut = Effect.fnUntraced(function* (heard: Heads, fitting: Heads) {
    if (isAlone) return
    const heads = heard.map(({ value }) => value)
    for (const told of heard) {
      const { gateway, value } = told
      if (value.chainId !== chainId) continue
      if (isForked(value, heads, quorum)) {
        yield* health.quarantine(gateway.name, `its block ${value.height} is not that of the others`)
      } else if (!fitting.includes(told)) {
        yield* health.quarantine(gateway.name, `its block ${value.height} cannot be the newest`, "height")
      }
    }
  })
  /** The highest of its epoch: nodes behind one address differ by a few blocks. */
  const newest = (head: ChainHead, height: bigint): ChainHead => {
    if (head.height < height && highest?.height === height) return highest
    highest = head
    return head
  }

  const judge = Effect.fnUntraced(function* (told: Heads, unheard: ReadonlyMap<string, GatewayHealth>) {
    const now = yield* Clock.currentTimeMillis
    const heard = isAlone ? told : told.filter(({ gateway }) => !unheard.has(gateway.name))
    const isOurs = ({ value }: Told<ChainHead>) => value.chainId === chainId
    const rows = new Map(yield* Effect.forEach(told, ({ gateway: { name } }) => rowsOf(name)))
    const toldBy = ({ gateway, value }: Told<ChainHead>): ToldHead => ({
      height: value.height,
      rows: rows.get(gateway.name),
    })
    const ours = heard.filter(isOurs)
    const before = reviewed(yield* beliefNow, ours.map(toldBy), { quorum, bounds })
    const doesFit = (one: Told<ChainHead>) => isFixed === true || fits(before, toldBy(one), now, bounds)
    const heardFitting = ours.filter(doesFit)
    /**
     * Quarantined for a height, and where others are by now. Each stands beside one that was never left out, so that
     * the lower of both is no higher than what an honest one of them tells.
     */
    const isRightAgain = (one: Told<ChainHead>) =>
      isOfHeight(unheard, one) &&
      isOurs(one) &&
      doesFit(one) &&
      !isContradicted(toldBy(one), now, bounds) &&
      heardFitting.some(({ value }) => isNearBlock(value.height, one.value.height))
    const again = isAlone || heardFitting.length >= quorum ? [] : told.filter(isRightAgain)
    for (const one of told) {
      const { name } = one.gateway
      if (unheard.has(name)) yield* health.noteAgreement(name, again.includes(one) ? one.value.height : undefined)
    }
    const fitting = [...heardFitting, ...again]
    const head = agreed(fitting, quorum)
    if (head !== undefined) {
      const after = believed(before, { height: head.height, rows: fitting.map(toldBy).find(hasRows)?.rows }, now)
      yield* keep(after)
      yield* leaveOut([...heard, ...again], fitting)
      return newest(head, after.trusted?.height ?? head.height)
    }
    const theirs = heard.filter((one) => !isOurs(one))
    const foreign = agreed(theirs, quorum)
    if (foreign !== undefined) {
      return yield* otherChain(isAlone ? gateways.all[0]!.name : "quorum", foreign.chainId, chainId)
    }
    const strays = told.filter((one) => isOurs(one) && !doesFit(one))
    const stray = fitting.length < quorum ? agreed(strays, quorum) : undefined
    const live = told.filter((one) => isOurs(one) && (heard.includes(one) || isOfHeight(unheard, one)))
    const trustable = trustableOf(live.map(toldBy), { quorum, now, bounds })
    if (stray !== undefined) {
      const after = doubted(before, { ...wordOf(strays.map(toldBy), stray.height), now, bounds, trustable })
      yield* keep(after)
      const begun = begunAgain(after, now)
      if (begun !== undefined) return yield* anew(begun)
      if (after.doubt !== undefined) return yield* failure({ _tag: "Doubted", detail: after.doubt.why })
      // Those that went back with their chain are where it is.
      for (const { gateway } of strays) yield* health.readmit(gateway.name)
      return newest(stray, stray.height)
    }
    if (live.length >= quorum && fitting.length < quorum) {
      const detail = `${fitting.length} of ${quorum} gateways that must agree tell a block that can be the newest`
      yield* keep(atOdds(before, { height: strays[0]?.value.height ?? 0n, why: detail, now, trustable }))
      return yield* failure({ _tag: "Doubted", detail })
    }
    const detail =
      ours.length < quorum
        ? `${ours.length} of ${quorum} gateways that must agree are on chain ${chainId}`
        : "the gateways name different hashes or work for the newest block"
    return yield* failure({ _tag: "Ambiguous", detail })
  })

  /** The words say the same for as long as it lasts. */
  const anew = ({ begunBelow, since }: { readonly begunBelow: bigint; readonly since: number }) => {
    const gateway = isAlone ? gateways.all[0]!.name : "quorum"
    const detail = `begins again below block ${begunBelow}, which was known`
    const reason = { _tag: "BegunAgain", detail, chainId, since } as const
    return Effect.fail(new GatewayError({ gateway, operation: "height", reason }))
  }

  /** With the rows that the last of a quorum names: where these let it pass, so do those of the others. */
  const wordOf = (strays: ReadonlyArray<ToldHead>, height: bigint): ToldHead => {
    const rows = strays
      .flatMap((stray) => stray.rows ?? [])
      .toSorted((a, b) => Number(distance(a.height, height) - distance(b.height, height)))
    const silent = strays.length - rows.length
    return { height, rows: rows[quorum - 1 - silent] }
  }

  const rowsOf = (name: string) => Effect.map(health.rows(name), (rows) => [name, rows] as const)

  const beliefNow = kept
    .of(chainId)
    .pipe(
      Effect.catchTag("StoreError", (error) =>
        Effect.fail(failure({ _tag: "Doubted", detail: `what was believed before cannot be read: ${error.message}` })),
      ),
    )

  // Answers are judged by what was known before this process, from the first one on.
  if (isFixed !== true) {
    const before = yield* Effect.result(kept.of(chainId))
    if (Result.isSuccess(before)) yield* health.believe(before.success, bounds)
  }

  return ChainContext.of({
    head: Effect.gen(function* () {
      const unheard = new Map((yield* health.all).filter(isUnheard).map((one) => [one.name, one]))
      return yield* judge(yield* gateways.everyone((g) => g.chain.head), unheard)
    }).pipe(Effect.withSpan("Gateways.head")),
  })
})

/** Whether a gateway is left out for what it said of heights alone. */
const isOfHeight = (unheard: ReadonlyMap<string, GatewayHealth>, { gateway }: Told<ChainHead>): boolean =>
  unheard.get(gateway.name)?.isOfHeight === true

const hasRows = ({ rows }: ToldHead): boolean => rows !== undefined

const distance = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b)

/** Where there is no store, as for commands that only read. */
const inMemory = (): TrustedHead["Service"] => {
  let belief: Belief = { trusted: undefined, doubt: undefined }
  return {
    of: () => Effect.succeed(belief),
    isDoubted: Effect.sync(() => belief.doubt !== undefined),
    keep: (_, next) =>
      Effect.sync(() => {
        belief = next
      }),
  }
}
