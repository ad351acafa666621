import { Cause, Context, Deferred, Effect, Exit, Fiber, Result, type Scope } from "effect"
import { GatewayError } from "./GatewayError.ts"
import type { GatewayReader } from "./GatewayReader.ts"

/** One gateway of the network, with its own answers. */
export type Gateway = GatewayReader["Service"] & { readonly name: string }

/** Answer of one gateway. */
export interface GatewayAnswer<A> {
  readonly gateway: Gateway
  readonly value: A
}

type Ask<A, R> = (gateway: Gateway) => Effect.Effect<A, GatewayError, R>

/** All gateways of the network. They serve the same ledger; any of them may lag, fail or lie. */
export class Gateways extends Context.Service<
  Gateways,
  {
    readonly all: ReadonlyArray<Gateway>
    /** How many gateways must agree on an answer on which money depends. */
    readonly quorum: number
    /**
     * Queries the best gateway, and the next one if it gives no answer or refuses. "It does not exist" is a final
     * answer. A quarantined gateway is skipped, unless it is the only one.
     */
    readonly first: <A, R>(ask: Ask<A, R>) => Effect.Effect<A, GatewayError, R>
    /**
     * Queries all of them at once. Waits for a quorum of answers, and 0.3 s longer for the others. Fails with the error
     * of one of them where fewer than a quorum answered.
     */
    readonly several: <A, R>(ask: Ask<A, R>) => Effect.Effect<ReadonlyArray<GatewayAnswer<A>>, GatewayError, R>
    /** The same, with the answers of quarantined gateways, for a caller that judges them itself. */
    readonly everyone: <A, R>(ask: Ask<A, R>) => Effect.Effect<ReadonlyArray<GatewayAnswer<A>>, GatewayError, R>
  }
>()("cofferer/gateway/Gateways") {}

/** How long answers beyond the quorum are awaited, milliseconds. */
const graceMillis = 300

interface GatewaysOptions {
  readonly all: ReadonlyArray<Gateway>
  readonly quorum: number
  /** Names, the best first. */
  readonly ranked: Effect.Effect<ReadonlyArray<string>>
  /** Names of gateways whose answers do not count now. They are still queried, so that they can count again. */
  readonly quarantined: Effect.Effect<ReadonlySet<string>>
}

/** Late answers that one gateway may owe before it gets no more requests. */
const owedMax = 3

export const makeGateways = Effect.fnUntraced(function* ({ all, quorum, ranked, quarantined }: GatewaysOptions) {
  const scope = yield* Effect.scope
  const owed = new Map<string, number>()
  const only = all.length === 1 ? all[0] : undefined
  const usable = Effect.gen(function* () {
    const excluded = yield* quarantined
    return (yield* ranked).flatMap((name) => (excluded.has(name) ? [] : (all.find((g) => g.name === name) ?? [])))
  })
  const severally =
    (withQuarantined: boolean) =>
    <A, R>(ask: Ask<A, R>) =>
      only === undefined
        ? severalOf({ all, quorum, scope, quarantined, owed, withQuarantined }, ask)
        : Effect.map(ask(only), (value) => [{ gateway: only, value }])
  return Gateways.of({
    all,
    quorum,
    first: (ask) => (only === undefined ? Effect.flatMap(usable, (gateways) => firstOf(gateways, ask)) : ask(only)),
    several: severally(false),
    everyone: severally(true),
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

const isFinal = ({ reason }: GatewayError): boolean => reason._tag === "NotFound"

const isUnsupported = ({ reason }: GatewayError): boolean => reason._tag === "Unsupported"

/** The first answer; without one the most informative error: a refusal first, a missing operation last. */
const firstOf = Effect.fnUntraced(function* <A, R>(gateways: ReadonlyArray<Gateway>, ask: Ask<A, R>) {
  const errors: Array<GatewayError> = []
  for (const gateway of gateways) {
    const answer = yield* Effect.result(ask(gateway))
    if (Result.isSuccess(answer)) return answer.success
    if (isFinal(answer.failure)) return yield* answer.failure
    errors.push(answer.failure)
  }
  const error =
    errors.find(({ isRetryable, reason }) => !isRetryable && reason._tag !== "Unsupported") ??
    errors.findLast((one) => !isUnsupported(one)) ??
    errors.at(-1)
  return yield* error ?? quarantinedError("all")
})

interface Asked {
  readonly all: ReadonlyArray<Gateway>
  readonly quorum: number
  readonly scope: Scope.Scope
  readonly quarantined: GatewaysOptions["quarantined"]
  /** Answers that nobody waits for any more, by gateway. */
  readonly owed: Map<string, number>
  /** True if the caller also gets answers of quarantined gateways. They complete no quorum. */
  readonly withQuarantined: boolean
}

/** Late requests continue in the background, so that their outcome updates the gateway's health. */
const severalOf = Effect.fnUntraced(function* <A, R>(asking: Asked, ask: Ask<A, R>) {
  const { all, quorum, scope, quarantined, owed, withQuarantined } = asking
  const excluded = yield* quarantined
  const answers: Array<GatewayAnswer<A>> = []
  const aside: Array<GatewayAnswer<A>> = []
  const failed: Array<Cause.Cause<GatewayError>> = []
  const enough = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<void>()
  const asked = new Set<Gateway>()
  let isOver = false
  const owe = (gateway: Gateway, change: number) =>
    owed.set(gateway.name, Math.max(0, (owed.get(gateway.name) ?? 0) + change))
  const note = (gateway: Gateway, exit: Exit.Exit<A, GatewayError>) => {
    asked.delete(gateway)
    if (isOver) owe(gateway, -1)
    if (Exit.isFailure(exit)) failed.push(exit.cause)
    else if (excluded.has(gateway.name)) {
      failed.push(Cause.fail(quarantinedError(gateway.name)))
      if (withQuarantined) aside.push({ gateway, value: exit.value })
    } else answers.push({ gateway, value: exit.value })
    if (answers.length >= quorum) Deferred.doneUnsafe(enough, Effect.void)
    const isDecided = failed.length - aside.length > all.length - quorum
    if (isDecided || answers.length + failed.length >= all.length) Deferred.doneUnsafe(ended, Effect.void)
  }
  const fibers = yield* Effect.forEach(all, (gateway) => {
    asked.add(gateway)
    const one = (owed.get(gateway.name) ?? 0) >= owedMax ? owes(gateway.name) : ask(gateway)
    return Effect.forkIn(
      Effect.onExit(one, (exit) => Effect.sync(() => note(gateway, exit))),
      scope,
    )
  })
  yield* Effect.race(
    Deferred.await(ended),
    Effect.andThen(Deferred.await(enough), Effect.race(Deferred.await(ended), Effect.sleep(graceMillis))),
  ).pipe(
    // One may be a listing of hundreds of pages: it would delay later questions, and count as owed until its end.
    Effect.onInterrupt(() => Fiber.interruptAll(fibers)),
    Effect.ensuring(
      Effect.sync(() => {
        isOver = true
        for (const gateway of asked) owe(gateway, 1)
      }),
    ),
  )
  const given = [...answers, ...aside]
  if (given.length < quorum) return yield* Effect.failCause(bestCause(failed, quorum))
  return given.toSorted((a, b) => all.indexOf(a.gateway) - all.indexOf(b.gateway))
})

const quarantinedError = (gateway: string) =>
  new GatewayError({
    gateway,
    operation: "any",
    reason: { _tag: "Ambiguous", detail: "it is quarantined, since it contradicted itself or the others" },
  })

/** The most informative of several failures. Only a quorum can establish that an operation is missing. */
const bestCause = (failed: ReadonlyArray<Cause.Cause<GatewayError>>, quorum: number): Cause.Cause<GatewayError> => {
  const isMissing = (cause: Cause.Cause<GatewayError>) =>
    cause.reasons.some((reason) => reason._tag === "Fail" && isUnsupported(reason.error))
  const other = failed.find((cause) => !isMissing(cause))
  if (other !== undefined) return other
  return failed.length >= quorum ? failed[0]! : Cause.fail(tooFew)
}

const tooFew = new GatewayError({
  gateway: "quorum",
  operation: "any",
  reason: { _tag: "Ambiguous", detail: "too few gateways have this operation" },
})
