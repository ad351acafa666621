/** A token bucket, and what the gateway's words make of it. All times are monotonic milliseconds. */
export interface Budget {
  /** Requests a second while nothing is advertised; never are there more. */
  readonly perSecondMax: number
  /** What may be sent at once. */
  tokens: number
  refilledAt: number
  /** Advertised: requests a second; undefined while nothing is. */
  limit: number | undefined
  /** Share of the advertised limit that is left to all callers whom the gateway counts as one, 0 to 1. */
  left: number
  /** When an answer advertised them last. */
  advertisedAt: number
  /** What refusals leave of the rate: 1, halved by each, and slowly whole again. */
  share: number
  slowedAt: number
  /** No token comes before this time. */
  quietUntil: number
  bannedUntil: number
}

/** Share of the advertised limit, and of the burst behind it, that is ours. */
const ownShare = 0.5
/** Seconds of the rate that may be sent in one burst: the network's own bucket holds five seconds of its rate. */
const burstSeconds = 5
/** However little is allowed: a gateway that is never asked never tells that it has recovered. */
const perSecondMin = 0.2
const leftMin = 0.05
/** From a rate of nothing to the whole one; half of it after a single refusal. */
const recoveryMillis = 600_000
/** The network's own bans last so long. Who asks for more, by mistake or not, is asked again after this. */
const banMillisMax = 600_000
/** "Too many" comes without a time from the network itself: what stands before it may ask for so long. */
const quietMillisMax = 60_000
/** Each answer of the network itself names its limits: what none has repeated for so long is not in force. */
const advertisedMillisMax = 60_000
/** Seconds of the longest time for which a limit is named. */
const resetSecondsMax = 3_600

/** A full bucket. */
export const makeBudget = (perSecondMax: number, now: number): Budget => ({
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
export const perSecond = (budget: Budget): number =>
  Math.max(perSecondMin, ownLimit(budget) * budget.share * budget.left)

/** Adds what time has brought since the last look, tokens and trust, and forgets limits that nobody repeats. */
export const refill = (budget: Budget, now: number): void => {
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

/** Milliseconds until there is a token; at least 1 where there is none. */
export const untilToken = (budget: Budget, now: number): number => {
  if (budget.tokens >= 1) return 0
  const quiet = Math.max(0, budget.quietUntil - now)
  return quiet + Math.max(1, Math.ceil(((1 - budget.tokens) / perSecond(budget)) * 1_000))
}

const digits = (text: string | undefined): number | undefined =>
  text !== undefined && /^[0-9]{1,7}$/.test(text) ? Number(text) : undefined

/**
 * Takes the gateway's word: RateLimit-Limit requests in RateLimit-Reset seconds, of which RateLimit-Remaining are left.
 * Never more than half of what is left is spent in a burst, and the less is left, the slower it goes.
 */
export const hear = (budget: Budget, headers: Readonly<Record<string, string | undefined>>, now: number): void => {
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
 * After "too many" to a request sent at `sentAt`: nothing for the time given, at most a minute, and half the rate, once
 * for all that were on their way together.
 */
export const slowDown = (budget: Budget, sentAt: number, now: number, retryAfterMillis = 0): void => {
  quieten(budget, now + Math.min(retryAfterMillis, quietMillisMax))
  halve(budget, sentAt, now)
}

/** After a ban: nothing at all for the time given, which is ten minutes at most, and half the rate then. */
export const shutOut = (budget: Budget, sentAt: number, now: number, retryAfterMillis = banMillisMax): void => {
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
