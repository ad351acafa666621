import { Cause, Context, Deferred, Effect, Exit, type Scope } from "effect"
import type { ChainContext } from "./ChainContext.ts"
import type { Confirmation } from "./Confirmation.ts"
import { GatewayError } from "./GatewayError.ts"
import type { GatewayReader } from "./GatewayReader.ts"
import type { LedgerHistory } from "./LedgerHistory.ts"
import type { NetworkParameters } from "./NetworkParameters.ts"

/** One gateway of the network, and what it alone says. */
export interface Gateway {
  readonly name: string
  readonly reader: GatewayReader["Service"]
  readonly confirmation: Confirmation["Service"]
  readonly history: LedgerHistory["Service"]
  readonly parameters: NetworkParameters["Service"]
  readonly chain: ChainContext["Service"]
}

/** What one gateway answered. */
export interface Told<A> {
  readonly gateway: Gateway
  readonly value: A
}

type Ask<A, R> = (gateway: Gateway) => Effect.Effect<A, GatewayError, R>

/** All gateways of the network: they show the same ledger, each as late, as broken or as untrue as it is. */
export class Gateways extends Context.Service<
  Gateways,
  {
    readonly all: ReadonlyArray<Gateway>
    /** How many must say the same before it counts where money depends on it. */
    readonly quorum: number
    /** Asks the best, and where it gives no answer the next. An answer that refuses the request itself ends it. */
    readonly first: <A, R>(ask: Ask<A, R>) => Effect.Effect<A, GatewayError, R>
    /**
     * Asks all of them at once, and waits for a quorum of answers and a moment for the others. Fails with the error of
     * one of them where fewer than a quorum answered.
     */
    readonly several: <A, R>(ask: Ask<A, R>) => Effect.Effect<ReadonlyArray<Told<A>>, GatewayError, R>
  }
>()("cofferer/gateway/Gateways") {}

/** How long answers beyond the quorum are awaited. */
const graceMillis = 300

export interface GatewaysOptions {
  readonly all: ReadonlyArray<Gateway>
  readonly quorum: number
  /** Names, the best first. */
  readonly ranked: Effect.Effect<ReadonlyArray<string>>
  /** Names of those that count for nothing now. They are asked all the same: only so can they be believed again. */
  readonly quarantined: Effect.Effect<ReadonlySet<string>>
}

/** Answers that one gateway may owe from earlier questions before it is not asked any more. */
const owedMax = 3

export const makeGateways = Effect.fnUntraced(function* ({ all, quorum, ranked, quarantined }: GatewaysOptions) {
  const scope = yield* Effect.scope
  const owed = new Map<string, number>()
  const only = all.length === 1 ? all[0] : undefined
  const inOrder = Effect.map(ranked, (names) => names.flatMap((name) => all.find((g) => g.name === name) ?? []))
  const counted = <A, R>(gateway: Gateway, ask: Ask<A, R>): Effect.Effect<A, GatewayError, R> =>
    Effect.suspend(() => {
      const { name } = gateway
      const before = owed.get(name) ?? 0
      if (before >= owedMax) return owes(name)
      owed.set(name, before + 1)
      return Effect.ensuring(
        ask(gateway),
        Effect.sync(() => owed.set(name, (owed.get(name) ?? 1) - 1)),
      )
    })
  return Gateways.of({
    all,
    quorum,
    first: (ask) => (only === undefined ? Effect.flatMap(inOrder, (gateways) => firstOf(gateways, ask)) : ask(only)),
    several: (ask) =>
      only === undefined
        ? severalOf({ all, quorum, scope, quarantined }, (gateway) => counted(gateway, ask))
        : Effect.map(ask(only), (value) => [{ gateway: only, value }]),
  })
})

const owes = (gateway: string) =>
  Effect.fail(
    new GatewayError({
      gateway,
      operation: "any",
      reason: { _tag: "Unreachable", detail: "it still owes answers to earlier questions" },
    }),
  )

const isFinal = ({ reason, isRetryable }: GatewayError): boolean => !isRetryable && reason._tag !== "Unsupported"

const firstOf = <A, R>(
  [gateway, ...others]: ReadonlyArray<Gateway>,
  ask: Ask<A, R>,
): Effect.Effect<A, GatewayError, R> =>
  gateway === undefined
    ? Effect.fail(new GatewayError({ gateway: "none", operation: "any", reason: { _tag: "Unsupported", detail: "" } }))
    : others.length === 0
      ? ask(gateway)
      : Effect.catchTag(ask(gateway), "GatewayError", (error) =>
          isFinal(error) ? Effect.fail(error) : firstOf(others, ask),
        )

interface Asked {
  readonly all: ReadonlyArray<Gateway>
  readonly quorum: number
  readonly scope: Scope.Scope
  readonly quarantined: GatewaysOptions["quarantined"]
}

/** Who is late goes on by himself, so that how it ends is known of him; nobody waits for it. */
const severalOf = Effect.fnUntraced(function* <A, R>({ all, quorum, scope, quarantined }: Asked, ask: Ask<A, R>) {
  const unheard = yield* quarantined
  const told: Array<Told<A>> = []
  const failed: Array<Cause.Cause<GatewayError>> = []
  const enough = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<void>()
  const note = (gateway: Gateway, exit: Exit.Exit<A, GatewayError>) => {
    if (Exit.isFailure(exit)) failed.push(exit.cause)
    else if (unheard.has(gateway.name)) failed.push(Cause.fail(unbelieved(gateway.name)))
    else told.push({ gateway, value: exit.value })
    if (told.length >= quorum) Deferred.doneUnsafe(enough, Effect.void)
    if (told.length + failed.length >= all.length) Deferred.doneUnsafe(ended, Effect.void)
  }
  for (const gateway of all) {
    yield* Effect.forkIn(
      Effect.flatMap(Effect.exit(ask(gateway)), (exit) => Effect.sync(() => note(gateway, exit))),
      scope,
    )
  }
  yield* Effect.race(
    Deferred.await(ended),
    Effect.andThen(Deferred.await(enough), Effect.race(Deferred.await(ended), Effect.sleep(graceMillis))),
  )
  if (told.length < quorum) return yield* Effect.failCause(telling(failed))
  return told.toSorted((a, b) => all.indexOf(a.gateway) - all.indexOf(b.gateway))
})

const unbelieved = (gateway: string) =>
  new GatewayError({
    gateway,
    operation: "any",
    reason: { _tag: "Ambiguous", detail: "it is quarantined, since it contradicted itself or the others" },
  })

/** Of several failures the one that says most: that an operation is not there says least. */
const telling = (failed: ReadonlyArray<Cause.Cause<GatewayError>>): Cause.Cause<GatewayError> => {
  const isUnsupported = (cause: Cause.Cause<GatewayError>) =>
    cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.reason._tag === "Unsupported")
  return failed.find((cause) => !isUnsupported(cause)) ?? failed[0]!
}
