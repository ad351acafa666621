import { createHash, randomBytes } from "node:crypto"
import { Clock, Effect } from "effect"

/** A browser is asked for the token again after this time. */
export const sessionMillis = 12 * 3_600_000
/** Sessions at once; one more ends the oldest. */
const sessionsMax = 100
/** Wrong tokens of one address in a minute; more are refused unread. */
export const wrongMax = 10
const minuteMillis = 60_000
/** Addresses whose wrong tokens are counted. */
const addressesMax = 1_000

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex")

interface Session {
  readonly until: number
  /** Digest of the token that began it. */
  readonly token: string
}

interface Wrongs {
  readonly since: number
  count: number
}

const dropOldest = (map: Map<string, unknown>, max: number): void => {
  for (const key of map.keys()) {
    if (map.size <= max) return
    map.delete(key)
  }
}

/** Sessions of browsers, in memory alone: a restart ends them. Only digests of their names are kept. */
export const makeSessions = () => {
  const sessions = new Map<string, Session>()
  const wrongs = new Map<string, Wrongs>()
  return {
    /** Begins a session with the token; returns its name, for the cookie. */
    begin: (token: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const name = randomBytes(32).toString("hex")
        sessions.set(digestOf(name), { until: now + sessionMillis, token: digestOf(token) })
        dropOldest(sessions, sessionsMax)
        return name
      }),
    /** True if one of the names is a session of this token that is not over. */
    has: (names: ReadonlyArray<string>, token: string) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        names.some((name) => {
          const session = sessions.get(digestOf(name))
          return session !== undefined && now < session.until && session.token === digestOf(token)
        }),
      ),
    end: (names: ReadonlyArray<string>): void => {
      for (const name of names) sessions.delete(digestOf(name))
    },
    /** True if the address has sent too many wrong tokens in this minute. */
    isBlocked: (address: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const wrong = wrongs.get(address)
        return wrong !== undefined && Math.abs(now - wrong.since) < minuteMillis && wrong.count >= wrongMax
      }),
    noteWrong: (address: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const wrong = wrongs.get(address)
        if (wrong !== undefined && Math.abs(now - wrong.since) < minuteMillis) {
          wrong.count++
          return
        }
        wrongs.delete(address)
        wrongs.set(address, { since: now, count: 1 })
        dropOldest(wrongs, addressesMax)
      }),
  }
}
