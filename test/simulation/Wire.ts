import { Effect, Exit, Layer, Stream } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import type { Fault, Operation } from "../../src/sandbox/Faults.ts"
import { fits } from "../../src/sandbox/faults/kinds.ts"
import type { Outcome } from "../../src/sandbox/http/perform.ts"
import { perform } from "../../src/sandbox/http/perform.ts"
import type { RateLimiter } from "../../src/sandbox/http/RateLimiter.ts"
import type { World } from "../../src/sandbox/http/Route.ts"
import { bodyText } from "../../src/sandbox/http/respond.ts"
import { findRoute } from "../../src/sandbox/http/routes.ts"
import type { Dice } from "../support/Dice.ts"
import { type Mortal, step } from "./CrashPoints.ts"
import type { Network } from "./Network.ts"

/** What a gateway makes of true answers on their way, if it does. */
export type Lie = (asked: { readonly method: string; readonly path: string }, told: Told) => Told

/** An answer as a client reads it. */
export interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface WireOptions {
  readonly network: Network
  readonly dice: Dice
  readonly latencyMillis: number
  readonly lie: ((host: string) => Lie | undefined) | undefined
  /** By how many blocks a gateway is behind; 0: it is not. */
  readonly lag?: (host: string) => number
  /** Of the data node, where it has one; it counts callers by their address, ours unless another is given. */
  readonly limiter?: RateLimiter
  readonly address?: string
  /** Whether nobody listens on the other side: requests are refused before anything is sent. */
  readonly isDown?: () => boolean
  /** Hears of each request that leaves, and each answer that arrives. */
  readonly hear: (text: string) => void
  /** Sees each body that is submitted, before it leaves. */
  readonly onSubmit: (body: string, from: Mortal) => void
  /** Sees it again as it arrives, with the block at which it left. */
  readonly onArrival: (body: string, leftAt: number) => void
}

/**
 * The way between a daemon and the network, without sockets: the same routes, faults and JSON. What has left arrives,
 * whether or not anybody still waits for the answer.
 */
export const layerWire = (mortal: Mortal, options: WireOptions): Layer.Layer<HttpClient.HttpClient> =>
  Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request, url) =>
      Effect.suspend(() => {
        step(mortal)
        const path = url.pathname + url.search
        const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
        if (options.isDown?.() === true) return lost(request, "ECONNREFUSED")
        if (request.method === "POST") options.onSubmit(body, mortal)
        options.hear(`-> ${url.host} ${request.method} ${path} ${body}`)
        return Effect.flatMap(travel(options, { method: request.method, path, body, host: url.host }), (outcome) => {
          step(mortal)
          return arrive(request, outcome, options)
        })
      }),
    ),
  )

interface Arrived {
  readonly outcome: Outcome
  readonly told: Told | undefined
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly host: string
}

/** To the network and back, as one of the network's own fibers. */
const travel = (options: WireOptions, { method, path, body, host }: Asked): Effect.Effect<Arrived> =>
  Effect.callback<Arrived>((resume) => {
    const { network, dice } = options
    const lie = options.lie?.(host)
    const delay = () => Effect.sleep(Math.round(dice.next() * 2 * options.latencyMillis))
    const leftAt = network.chain.height
    const pathname = path.split("?")[0]!
    const found = findRoute(network.world.profile, method, pathname)
    const params = { ...found?.params }
    for (const key of Object.keys(params)) params[key] = decodeURIComponent(params[key]!)
    const operation: Effect.Effect<Outcome> =
      found === undefined
        ? Effect.succeed({ _tag: "Answered", answer: unknown, headers: {} })
        : perform(worldOf(options, host), options.limiter, found.route, {
            url: path,
            params,
            address: options.address ?? "127.0.0.1",
            body: Effect.sync(() => {
              if (method === "POST") options.onArrival(body, leftAt)
              return body
            }),
          })
    const journey = delay().pipe(
      Effect.andThen(operation),
      Effect.map((outcome): Arrived => {
        if (outcome._tag === "HungUp") return { outcome, told: undefined }
        const { answer, headers } = outcome
        const text = answer.text ? "text/plain" : "application/json"
        const told: Told = {
          status: answer.status,
          headers: { "content-type": text, ...(answer.fromNode ? headers : {}), ...answer.headers },
          body: bodyText(answer, path),
        }
        return { outcome, told: lie === undefined ? told : lie({ method, path: pathname }, told) }
      }),
      Effect.tap(delay()),
    )
    network
      .fork(journey)
      .addObserver((exit) => resume(Exit.isSuccess(exit) ? Effect.succeed(exit.value) : Effect.never))
  })

/** The network as the gateway sees it: one that is behind meets it as a fault would show it, with each read. */
const worldOf = ({ network, lag }: WireOptions, host: string): World => {
  const { world } = network
  const blocks = lag?.(host) ?? 0
  if (blocks === 0) return world
  const { node } = world
  const behind = (operation: Operation): Fault => {
    const counted = { id: -1, armedHeight: 0, hits: 0, draws: 0 }
    return { ...counted, operation, kind: "lagging_replica", rate: 1, blocks }
  }
  return {
    ...world,
    node: {
      ...node,
      faultsFor: (operation) =>
        Effect.map(node.faultsFor(operation), (all) =>
          fits("lagging_replica", operation) ? [...all, behind(operation)] : all,
        ),
      spendFault: (fault) => (fault.id === -1 ? Effect.succeed(true) : node.spendFault(fault)),
    },
  }
}

const unknown = { status: 404, body: { code: 5, message: "Not Found", details: [] }, fromNode: false } as const

type Response = Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>

/** The answer as it reaches the client, broken where a fault breaks it. */
const arrive = (
  request: HttpClientRequest.HttpClientRequest,
  { outcome, told }: Arrived,
  { hear }: WireOptions,
): Response => {
  if (told === undefined) {
    hear("<- hung up")
    return lost(request)
  }
  if (outcome._tag !== "Broken") {
    hear(`<- ${told.status} ${told.body}`)
    return Effect.succeed(responseOf(request, told))
  }
  hear(`<- ${outcome.kind} ${told.body}`)
  switch (outcome.kind) {
    case "accept_drop_answer":
      return Effect.never
    case "html_body":
      return Effect.succeed(responseOf(request, { ...told, status: 200, body: "<html>Please come back later.</html>" }))
    case "endless_body":
      return Effect.succeed(
        responseOf(request, { ...told, headers: { ...told.headers, "content-length": "99999999" } }),
      )
    case "gzip_bomb":
      return Effect.succeed(responseOf(request, { ...told, headers: { ...told.headers, "content-encoding": "gzip" } }))
    case "wrong_content_length":
      return Effect.succeed(responseOf(request, { ...told, body: told.body.slice(0, -10) }))
    default:
      return lost(request)
  }
}

/** The connection ended under the request: unless it was refused, the request may have arrived. */
const lost = (request: HttpClientRequest.HttpClientRequest, code = "UND_ERR_SOCKET"): Response =>
  Effect.fail(
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({
        request,
        cause: { code, message: code === "ECONNREFUSED" ? "connect ECONNREFUSED" : "other side closed" },
      }),
    }),
  )

/** A response whose body is there at once: the platform's own would leave virtual time to read it. */
const responseOf = (
  request: HttpClientRequest.HttpClientRequest,
  told: Told,
): HttpClientResponse.HttpClientResponse => {
  // No more of a response than its head is read; the platform's is slow to make, and its headers too.
  const web = { status: told.status, headers: Object.entries(told.headers) } as unknown
  const head = HttpClientResponse.fromWeb(request, web as Parameters<typeof HttpClientResponse.fromWeb>[1])
  const bytes = new TextEncoder().encode(told.body)
  return Object.create(head, { stream: { get: () => Stream.make(bytes) } })
}
