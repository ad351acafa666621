import { Clock, Context, Deferred, Effect, Exit, Option } from "effect"
import type { GatewayReason } from "./GatewayError.ts"

/**
 * Priority of a request while several wait for their turn. urgent: results of payments, and the head that a payment
 * needs. normal: polls. backfill: history that nobody waits for. A submission goes before all of them.
 */
export type Priority = "urgent" | "normal" | "backfill"

/** Default priority of requests; a loop sets it around its reads. */
export const RequestPriority = Context.Reference<Priority>("cofferer/gateway/RequestPriority", {
  defaultValue: () => "normal",
})

/** A token bucket, with the limits that the gateway advertised. All times are monotonic milliseconds. */
interface Budget {
  /** Requests a second while no limit is advertised, and upper bound of the rate. */
  readonly perSecondMax: number
  /** Requests that may be sent at once. */
  tokens: number
  refilledAt: number
  /** Advertised: requests a second; undefined while nothing is. */
  limit: number | undefined
  /** Unused share of the advertised limit, 0 to 1. Other callers may use it too, if the gateway counts us as one. */
  left: number
  /** When an answer last advertised `limit` and `left`. */
  advertisedAt: number
  /** Factor on the rate: 1, halved by each refusal, and slowly whole again. */
  share: number
  slowedAt: number
  /** No token comes before this time. */
  quietUntil: number
  bannedUntil: number
}

/** Share of the advertised limit, and of its burst, that we use. */
const ownShare = 0.5
/** Size of the bucket in seconds of its rate: the network's own bucket holds five. */
const burstSeconds = 5
/** Lower bound of the rate: a gateway that is never queried cannot show that it has recovered. */
const perSecondMin = 0.2
/** Lower bound of `left`, for the same reason. */
const leftMin = 0.05
/** Time in which `share` grows from 0 to 1; half of it after a single refusal. */
const recoveryMillis = 600_000
/** The network's own bans last this long. A gateway that claims a longer one is queried again after this. */
const banMillisMax = 600_000
/** Longest pause after "too many requests". The network itself asks for none; a proxy may. */
const quietMillisMax = 60_000
/** Advertised limits lapse after this: each answer of the network itself repeats them. */
const advertisedMillisMax = 60_000
/** Longest RateLimit-Reset that counts. */
const resetSecondsMax = 3_600

/** A full bucket. */
const makeBudget = (perSecondMax: number, now: number): Budget => ({
  perSecondMax,
  tokens: perSecondMax * burstSeconds,
  refilledAt: now,
  limit: undefined,
  left: 1,
  advertisedAt: now,
  share: 1,
  slowedAt: Number.NEGATIVE_INFINITY,
  quietUntil: 0,
  bannedUntil: 0,
})

const ownLimit = ({ limit, perSecondMax }: Budget): number =>
  limit === undefined ? perSecondMax : Math.min(perSecondMax, limit * ownShare)

/** The rate in force. */
const perSecond = (budget: Budget): number => Math.max(perSecondMin, ownLimit(budget) * budget.share * budget.left)

/** Adds the tokens and the share gained since the last refill, and forgets limits that lapsed. */
const refill = (budget: Budget, now: number): void => {
  const lapsesAt = budget.advertisedAt + advertisedMillisMax
  if (budget.limit !== undefined && now >= lapsesAt) {
    accrue(budget, Math.max(budget.refilledAt, lapsesAt))
    budget.limit = undefined
    budget.left = 1
  }
  accrue(budget, now)
}

const accrue = (budget: Budget, now: number): void => {
  const millis = Math.max(0, now - Math.max(budget.refilledAt, budget.quietUntil))
  const tokensMax = Math.max(1, ownLimit(budget) * budget.share * burstSeconds)
  budget.tokens = Math.min(tokensMax, budget.tokens + (millis / 1_000) * perSecond(budget))
  budget.share = Math.min(1, budget.share + Math.max(0, now - budget.refilledAt) / recoveryMillis)
  budget.refilledAt = now
}

/** Milliseconds until the next token; 0 if there is one. */
const untilToken = (budget: Budget, now: number): number => {
  if (budget.tokens >= 1) return 0
  const quiet = Math.max(0, budget.quietUntil - now)
  return quiet + Math.max(1, Math.ceil(((1 - budget.tokens) / perSecond(budget)) * 1_000))
}

const digits = (text: string | undefined): number | undefined =>
  text !== undefined && /^[0-9]{1,7}$/.test(text) ? Number(text) : undefined

/**
 * Applies the gateway's headers: RateLimit-Limit requests in RateLimit-Reset seconds, RateLimit-Remaining of them left.
 * A burst never uses more than half of what is left, and the rate falls with it.
 */
const applyHeaders = (budget: Budget, headers: Readonly<Record<string, string | undefined>>, now: number): void => {
  const limit = digits(headers["ratelimit-limit"])
  if (limit === undefined || limit === 0) return
  refill(budget, now)
  budget.limit = limit / Math.min(resetSecondsMax, Math.max(1, digits(headers["ratelimit-reset"]) ?? 1))
  budget.advertisedAt = now
  const remaining = digits(headers["ratelimit-remaining"])
  if (remaining === undefined) return
  budget.left = Math.min(1, Math.max(leftMin, remaining / limit))
  budget.tokens = Math.min(budget.tokens, remaining * ownShare)
}

/**
 * After "too many requests" to one sent at `sentAt`: sends nothing for the time given, at most a minute, and then at
 * half the rate. Requests that were in flight together halve it once.
 */
const slowDown = (budget: Budget, sentAt: number, now: number, retryAfterMillis = 0): void => {
  quieten(budget, now + Math.min(retryAfterMillis, quietMillisMax))
  halve(budget, sentAt, now)
}

/** After a ban: sends nothing for the time given, at most ten minutes, and then at half the rate. */
const applyBan = (budget: Budget, sentAt: number, now: number, retryAfterMillis = banMillisMax): void => {
  const until = now + Math.min(retryAfterMillis, banMillisMax)
  quieten(budget, until)
  halve(budget, sentAt, now)
  budget.bannedUntil = Math.max(budget.bannedUntil, until)
}

const quieten = (budget: Budget, until: number): void => {
  budget.tokens = 0
  budget.quietUntil = Math.max(budget.quietUntil, until)
}

const halve = (budget: Budget, sentAt: number, now: number): void => {
  if (sentAt < budget.slowedAt) return
  budget.share /= 2
  budget.slowedAt = now
}

/** Present limits of a gateway. Rates are requests a second; `waiting` counts requests that wait for their turn. */
export type LimiterPace =
  /** At most half of what the gateway advertises. */
  | { readonly state: "free"; readonly perSecond: number; readonly waiting: number }
  /** It answered "too many requests" recently, or its advertised limit is partly used. */
  | { readonly state: "throttled"; readonly perSecond: number; readonly waiting: number }
  /** It banned us. Every request fails as Banned, without being sent. */
  | { readonly state: "banned"; readonly forMillis: number; readonly waiting: number }

/** Default upper bound of requests a second to a gateway. */
export const requestsPerSecondUsual = 10

interface LimiterOptions {
  /** Requests a second while the gateway advertises no limit, and at most. */
  readonly requestsPerSecond: number
  /** Longest wait of a read for its turn. */
  readonly waitMillisMax: number
}

/** Properties of a request that decide its turn. */
export interface TurnRequest {
  /** Name of a read; reads of one name wait for each other. Undefined: a write, which goes before all reads. */
  readonly read: string | undefined
  /** Requests of that name that may be in flight at a time. Default: 1. */
  readonly atOnce?: number | undefined
  /** Default: RequestPriority. */
  readonly priority?: Priority | undefined
}

/** A write's turn. */
export interface Turn {
  /** Monotonic milliseconds. */
  readonly sentAt: number | undefined
}

/** Longest wait of a write. Its caller read the newest block before, and must read it again rather than send late. */
const writeWaitMillisMax = 2_000

/** Added to the arrival time for the order of turns: urgent reads go ahead, and none waits for ever. */
const headStartMillis: Readonly<Record<Priority, number>> = { urgent: 0, normal: 1_000, backfill: 5_000 }
/** The same in turns, for gateways that grant fewer turns in that time. */
const headStartTurns: Readonly<Record<Priority, number>> = { urgent: 0, normal: 3, backfill: 6 }

interface Waiter extends Turn {
  readonly read: string | undefined
  readonly atOnce: number
  readonly rank: number
  readonly until: number
  readonly woken: Deferred.Deferred<void>
  /** When its turn came. */
  sentAt: number | undefined
}

interface State {
  readonly budget: Budget
  readonly waiting: Array<Waiter>
  /** Reads in flight, by name. */
  readonly reading: Map<string, number>
}

const nowMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

/** Keeps the rate of requests to one gateway far below its limit. */
export const makeLimiter = (options: LimiterOptions) =>
  Effect.map(nowMillis, (start) => {
    const state: State = { budget: makeBudget(options.requestsPerSecond, start), waiting: [], reading: new Map() }
    return {
      /**
       * Runs the request once it is its turn: writes first, then by priority, one read of a name at a time. Fails as
       * RateLimited where the wait would be too long, as Banned during a ban; nothing was sent then.
       */
      pass: <A, R>(ask: TurnRequest, send: Effect.Effect<A, GatewayReason, R>) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(queue(state, options, ask), (waiter) =>
            restore(turn(state, waiter)).pipe(
              Effect.andThen(restore(send)),
              Effect.onExit((exit) => leave(state, waiter, exit)),
            ),
          ),
        ),
      /** Waits for the turn of a write. A turn that is not used delays all other requests. */
      takeTurn: Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(queue(state, options, { read: undefined }), (waiter) =>
          restore(turn(state, waiter)).pipe(
            Effect.onError((cause) => leave(state, waiter, Exit.failCause(cause))),
            Effect.as(waiter as Turn),
          ),
        ),
      ),
      /** Runs the write whose turn was taken, at once. Fails as Banned if the gateway banned us meanwhile. */
      use: <A, R>(taken: Turn, send: Effect.Effect<A, GatewayReason, R>) =>
        Effect.andThen(notBanned(state), send).pipe(Effect.onExit((exit) => learn(state, taken, exit))),
      /** Applies the limits in an answer's headers, whose names are in lower case. */
      applyHeaders: (headers: Readonly<Record<string, string | undefined>>) =>
        Effect.map(nowMillis, (now) => applyHeaders(state.budget, headers, now)),
      pace: Effect.map(nowMillis, (now) => paceOf(state, now)),
    }
  })
export type Limiter = Effect.Success<ReturnType<typeof makeLimiter>>

const queue = Effect.fnUntraced(function* (state: State, options: LimiterOptions, ask: TurnRequest) {
  const now = yield* nowMillis
  const priority = ask.priority ?? (yield* RequestPriority)
  const waiter: Waiter = {
    read: ask.read,
    atOnce: ask.atOnce ?? 1,
    rank: ask.read === undefined ? Number.NEGATIVE_INFINITY : now + headStart(state.budget, options, priority),
    until: now + (ask.read === undefined ? writeWaitMillisMax : options.waitMillisMax),
    woken: Deferred.makeUnsafe(),
    sentAt: undefined,
  }
  state.waiting.push(waiter)
  return waiter
})

/** At most half of a read's longest wait, or a poll among urgent reads would never get its turn. */
const headStart = (budget: Budget, { waitMillisMax }: LimiterOptions, priority: Priority): number => {
  const turns = (headStartTurns[priority] / perSecond(budget)) * 1_000
  return Math.max(headStartMillis[priority], Math.min(turns, waitMillisMax / 2))
}

const notBanned = (state: State): Effect.Effect<void, GatewayReason> =>
  Effect.flatMap(nowMillis, (now) => {
    const { bannedUntil } = state.budget
    return bannedUntil > now
      ? Effect.fail({ _tag: "Banned", retryAfterMillis: Math.ceil(bannedUntil - now) } as const)
      : Effect.void
  })

/** Waits for the waiter's turn. Any waiter that wakes grants all turns that are due. */
const turn = Effect.fnUntraced(function* (state: State, waiter: Waiter): Effect.fn.Return<void, GatewayReason> {
  for (;;) {
    const now = yield* nowMillis
    const { budget } = state
    yield* notBanned(state)
    serve(state, now)
    if (waiter.sentAt !== undefined) return
    const wait = untilToken(budget, now)
    if (now >= waiter.until) return yield* Effect.fail(lateTurn(state, waiter, wait))
    const left = waiter.until - now
    const millis = Math.ceil(wait === 0 ? left : Math.min(wait, left))
    yield* Deferred.await(waiter.woken).pipe(Effect.timeoutOption(millis))
  }
})

/** True if the name has its highest number of requests in flight. */
const isHeld = ({ reading }: State, { read, atOnce }: Waiter): boolean =>
  read !== undefined && (reading.get(read) ?? 0) >= atOnce

const lateTurn = (state: State, waiter: Waiter, wait: number): GatewayReason =>
  wait === 0 && isHeld(state, waiter)
    ? { _tag: "RateLimited", detail: `not sent: another ${waiter.read} request was still on its way` }
    : {
        _tag: "RateLimited",
        retryAfterMillis: Math.max(1, wait),
        detail: `not sent: our own limit of ${perSecond(state.budget).toFixed(1)} requests a second was spent`,
      }

/** Grants as many turns as there are tokens. */
const serve = (state: State, now: number): void => {
  const { budget, waiting, reading } = state
  refill(budget, now)
  while (budget.tokens >= 1) {
    let next: Waiter | undefined
    for (const one of waiting) {
      if (isHeld(state, one)) continue
      if (next === undefined || one.rank < next.rank) next = one
    }
    if (next === undefined) return
    budget.tokens -= 1
    waiting.splice(waiting.indexOf(next), 1)
    if (next.read !== undefined) reading.set(next.read, (reading.get(next.read) ?? 0) + 1)
    next.sentAt = now
    Deferred.doneUnsafe(next.woken, Exit.void)
  }
}

/** Frees the place of a request, and adjusts the budget to its result. */
const leave = (state: State, waiter: Waiter, exit: Exit.Exit<unknown, GatewayReason>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { waiting, reading } = state
    if (waiter.sentAt === undefined) waiting.splice(waiting.indexOf(waiter), 1)
    else if (waiter.read !== undefined) reading.set(waiter.read, (reading.get(waiter.read) ?? 1) - 1)
    return learn(state, waiter, exit)
  })

const learn = (state: State, { sentAt }: Turn, exit: Exit.Exit<unknown, GatewayReason>): Effect.Effect<void> =>
  Effect.map(nowMillis, (now) => {
    const { budget, waiting } = state
    refill(budget, now)
    const error = Option.getOrUndefined(Exit.findErrorOption(exit))
    if (sentAt !== undefined) {
      if (error?._tag === "RateLimited") slowDown(budget, sentAt, now, error.retryAfterMillis)
      if (error?._tag === "Banned") applyBan(budget, sentAt, now, error.retryAfterMillis)
    }
    if (budget.bannedUntil > now) for (const one of waiting) Deferred.doneUnsafe(one.woken, Exit.void)
    else serve(state, now)
  })

const paceOf = ({ budget, waiting }: State, now: number): LimiterPace => {
  const forMillis = Math.ceil(budget.bannedUntil - now)
  if (forMillis > 0) return { state: "banned", forMillis, waiting: waiting.length }
  refill(budget, now)
  const isFree = budget.share === 1 && budget.left === 1 && budget.quietUntil <= now
  return { state: isFree ? "free" : "throttled", perSecond: perSecond(budget), waiting: waiting.length }
}
