import { Clock, Deferred, Effect, Exit } from "effect"
import { hasElapsed } from "../domain/Time.ts"
import { type GatewayError, otherChain } from "./GatewayError.ts"
import type { Gateway } from "./Gateways.ts"
import { Health } from "./Health.ts"
import { headsAtOnce } from "./readChain.ts"
import type { TransferListing, TransferSighting } from "./readTransfers.ts"
import type { ChainHead } from "./schema/ChainHead.ts"
import { SendMoment } from "./Transport.ts"

/** A head no older than this may precede a question: the head after the answer shows that the chain is the same. */
const knownNanos = 1_000_000_000n

/** A younger head counts as the newest block. Measured by the wall clock, which goes on while the machine sleeps. */
const freshMillis = 300

/** Position in the order of events: a request sent after an answer came has a higher number. */
type Moment = number

/** A completed head request. */
interface Asked {
  readonly sent: Moment
  /** When it was made, before it waited for its turn: monotonic nanoseconds, and Unix milliseconds. */
  readonly at: bigint
  readonly atMillis: number
  readonly exit: Exit.Exit<ChainHead, GatewayError>
}

/** A head request in flight. */
interface Flight {
  /** Undefined while it waits for its turn. */
  sent: Moment | undefined
  readonly landed: Deferred.Deferred<void>
}

type Sure = <A, R>(ask: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R>

/**
 * Makes a gateway's answers count on the treasury's chain alone. Rows, listings and parameters name no chain, so each
 * is read between two heads of the same gateway that do: one from just before the question, and one requested after the
 * answer. Concurrent callers share a head that was requested after their answers.
 */
export const onChain = Effect.fnUntraced(function* (gateway: Gateway, chainId: string) {
  const health = yield* Health
  const flights: Array<Flight> = []
  let moment: Moment = 0
  let named: string | undefined
  let last: Asked | undefined

  const begin = Effect.sync(() => {
    const flight: Flight = { sent: undefined, landed: Deferred.makeUnsafe() }
    flights.push(flight)
    return flight
  })
  const end = (flight: Flight) =>
    Effect.sync(() => {
      flights.splice(flights.indexOf(flight), 1)
      Deferred.doneUnsafe(flight.landed, Exit.void)
    })
  const fly = Effect.fnUntraced(function* (flight: Flight) {
    const at = yield* Clock.monotonicTimeNanos
    const atMillis = yield* Clock.currentTimeMillis
    const leave = () => {
      flight.sent = ++moment
    }
    return yield* gateway.head.pipe(
      Effect.provideService(SendMoment, leave),
      Effect.onExit((exit) => note({ sent: flight.sent ?? ++moment, at, atMillis, exit })),
    )
  })
  /** Sends a head request when it is its turn. */
  const askHead = Effect.acquireUseRelease(begin, fly, end)
  const note = Effect.fnUntraced(function* (one: Asked) {
    // An interrupted request has no answer for the callers that share it.
    if (Exit.hasInterrupts(one.exit) || (last !== undefined && last.sent > one.sent)) return
    last = one
    if (Exit.isFailure(one.exit)) return
    named = one.exit.value.chainId
    yield* health.noteChain(gateway.name, named === chainId ? undefined : named)
  })
  /** If no head can be read, the chain named last holds: balances are still read, and nothing is signed. */
  const judged = ({ exit }: Asked) =>
    Effect.suspend(() => {
      if (named === chainId) return Effect.void
      if (named !== undefined) return Effect.fail(otherChain(gateway.name, named, chainId))
      return Effect.asVoid(exit)
    })
  /** The newest head requested after this moment. Callers share a request that still waits for its turn. */
  const leftAfter = Effect.fnUntraced(function* (since: Moment) {
    for (;;) {
      if (last !== undefined && last.sent > since) return last
      const shared = flights.find(({ sent }) => sent === undefined || sent > since)
      const next = shared ?? (flights.length < headsAtOnce ? undefined : flights[0])
      if (next !== undefined) yield* Deferred.await(next.landed)
      else {
        const exit = yield* Effect.exit(askHead)
        if (Exit.hasInterrupts(exit)) return yield* Effect.interrupt
      }
    }
  })
  const since = (start: Moment) => Effect.flatMap(leftAfter(start), judged)
  const before = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    last !== undefined && Exit.isSuccess(last.exit) && now - last.at <= knownNanos
      ? judged(last)
      : since(last?.sent ?? 0),
  )
  // If the last head was of our chain, the next head is read beside the request, without delay. A head request that had
  // to wait for its turn may be sent after the answer came, and then covers both.
  const sure: Sure = (ask) =>
    Effect.suspend(() => {
      const dated = Effect.map(ask, (value) => ({ value, came: ++moment }))
      return named === chainId
        ? Effect.map(Effect.all([dated, before], { concurrency: 2 }), ([one]) => one)
        : Effect.andThen(before, dated)
    }).pipe(Effect.flatMap(({ value, came }) => Effect.as(since(came), value)))

  /** A head asked for less than 300 ms ago, or a new one. */
  const fresh: Effect.Effect<ChainHead, GatewayError> = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    last !== undefined && Exit.isSuccess(last.exit) && !hasElapsed(last.atMillis, now, freshMillis)
      ? last.exit
      : Effect.flatMap(leftAfter(++moment), ({ exit }) => exit),
  )

  /** An executed transfer has an id that no other chain has; its absence on another chain proves nothing. */
  const seen = (ask: Effect.Effect<TransferSighting, GatewayError>) =>
    Effect.gen(function* () {
      const known = yield* Effect.exit(before)
      const sighting = yield* ask
      if (sighting.found !== undefined) return sighting
      yield* known
      yield* since(++moment)
      return sighting
    })
  /** Dates a listing without a block of its own by the gateway's head known before it. */
  const dated = (asked: Effect.Effect<TransferListing, GatewayError>) =>
    Effect.suspend(() => {
      const height = last !== undefined && Exit.isSuccess(last.exit) ? last.exit.value.height : undefined
      return Effect.map(sure(asked), (listing) => ({ ...listing, reached: listing.mark?.height ?? height }))
    })
  return {
    name: gateway.name,
    head: fresh,
    balanceChanges: (query) => sure(gateway.balanceChanges(query)),
    assets: (query) => sure(gateway.assets(query)),
    accounts: (query) => sure(gateway.accounts(query)),
    transfer: (id) => seen(gateway.transfer(id)),
    transfersFrom: (key, after) => dated(gateway.transfersFrom(key, after)),
    withdrawal: (id) => seen(gateway.withdrawal(id)),
    withdrawalsFrom: (key, after) => dated(gateway.withdrawalsFrom(key, after)),
    sends: (key, from, until) => sure(gateway.sends(key, from, until)),
    debits: (key, from, until) => sure(gateway.debits(key, from, until)),
    parameters: sure(gateway.parameters),
    epoch: sure(gateway.epoch),
    epochCount: (key) => sure(gateway.epochCount(key)),
  } satisfies Gateway
})
