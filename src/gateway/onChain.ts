import { Clock, Effect, Exit, Semaphore } from "effect"
import type { Confirmation, TransferSighting } from "./Confirmation.ts"
import { type GatewayError, otherChain } from "./GatewayError.ts"
import type { Gateway } from "./Gateways.ts"
import { Health } from "./Health.ts"
import type { ChainHead } from "./schema/ChainHead.ts"

/** A head asked for no longer ago says where a question goes; that nothing was exchanged since, the next one shows. */
const knownNanos = 1_000_000_000n

/** A head that was asked for, when (monotonic), and as the how many-th. */
interface Asked {
  readonly number: number
  readonly at: bigint
  readonly exit: Exit.Exit<ChainHead, GatewayError>
}

type Sure = <A, R>(ask: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R>

/**
 * The gateway as one whose answers count on the treasury's chain alone. Rows, listings and parameters name no chain,
 * so each stands between two heads of the same gateway that do: one from just before the question, and one asked for
 * since the answer. Whoever comes while a head is asked for gets that one, if it was asked for after his answer.
 */
export const onChain = Effect.fnUntraced(function* (gateway: Gateway, chainId: string) {
  const health = yield* Health
  const lock = yield* Semaphore.make(1)
  let asked = 0
  let named: string | undefined
  let last: Asked | undefined

  const head = Effect.gen(function* () {
    const number = ++asked
    const at = yield* Clock.monotonicTimeNanos
    return yield* Effect.onExit(gateway.chain.head, (exit) => note({ number, at, exit }))
  })
  const note = Effect.fnUntraced(function* (one: Asked) {
    // Who was interrupted has no answer for those who wait.
    if (Exit.hasInterrupts(one.exit) || (last !== undefined && last.number > one.number)) return
    last = one
    if (Exit.isFailure(one.exit)) return
    named = one.exit.value.chainId
    yield* health.noteChain(gateway.name, named === chainId ? undefined : named)
  })
  /** A head that cannot be had takes nothing of what the last one said: balances are read on, and nothing is signed. */
  const judged = ({ exit }: Asked) =>
    Effect.suspend(() => {
      if (named === chainId) return Effect.void
      if (named !== undefined) return Effect.fail(otherChain(gateway.name, named, chainId))
      return Effect.asVoid(exit)
    })
  /** The word of a head that was asked for after `number` others. */
  const since = (number: number) =>
    lock
      .withPermits(1)(
        Effect.suspend(() => (last !== undefined && last.number > number ? Effect.void : Effect.exit(head))),
      )
      .pipe(Effect.andThen(Effect.suspend(() => (last === undefined ? Effect.void : judged(last)))))
  const before = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    last !== undefined && Exit.isSuccess(last.exit) && now - last.at <= knownNanos
      ? judged(last)
      : since(last?.number ?? 0),
  )
  const after = Effect.suspend(() => since(asked))
  // Where it was on our chain the last time, the first head is asked for beside the question: nobody waits for it.
  const sure: Sure = (ask) =>
    Effect.suspend(() =>
      named === chainId
        ? Effect.map(Effect.all([ask, before], { concurrency: 2 }), ([value]) => value)
        : Effect.andThen(before, ask),
    ).pipe(Effect.tap(after))

  /** One asked for since now. Whoever waits for his turn shares the next one: a slow gateway is asked once for all. */
  const fresh: Effect.Effect<ChainHead, GatewayError> = Effect.suspend(() => {
    const before = asked
    return lock.withPermits(1)(Effect.suspend(() => (last !== undefined && last.number > before ? last.exit : head)))
  })

  /** What executed is known by an id that no other chain has; that there is none says nothing elsewhere. */
  const seen = (ask: Effect.Effect<TransferSighting, GatewayError>) =>
    Effect.gen(function* () {
      const known = yield* Effect.exit(before)
      const sighting = yield* ask
      if (sighting.found !== undefined) return sighting
      yield* known
      yield* after
      return sighting
    })
  return { ...gateway, chain: { head: fresh }, ...guarded(gateway, sure, seen) } satisfies Gateway
})

const guarded = (
  { reader, confirmation, history, parameters, epoch }: Gateway,
  sure: Sure,
  seen: (ask: Effect.Effect<TransferSighting, GatewayError>) => Effect.Effect<TransferSighting, GatewayError>,
) => ({
  reader: {
    balanceChanges: (query) => sure(reader.balanceChanges(query)),
    assets: (query) => sure(reader.assets(query)),
    accounts: (query) => sure(reader.accounts(query)),
  } satisfies Gateway["reader"],
  confirmation: {
    transfer: (id) => seen(confirmation.transfer(id)),
    transfersFrom: (key, options) => sure(confirmation.transfersFrom(key, options)),
    withdrawal: (id) => seen(confirmation.withdrawal(id)),
    withdrawalsFrom: (key, options) => sure(confirmation.withdrawalsFrom(key, options)),
  } satisfies Confirmation["Service"],
  history: {
    sends: (key, from, until) => sure(history.sends(key, from, until)),
    debits: (key, from, until) => sure(history.debits(key, from, until)),
  } satisfies Gateway["history"],
  parameters: { parameters: sure(parameters.parameters) } satisfies Gateway["parameters"],
  epoch: {
    current: sure(epoch.current),
    transfersOf: (key) => sure(epoch.transfersOf(key)),
  } satisfies Gateway["epoch"],
})
