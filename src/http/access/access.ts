import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ByteSize, Clock, Effect, Option } from "effect"
import { HttpIncomingMessage, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { isLoopback } from "../../config/schema/Fields.ts"
import { readUtf8 } from "../../config/yaml/readBytes.ts"
import { pathOf, refusal } from "../respond.ts"
import { loginPage } from "./pages.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** File of the data directory with the read token, which readers on other hosts need. */
export const tokenFile = (dataDir: string): string => join(dataDir, "read-token")

const tokenBytesMax = 1_000
const bodyBytesMax = ByteSize.kibibytes(4)

/** Reads the token at each use, so that a new token ends sessions of the former one. Creates a missing one. */
const readToken = (dataDir: string): string => {
  const file = tokenFile(dataDir)
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" })
  const text = readUtf8(file, tokenBytesMax)
  const token = typeof text === "string" ? text.trim() : ""
  if (token === "") throw new Error(`${file} holds no token`)
  return token
}

/** Compares in constant time, whatever the lengths. */
const isSame = (a: string, b: string): boolean => {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Headers by which a proxy names the client of a request. */
const forwarded = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"]

const hostOf = (authority = ""): string => authority.replace(/:[0-9]+$/, "")

/**
 * True if the request is of a program on this machine: the listener is on loopback, and so is the Host header. A web
 * page that gave this machine another name, and requests through a proxy, need the token.
 */
const isLocal = (host: string, { headers }: Request): boolean =>
  isLoopback(host) && isLoopback(hostOf(headers["host"])) && forwarded.every((name) => headers[name] === undefined)

/** True if a page of another site sent the form. Programs other than browsers send neither header. */
const isForeign = ({ headers }: Request): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin" && site !== "none"
  const origin = headers["origin"]
  return origin !== undefined && URL.parse(origin)?.host !== headers["host"]
}

/** Redirects to the page, relative to the path that a proxy gives it. */
export const toPage = (headers: Readonly<Record<string, string>>): Response =>
  HttpServerResponse.empty({ status: 303, headers: { location: "./", "cache-control": "no-store", ...headers } })

const loginPath = "/login"

/** Decides who may read. */
export const makeAccess = ({ host, dataDir }: { readonly host: string; readonly dataDir: string }) => {
  const sessions = makeSessions()
  const currentToken = Effect.option(Effect.try(() => readToken(dataDir)))
  // Beyond loopback it is written at the start, so that people find it.
  if (!isLoopback(host)) Effect.runSync(currentToken)
  // Daemons on other ports of this host have cookies of their own.
  const cookie = `cofferer-${createHash("sha256").update(dataDir).digest("hex").slice(0, 8)}`
  const names = ({ headers }: Request): ReadonlyArray<string> =>
    (headers["cookie"] ?? "").split(";").flatMap((pair) => {
      const [name, value] = pair.trim().split("=")
      return name === cookie && value !== undefined ? [value] : []
    })
  const setCookie = ({ headers }: Request, value: string, seconds: number) => {
    const isSecure = headers["x-forwarded-proto"]?.split(",")[0]?.trim() === "https"
    // Without a path: the browser takes the folder of the form's address, which a proxy may have chosen.
    const attributes = `Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`
    return { "set-cookie": `${cookie}=${value}; ${attributes}` }
  }
  /** The kind of an authorized reader: a local program or one with the token, or a browser session; else a refusal. */
  const check = Effect.fnUntraced(function* (request: Request) {
    if (isLocal(host, request)) return "program"
    const token = yield* currentToken
    if (Option.isSome(token)) {
      const given = /^Bearer (.+)$/.exec(request.headers["authorization"] ?? "")?.[1]
      if (given !== undefined && isSame(given, token.value)) return "program"
      if (yield* sessions.has(names(request), token.value)) return "browser"
    }
    if (["/", loginPath].includes(pathOf(request))) return loginPage(401, "")
    return refusal(401, "a read token is needed", "send Authorization: Bearer with the content of read-token")
  })
  const login = Effect.fnUntraced(function* (request: Request) {
    if (isForeign(request)) return refusal(403, "the form of another site")
    const address = Option.getOrElse(request.remoteAddress, () => "")
    if (yield* sessions.isBlocked(address)) return loginPage(429, "Too many wrong tokens: wait a minute.")
    const body = yield* request.text.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, bodyBytesMax),
      Effect.orElseSucceed(() => ""),
    )
    const given = new URLSearchParams(body).get("token")?.trim() ?? ""
    const token = yield* currentToken
    if (Option.isSome(token) && isSame(given, token.value)) {
      return toPage(setCookie(request, yield* sessions.begin(token.value), sessionMillis / 1_000))
    }
    yield* sessions.noteWrong(address)
    return loginPage(401, Option.isSome(token) ? "That is not the token." : "The token cannot be read: see the log.")
  })
  const logout = (request: Request) =>
    Effect.sync(() => {
      if (isForeign(request)) return refusal(403, "the form of another site")
      sessions.end(names(request))
      return toPage(setCookie(request, "", 0))
    })
  /** Answer to a log-in or log-out form; undefined for any other request. */
  const sign = (request: Request) => {
    if (request.method !== "POST") return undefined
    const path = pathOf(request)
    return path === loginPath ? login(request) : path === "/logout" ? logout(request) : undefined
  }
  return { check, sign }
}
export type Access = ReturnType<typeof makeAccess>

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
