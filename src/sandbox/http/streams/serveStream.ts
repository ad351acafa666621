import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { type Cause, Clock, Effect, Queue, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Fault } from "../../Faults.ts"
import type { SandboxError } from "../../SandboxError.ts"
import { type Answer, nodeError, plainError, type Refusal, refuse } from "../Answer.ts"
import { parseQuery } from "../Query.ts"
import type { World } from "../Route.ts"
import { eventBuses } from "./eventBus.ts"
import { listings } from "./listings.ts"
import { type Feed, frameMax, Gone, type Line, type StreamRoute } from "./StreamRoute.ts"

export const streams: ReadonlyArray<StreamRoute> = [...eventBuses, ...listings]

type Request = HttpServerRequest.HttpServerRequest

/** What the server does for any request of the network. */
export interface Server {
  /** The answer of faults that strike before a request has an effect; undefined where it goes on. */
  readonly strike: (request: Request, faults: ReadonlyArray<Fault>) => Effect.Effect<Answer | undefined, SandboxError>
  readonly respond: (request: Request, answer: Answer) => HttpServerResponse.HttpServerResponse
}

/** Streams that one address may have open. */
const placesMax = 250

/** Messages of a client that wait to be heard; more are forgotten. */
const unheardMax = 16

/** Answers all streams of a world: each as WebSocket, and where that makes sense as lines over plain HTTP. */
export const makeStreams = (world: World, server: Server) => {
  const places = new Map<string, number>()
  const serve = Effect.fnUntraced(function* (route: StreamRoute, request: Request) {
    const faults = yield* world.node.faultsFor("stream")
    const instead = faults.length === 0 ? undefined : yield* server.strike(request, faults)
    if (instead !== undefined) return server.respond(request, instead)
    const cut = yield* isCut(world, faults)
    const opening = route.open(world, { query: parseQuery(request.url) })
    const upgrade = request.headers["upgrade"]?.toLowerCase() === "websocket"
    if (!upgrade && !route.plain) return HttpServerResponse.empty({ status: 200 })
    const carry = upgrade ? overWebSocket : overHttp
    const feed = yield* upgrade ? Effect.catchTag(opening, "Refusal", speakRefusal) : opening
    const placed = inPlace(places, socketOf(request).remoteAddress ?? "", feed)
    return yield* carry(request, { cut, feed: (line) => Effect.raceFirst(placed(line), world.node.newsEnded) })
  })
  return (route: StreamRoute) => (request: Request) =>
    serve(route, request).pipe(
      Effect.catchTags({
        Refusal: ({ answer }) => Effect.succeed(server.respond(request, answer)),
        SandboxError: () => Effect.succeed(server.respond(request, outOfOrder)),
        HttpServerError: () => Effect.succeed(HttpServerResponse.empty({ status: 400 })),
      }),
    )
}

const outOfOrder = plainError("Unavailable", "the ledger is out of order", false)
const behind = nodeError("Internal", { code: 10_002, message: "channel closed", inner: "" })
const noPlace = plainError("ResourceExhausted", "client reached max subscription allowed", false)

/** Over a WebSocket the gateway's own error is a message like any other. */
const speakRefusal = ({ answer }: Refusal): Effect.Effect<Feed> =>
  Effect.succeed((line) => line.say(JSON.stringify(answer.body)))

const isCut = Effect.fnUntraced(function* (world: World, faults: ReadonlyArray<Fault>) {
  for (const fault of faults) {
    if (fault.kind === "truncated_body" && (yield* world.node.spendFault(fault))) return true
  }
  return false
})

/** Counts the stream while it lasts. */
const inPlace =
  (places: Map<string, number>, address: string, feed: Feed): Feed =>
  (line) =>
    Effect.gen(function* () {
      const taken = places.get(address) ?? 0
      if (taken >= placesMax) return yield* refuse(noPlace)
      const add = (n: number) => Effect.sync(() => places.set(address, (places.get(address) ?? 0) + n))
      yield* Effect.acquireRelease(add(1), () => add(-1))
      yield* feed(line)
    })

interface Speech {
  readonly feed: Feed
  /** Whether the connection ends in the middle of the first message. */
  readonly cut: boolean
}

/** Lets the feed speak to its end; `last` says what went wrong without waiting for anyone. */
const speak = (
  feed: Feed,
  line: Line,
  last: (text: string) => Effect.Effect<unknown, Gone>,
): Effect.Effect<void, never, Scope.Scope> => {
  const complain = ({ body }: Answer) => last(JSON.stringify({ error: body }))
  return feed(line).pipe(
    Effect.catchTags({
      Refusal: ({ answer }) => complain(answer),
      FellBehind: () => complain(behind),
      SandboxError: () => complain(outOfOrder),
    }),
    Effect.ignore,
  )
}

const socketOf = (request: Request): Socket => NodeHttpServerRequest.toIncomingMessage(request).socket

/** One text message. The network ends every WebSocket without a closing handshake, and so do we. */
const overWebSocket = (request: Request, { feed, cut }: Speech) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sinceMillis = yield* Clock.currentTimeMillis
      const socket = socketOf(request)
      const connection = yield* request.upgrade
      const { pull } = yield* connection.reader
      const { write } = yield* connection.writer
      yield* Effect.addFinalizer(() => hangUp(socket))
      const heard = yield* Queue.dropping<string, Cause.Done>(unheardMax)
      const listen = Effect.forever(
        Effect.map(pull, (messages) => {
          for (const message of messages) if (typeof message === "string") Queue.offerUnsafe(heard, message)
        }),
      )
      const send = (text: string) => Effect.mapError(write(text), () => new Gone())
      const say = (text: string) =>
        Effect.gen(function* () {
          yield* drained(socket, socket)
          if (Buffer.byteLength(text) >= frameMax) return yield* new Gone()
          if (!cut) return yield* send(text)
          socket.write(halfFrame(text))
          return yield* new Gone()
        })
      yield* Effect.raceFirst(speak(feed, { say, heard, sinceMillis }, send), Effect.ignore(listen))
      return HttpServerResponse.empty()
    }),
  ).pipe(Effect.catchTag("SocketError", () => Effect.succeed(HttpServerResponse.empty())))

/** The beginning of a frame that announces all of the text and holds half of it. */
const halfFrame = (text: string): Buffer => {
  const payload = Buffer.from(text)
  const head = payload.length < 126 ? [0x81, payload.length] : [0x81, 126, payload.length >> 8, payload.length & 0xff]
  return Buffer.concat([Buffer.from(head), payload.subarray(0, payload.length / 2)])
}

/** One message a line, for as long as the client listens. */
const overHttp = (request: Request, { feed, cut }: Speech) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sinceMillis = yield* Clock.currentTimeMillis
      const socket = socketOf(request)
      const response = NodeHttpServerRequest.toServerResponse(request) as ServerResponse
      const heard = yield* Queue.dropping<string, Cause.Done>(unheardMax)
      response.writeHead(200, { "content-type": "application/json", connection: "close" })
      response.flushHeaders()
      yield* Effect.addFinalizer(() => hangUp(socket))
      const send = (text: string) => Effect.sync(() => response.write(`${text}\n`))
      const say = (text: string) =>
        Effect.gen(function* () {
          yield* drained(response, socket)
          if (!cut) return yield* send(text)
          response.write(text.slice(0, text.length / 2))
          return yield* new Gone()
        })
      yield* speak(feed, { say, heard, sinceMillis }, send)
      if (!cut) response.end()
      return HttpServerResponse.empty()
    }),
  )

/** Waits until the client took what was written. */
const drained = (
  out: { readonly writableNeedDrain: boolean } & NodeJS.EventEmitter,
  socket: Socket,
): Effect.Effect<void, Gone> =>
  Effect.callback((resume) => {
    if (socket.destroyed) return resume(Effect.fail(new Gone()))
    if (!out.writableNeedDrain) return resume(Effect.void)
    const forget = (): void => {
      out.off("drain", onDrain)
      socket.off("close", onClose)
    }
    const onDrain = (): void => {
      forget()
      resume(Effect.void)
    }
    const onClose = (): void => {
      forget()
      resume(Effect.fail(new Gone()))
    }
    out.on("drain", onDrain)
    socket.on("close", onClose)
    return Effect.sync(forget)
  })

/** Ends the connection when all was sent, or after a second with one who does not take it. */
const hangUp = (socket: Socket): Effect.Effect<void> => {
  const closed = Effect.callback<void>((resume) => {
    if (socket.closed) return resume(Effect.void)
    socket.once("close", () => resume(Effect.void))
    socket.destroySoon()
  })
  return Effect.raceFirst(Effect.interruptible(closed), Effect.interruptible(Effect.sleep("1 second"))).pipe(
    Effect.andThen(Effect.sync(() => socket.destroy())),
  )
}
