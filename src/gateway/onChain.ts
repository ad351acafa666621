import { Clock, Deferred, Effect, Exit } from "effect"
import { hasElapsed } from "../domain/Time.ts"
import { type GatewayError, otherChain } from "./GatewayError.ts"
import type { Gateway } from "./Gateways.ts"
import { Health } from "./Health.ts"
import { headsAtOnce } from "./readChain.ts"
import type { TransferListing, TransferSighting } from "./readTransfers.ts"
import type { ChainHead } from "./schema/ChainHead.ts"
import { OnSend } from "./Transport.ts"

/** A head no older than this may precede a question: the head after the answer shows that the chain is the same. */
const knownNanos = 1_000_000_000n

/** A younger head counts as the newest block. Measured by the wall clock, which goes on while the machine sleeps. */
const freshMillis = 300

/** Position in the order of events: a request sent after an answer came has a higher one. */
type Position = number

/** A completed head request. */
interface HeadAnswer {
  readonly sent: Position
  /** When it was made, before it waited for its turn: monotonic nanoseconds, and Unix milliseconds. */
  readonly at: bigint
  readonly atMillis: number
  readonly exit: Exit.Exit<ChainHead, GatewayError>
}

/** A head request without an answer yet. */
interface HeadRequest {
  /** Undefined while it waits for its turn. */
  sent: Position | undefined
  readonly done: Deferred.Deferred<void>
}

/**
 * Makes a gateway's answers count on the treasury's chain alone. Rows, listings and parameters name no chain, so each
 * is read between two heads of the same gateway that do: one from just before the question, and one requested after the
 * answer. Concurrent callers share a head that was requested after their answers.
 */
export const onChain = Effect.fnUntraced(function* (gateway: Gateway, chainId: string) {
  const health = yield* Health
  const requests: Array<HeadRequest> = []
  let position: Position = 0
  /** The chain id of the newest head. */
  let reported: string | undefined
  let last: HeadAnswer | undefined

  const begin = Effect.sync(() => {
    const request: HeadRequest = { sent: undefined, done: Deferred.makeUnsafe() }
    requests.push(request)
    return request
  })
  const end = (request: HeadRequest) =>
    Effect.sync(() => {
      requests.splice(requests.indexOf(request), 1)
      Deferred.doneUnsafe(request.done, Exit.void)
    })
  const requestHead = Effect.fnUntraced(function* (request: HeadRequest) {
    const at = yield* Clock.monotonicTimeNanos
    const atMillis = yield* Clock.currentTimeMillis
    const onSend = () => {
      request.sent = ++position
    }
    return yield* gateway.head.pipe(
      Effect.provideService(OnSend, onSend),
      Effect.onExit((exit) => note({ sent: request.sent ?? ++position, at, atMillis, exit })),
    )
  })
  /** Sends a head request when it is its turn. */
  const askHead = Effect.acquireUseRelease(begin, requestHead, end)
  const note = Effect.fnUntraced(function* (one: HeadAnswer) {
    // An interrupted request has no answer for the callers that share it.
    if (Exit.hasInterrupts(one.exit) || (last !== undefined && last.sent > one.sent)) return
    last = one
    if (Exit.isFailure(one.exit)) return
    reported = one.exit.value.chainId
    yield* health.noteChain(gateway.name, reported === chainId ? undefined : reported)
  })
  /** If no head can be read, the chain of the newest head counts: balances are still read, and nothing is signed. */
  const checked = ({ exit }: HeadAnswer) =>
    Effect.suspend(() => {
      if (reported === chainId) return Effect.void
      if (reported !== undefined) return Effect.fail(otherChain(gateway.name, reported, chainId))
      return Effect.asVoid(exit)
    })
  /** The newest head requested after this position. Callers share a request that still waits for its turn. */
  const headSentAfter = Effect.fnUntraced(function* (since: Position) {
    for (;;) {
      if (last !== undefined && last.sent > since) return last
      const shared = requests.find(({ sent }) => sent === undefined || sent > since)
      const next = shared ?? (requests.length < headsAtOnce ? undefined : requests[0])
      if (next !== undefined) yield* Deferred.await(next.done)
      else {
        const exit = yield* Effect.exit(askHead)
        if (Exit.hasInterrupts(exit)) return yield* Effect.interrupt
      }
    }
  })
  const checkAfter = (start: Position) => Effect.flatMap(headSentAfter(start), checked)
  const checkBefore = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    last !== undefined && Exit.isSuccess(last.exit) && now - last.at <= knownNanos
      ? checked(last)
      : checkAfter(last?.sent ?? 0),
  )
  // If the last head was of our chain, the next head is read beside the request, without delay. A head request that had
  // to wait for its turn may be sent after the answer came, and then covers both.
  const betweenHeads = <A, R>(ask: Effect.Effect<A, GatewayError, R>) =>
    Effect.suspend(() => {
      const answer = Effect.map(ask, (value) => ({ value, answered: ++position }))
      return reported === chainId
        ? Effect.map(Effect.all([answer, checkBefore], { concurrency: 2 }), ([one]) => one)
        : Effect.andThen(checkBefore, answer)
    }).pipe(Effect.flatMap(({ value, answered }) => Effect.as(checkAfter(answered), value)))

  /** A head asked for less than 300 ms ago, or a new one. */
  const recentHead: Effect.Effect<ChainHead, GatewayError> = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    last !== undefined && Exit.isSuccess(last.exit) && !hasElapsed(last.atMillis, now, freshMillis)
      ? last.exit
      : Effect.flatMap(headSentAfter(++position), ({ exit }) => exit),
  )

  /** An executed transfer has an id that no other chain has; its absence on another chain proves nothing. */
  const checkedSighting = (ask: Effect.Effect<TransferSighting, GatewayError>) =>
    Effect.gen(function* () {
      const head = yield* Effect.exit(checkBefore)
      const sighting = yield* ask
      if (sighting.found !== undefined) return sighting
      yield* head
      yield* checkAfter(++position)
      return sighting
    })
  /** Dates a listing without a block of its own by the gateway's last known head. */
  const dated = (asked: Effect.Effect<TransferListing, GatewayError>) =>
    Effect.suspend(() => {
      const height = last !== undefined && Exit.isSuccess(last.exit) ? last.exit.value.height : undefined
      return Effect.map(betweenHeads(asked), (listing) => ({ ...listing, reached: listing.mark?.height ?? height }))
    })
  return {
    name: gateway.name,
    head: recentHead,
    balanceChanges: (query) => betweenHeads(gateway.balanceChanges(query)),
    assets: (query) => betweenHeads(gateway.assets(query)),
    accounts: (query) => betweenHeads(gateway.accounts(query)),
    transfer: (id) => checkedSighting(gateway.transfer(id)),
    transfersFrom: (key, after) => dated(gateway.transfersFrom(key, after)),
    withdrawal: (id) => checkedSighting(gateway.withdrawal(id)),
    withdrawalsFrom: (key, after) => dated(gateway.withdrawalsFrom(key, after)),
    sends: (key, from, until) => betweenHeads(gateway.sends(key, from, until)),
    debits: (key, from, until) => betweenHeads(gateway.debits(key, from, until)),
    parameters: betweenHeads(gateway.parameters),
    epoch: betweenHeads(gateway.epoch),
    epochCount: (key) => betweenHeads(gateway.epochCount(key)),
  } satisfies Gateway
})
