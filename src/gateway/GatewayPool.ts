import { Context, Deferred, Effect, Layer, Redacted, type Scope } from "effect"
import type { GatewayReason } from "./GatewayError.ts"
import { type Limiter, makeLimiter, RequestPriority, requestsPerSecondUsual, type TurnRequest } from "./Limiter.ts"

/**
 * A read that callers share while it waits for its turn. It is sent after each of them asked, so that no answer is
 * older than its caller expects.
 */
interface Waiting {
  readonly done: Deferred.Deferred<unknown, GatewayReason>
  /** The widest request that was joined so far. */
  wide: unknown
  /** Called when it is sent. */
  readonly sent: Array<() => void>
}

/** A read that may be shared. */
export interface SharedRead<W> {
  /** Reads of one key have the same form of answer. */
  readonly key: string
  /** The request that also answers this caller; undefined: it would be too wide. */
  readonly widen: (wide: W | undefined) => W | undefined
}

/** Options that identify a gateway, and the callers that may share its answers. */
interface PoolOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly requestDeadlineMillis: number
  readonly waitMillisMax: number
}

/** One gateway, as all treasuries of the process use it. */
export interface PooledGateway {
  readonly limiter: Limiter
  /**
   * Runs a read once it is its turn, together with those of other callers that wait for theirs. `send` gets the widest
   * request; so does the caller, to find its own part of the answer.
   */
  readonly share: <A, W>(
    ask: TurnRequest,
    read: SharedRead<W>,
    noteSent: () => void,
    send: (wide: W) => Effect.Effect<A, GatewayReason>,
  ) => Effect.Effect<{ readonly answer: A; readonly wide: W }, GatewayReason>
}

/** Gateways of a process by address and credentials. Absent where a process has one treasury: it shares nothing. */
export class GatewayPool extends Context.Service<
  GatewayPool,
  { readonly of: (options: PoolOptions) => Effect.Effect<PooledGateway> }
>()("cofferer/gateway/GatewayPool") {
  /** `requestsPerSecond`: to each gateway at most, of all treasuries together. */
  static readonly layer = (requestsPerSecond = requestsPerSecondUsual): Layer.Layer<GatewayPool> =>
    Layer.effect(
      GatewayPool,
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const limiters = new Map<string, Limiter>()
        const known = new Map<string, PooledGateway>()
        return GatewayPool.of({
          of: Effect.fnUntraced(function* (options) {
            const gateway = gatewayKey(options)
            const limiter = limiters.get(gateway) ?? (yield* makeLimiter({ ...options, requestsPerSecond }))
            limiters.set(gateway, limiter)
            // Answers are shared by those alone who would have sent the very same request.
            const key = `${options.requestDeadlineMillis} ${gateway}`
            const pooled = known.get(key) ?? makePooled(limiter, scope)
            known.set(key, pooled)
            return pooled
          }),
        })
      }),
    )
}

/** Reads of one name in flight at a time: more than one treasury has, and fewer than there are connections. */
export const sharedAtOnce = 6

/** How long other callers may join a request that is not urgent: a poll comes every one or two seconds. */
const joinMillis = 100

const gatewayKey = ({ url, headers }: PoolOptions): string =>
  JSON.stringify([
    url.replace(/\/+$/, ""),
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), Redacted.value(value)])
      .toSorted(),
  ])

const makePooled = (limiter: Limiter, scope: Scope.Scope): PooledGateway => {
  const waiting = new Map<string, Waiting>()
  const share: PooledGateway["share"] = Effect.fnUntraced(function* <A, W>(
    ask: TurnRequest,
    read: SharedRead<W>,
    noteSent: () => void,
    send: (wide: W) => Effect.Effect<A, GatewayReason>,
  ) {
    const priority = ask.priority ?? (yield* RequestPriority)
    const key = `${priority} ${read.key}`
    const found = waiting.get(key)
    const joined = found === undefined ? undefined : read.widen(found.wide as W)
    if (found !== undefined && joined !== undefined) {
      found.wide = joined
      found.sent.push(noteSent)
      const answer = (yield* Deferred.await(found.done)) as A
      return { answer, wide: found.wide as W }
    }
    const wide = read.widen(undefined)!
    const one: Waiting = { done: Deferred.makeUnsafe(), wide, sent: [noteSent] }
    const leave = () => {
      if (waiting.get(key) === one) waiting.delete(key)
    }
    // Not in the caller's own fiber: its treasury may end while others wait for the answer.
    const turn = limiter.pass(
      { ...ask, priority },
      Effect.suspend(() => {
        leave()
        for (const hear of one.sent) hear()
        return send(one.wide as W)
      }),
    )
    const asked = Effect.andThen(priority === "urgent" ? Effect.void : Effect.sleep(joinMillis), turn).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          leave()
          Deferred.doneUnsafe(one.done, exit)
        }),
      ),
      Effect.ignore,
      Effect.forkIn(scope),
    )
    // Both, or neither: a request that can be joined and is never sent would be awaited for ever.
    yield* Effect.uninterruptible(
      Effect.suspend(() => {
        waiting.set(key, one)
        return asked
      }),
    )
    const answer = (yield* Deferred.await(one.done)) as A
    return { answer, wide: one.wide as W }
  })
  return { limiter, share }
}
