import { WebSocket } from "@effect/platform-node/NodeWS"
import { Cause, Clock, Context, Data, Duration, Effect, Exit, Random, Redacted, type Scope } from "effect"
import * as Socket from "effect/socket/Socket"
import { escapeText } from "./escapeText.ts"
import { type GatewayError, wordsOf } from "./GatewayError.ts"
import { concerns, type StreamKind } from "./streamHint.ts"
import type { Transport } from "./Transport.ts"

/** Public keys, as the gateway filters by them. */
export interface Watched {
  /** Whose transactions are of interest. */
  readonly senders: ReadonlyArray<string>
  /** Whose balances are of interest: of each a connection, at most the first 20. */
  readonly holders: ReadonlyArray<string>
}

/**
 * News over WebSocket, as hints alone: a message may be late, false, repeated or never come, so what is true is asked
 * for over HTTP. Nothing that a gateway does here reaches the caller but a hint.
 */
export class Streams extends Context.Service<
  Streams,
  {
    /**
     * Keeps listening to every gateway. `hint` runs when a stream opens, and for messages that name one of the keys.
     * Never ends, never fails.
     */
    readonly listen: (watched: Watched, hint: (kind: StreamKind) => Effect.Effect<void>) => Effect.Effect<never>
  }
>()("cofferer/gateway/Streams") {
  static readonly make = (transports: ReadonlyArray<Transport["Service"]>): Streams["Service"] =>
    Streams.of({
      listen: (watched, hint) =>
        Effect.suspend(() => {
          const lines = transports.flatMap((transport) => linesOf(transport, watched))
          return Effect.forEach(lines, (line) => keep(line, hint), { concurrency: "unbounded" })
        }).pipe(Effect.andThen(Effect.never)),
    })
}

/** A gateway's addresses may have 250 streams open; nobody needs as many. */
const holdersMax = 20

/** What a gateway's streams may cost together. */
interface Allowance {
  /** When the next message may be read, Unix milliseconds. */
  nextAt: number
}

/** One stream of one gateway. */
interface Line {
  readonly transport: Transport["Service"]
  readonly kind: StreamKind
  readonly url: string
  readonly keys: ReadonlySet<string>
  readonly allowance: Allowance
}

const linesOf = (transport: Transport["Service"], { senders, holders }: Watched): ReadonlyArray<Line> => {
  const base = `${transport.options.url.replace(/\/+$/, "").replace(/^http/, "ws")}/api/v2/stream`
  const allowance: Allowance = { nextAt: 0 }
  const query = (name: string, keys: ReadonlyArray<string>) =>
    keys.map((key) => `${name}=${encodeURIComponent(key)}`).join("&")
  const line = (kind: StreamKind, path: string, keys: ReadonlyArray<string>): Line => ({
    transport,
    kind,
    url: `${base}/${path}`,
    keys: new Set(keys),
    allowance,
  })
  const results = line("results", `transaction-results?${query("partyIds", senders)}`, senders)
  // The stream of balances takes one party; without one it tells of everybody's, or from 0.79 on of nobody's.
  const balances = holders
    .slice(0, holdersMax)
    .map((holder) => line("balances", `accounts?${query("partyId", [holder])}`, [holder]))
  return senders.length === 0 ? balances : [results, ...balances]
}

/** Why a stream ended. */
class StreamEnd extends Data.TaggedError("StreamEnd")<{
  readonly detail: string
  /** The gateway wants none of it: the least time until the next attempt. */
  readonly waitMillis: number
}> {}

const waitMillisMin = 1_000
const waitMillisMax = 60_000
/** A connection that lasted so long was none that fails: the next one is tried at once again. */
const healthyMillis = 60_000
/** The network sends no pings: a connection that died without a word is like one on which nothing happens. */
const silenceMillis = 300_000
const openMillisMax = 10_000
/** How long a gateway shuts callers out where it does not say. */
const shutOutMillis = 600_000

/** Opens the stream again whenever it ends. Never ends, whatever happens to the connection. */
const keep = Effect.fnUntraced(function* (
  line: Line,
  hint: (kind: StreamKind) => Effect.Effect<void>,
): Effect.fn.Return<never> {
  let wait = waitMillisMin
  let said = false
  for (;;) {
    const since = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(Effect.scoped(follow(line, hint)))
    if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
    const lasted = (yield* Clock.currentTimeMillis) - since
    if (lasted >= healthyMillis) {
      wait = waitMillisMin
      said = false
    }
    const { detail, waitMillis } = Exit.isSuccess(exit) ? silent : endOf(exit.cause)
    const told = { gateway: line.transport.gateway, stream: line.kind, reason: detail }
    yield* said ? Effect.logDebug("a stream ended", told) : Effect.logInfo("a stream ended", told)
    said = true
    const least = Math.max(wait, waitMillis)
    yield* Effect.sleep(Duration.millis(Math.round(least * (0.8 + (yield* Random.next) * 0.4))))
    wait = Math.min(waitMillisMax, wait * 2)
  }
})

const silent = { detail: `nothing came for ${silenceMillis / 1_000} s`, waitMillis: 0 }

const endOf = (cause: Cause.Cause<StreamEnd | GatewayError>): { detail: string; waitMillis: number } => {
  for (const reason of cause.reasons) {
    if (reason._tag !== "Fail") continue
    const { error } = reason
    if (error._tag === "StreamEnd") return { detail: error.detail, waitMillis: error.waitMillis }
    const waitMillis = error.reason._tag === "Banned" ? error.reason.retryAfterMillis : 0
    return { detail: wordsOf(error.reason), waitMillis: waitMillis ?? shutOutMillis }
  }
  return { detail: escapeText(Cause.pretty(cause)), waitMillis: waitMillisMax }
}

/** One connection to its end; succeeds where nothing came for too long. */
const follow = Effect.fnUntraced(function* (line: Line, hint: (kind: StreamKind) => Effect.Effect<void>) {
  const { transport, kind, keys, allowance } = line
  yield* transport.turn("stream")
  const { pull, refusal } = yield* connect(line)
  const next = Effect.timeoutOption(
    Effect.mapError(pull, (error) => ended(error, refusal())),
    silenceMillis,
  )
  // What came before the connection stood is told by none of its messages.
  yield* hint(kind)
  for (;;) {
    const messages = yield* next
    if (messages._tag === "None") return
    let size = 0
    let isHint = false
    for (const message of messages.value) {
      size += Math.max(messageCost, message.length)
      // One that concerns us says all that can be said: the others are not even read.
      if (!isHint) isHint = yield* concerned(message, kind, keys)
    }
    if (isHint) yield* hint(kind)
    yield* pay(allowance, size)
  }
})

const concerned = (
  message: string | Uint8Array,
  kind: StreamKind,
  keys: ReadonlySet<string>,
): Effect.Effect<boolean, StreamEnd> => {
  const said = concerns(message, kind, keys)
  return typeof said === "boolean" ? Effect.succeed(said) : Effect.fail(new StreamEnd({ detail: said, waitMillis: 0 }))
}

/** Characters of messages that are read in a second, of all streams of a gateway. Faster ones wait, and are dropped. */
const charactersPerSecond = 1_048_576
/** A message counts as so many characters at least. */
const messageCost = 256

const pay = Effect.fnUntraced(function* (allowance: Allowance, size: number) {
  const now = yield* Clock.currentTimeMillis
  allowance.nextAt = Math.max(now, allowance.nextAt) + (size * 1_000) / charactersPerSecond
  const wait = Math.ceil(allowance.nextAt - now)
  // Less than a frame's worth is not worth a timer.
  if (wait > 10) yield* Effect.sleep(Duration.millis(wait))
})

/** A message that is longer ends the connection before it is read; the network sends none. */
const messageBytesMax = 65_536

interface Connection {
  readonly pull: Socket.Reader["pull"]
  /** HTTP status of a gateway that did not open the stream. */
  readonly refusal: () => number | undefined
}

/** No redirects, no proxy, no compression. The connection ends with the scope, without waiting for the other side. */
const connect = Effect.fnUntraced(function* ({
  transport,
  url,
}: Line): Effect.fn.Return<Connection, StreamEnd, Scope.Scope> {
  let refusal: number | undefined
  const headers = Object.fromEntries(
    Object.entries(transport.options.headers).map(([name, value]) => [name, Redacted.value(value)]),
  )
  const open = Effect.try({
    try: () => {
      const socket = new WebSocket(url, {
        headers,
        maxPayload: messageBytesMax,
        perMessageDeflate: false,
        followRedirects: false,
        autoPong: false,
      })
      socket.on("error", () => {})
      socket.on("unexpected-response", (request, response) => {
        refusal = response.statusCode
        request.destroy()
        socket.terminate()
      })
      // A gateway that asks and does not listen gets no second answer: what is not sent stays in memory.
      socket.on("ping", (data: Buffer) => {
        if (socket.bufferedAmount === 0 && socket.readyState === WebSocket.OPEN) socket.pong(data)
      })
      return socket
    },
    catch: (cause) => new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause }) }),
  })
  const socket = yield* Socket.fromWebSocket(
    Effect.acquireRelease(open, (opened) => Effect.sync(() => opened.terminate())),
    { openTimeout: openMillisMax, highWaterMark: messageBytesMax },
  )
  const { pull } = yield* Effect.mapError(socket.reader, (error) => ended(error, refusal))
  return { pull, refusal: () => refusal }
})

const ended = (error: Socket.SocketError, status: number | undefined): StreamEnd => {
  if (status !== undefined) {
    const waitMillis = status === 403 ? shutOutMillis : status === 429 ? waitMillisMax : 0
    return new StreamEnd({ detail: `refused with status ${status}`, waitMillis })
  }
  return new StreamEnd({ detail: escapeText(wordsOfSocket(error)), waitMillis: 0 })
}

const wordsOfSocket = ({ reason }: Socket.SocketError): string => {
  const cause = "cause" in reason ? reason.cause : undefined
  const words = typeof cause === "object" && cause !== null && "message" in cause ? `: ${String(cause.message)}` : ""
  return `${reason.message}${words}`
}
