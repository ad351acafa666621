import type { Profile } from "../Profiles.ts"
import { banned, rateLimited } from "./Answer.ts"

interface Bucket {
  tokens: number
  atMillis: number
}

interface Caller {
  readonly calls: Bucket
  /** Spent by refused calls alone; when it is empty the caller is banned. */
  readonly refusals: Bucket
  bannedUntilMillis: number
}

/** The data node's limiter: a bucket per caller, a second one for calls over the limit, and a ban behind that. */
export interface RateLimiter {
  readonly rule: NonNullable<Profile["rateLimit"]>
  readonly callers: Map<string, Caller>
}

export const makeRateLimiter = (rule: NonNullable<Profile["rateLimit"]>): RateLimiter => ({ rule, callers: new Map() })

/** Counts one call of `address`. Where that is over the limit, a refusal is the answer instead of the real one. */
export const admit = (limiter: RateLimiter, address: string, nowMillis: number) => {
  const caller = callerOf(limiter, address, nowMillis)
  if (caller.bannedUntilMillis > nowMillis) return refuseBanned(caller, nowMillis)
  const headers = {
    "RateLimit-Limit": String(limiter.rule.perSecond),
    "RateLimit-Reset": "1",
    "RateLimit-Request-Remote-Addr": address,
  }
  if (spend(limiter, caller.calls, nowMillis)) {
    return {
      headers: { ...headers, "RateLimit-Remaining": String(Math.floor(caller.calls.tokens)) },
      refusal: undefined,
    }
  }
  if (!spend(limiter, caller.refusals, nowMillis)) {
    caller.bannedUntilMillis = nowMillis + limiter.rule.banMillis
    return refuseBanned(caller, nowMillis)
  }
  return {
    headers: { ...headers, "RateLimit-Remaining": "0" },
    refusal: rateLimited,
  }
}

const refuseBanned = (caller: Caller, nowMillis: number) => ({
  headers: { "RateLimit-Retry-After": String(Math.ceil((caller.bannedUntilMillis - nowMillis) / 1_000)) },
  refusal: banned,
})

const callerOf = (limiter: RateLimiter, address: string, nowMillis: number): Caller => {
  const known = limiter.callers.get(address)
  if (known !== undefined) return known
  const full = (): Bucket => ({ tokens: limiter.rule.burst, atMillis: nowMillis })
  const caller: Caller = { calls: full(), refusals: full(), bannedUntilMillis: 0 }
  limiter.callers.set(address, caller)
  return caller
}

const spend = (limiter: RateLimiter, bucket: Bucket, nowMillis: number): boolean => {
  const refill = ((nowMillis - bucket.atMillis) / 1_000) * limiter.rule.perSecond
  bucket.tokens = Math.min(limiter.rule.burst, bucket.tokens + Math.max(0, refill))
  bucket.atMillis = nowMillis
  if (bucket.tokens < 1) return false
  bucket.tokens -= 1
  return true
}
