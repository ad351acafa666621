import { Effect, Exit, Layer } from "effect"
import { HttpClient } from "effect/http"
import type { Fault } from "../../src/sandbox/Chain.ts"
import { fits, type Operation } from "../../src/sandbox/Faults.ts"
import type { World } from "../../src/sandbox/http/Answer.ts"
import type { RateLimiter } from "../../src/sandbox/http/RateLimiter.ts"
import { answerRequest } from "../../src/sandbox/http/routes.ts"
import type { Dice } from "../support/Dice.ts"
import { type Arrived, arrive, arrivedOf, lost, type Told } from "../support/wire.ts"
import { type Mortal, step } from "./CrashPoints.ts"
import type { Network } from "./Network.ts"

/** What a gateway makes of true answers on their way, if it does. */
export type Lie = (asked: { readonly method: string; readonly path: string }, told: Told) => Told

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
        if (options.isDown?.() === true) return lost(request, true)
        if (request.method === "POST") options.onSubmit(body, mortal)
        options.hear(`-> ${url.host} ${request.method} ${path} ${body}`)
        return Effect.flatMap(travel(options, { method: request.method, path, body, host: url.host }), (arrived) => {
          step(mortal)
          return arrive(request, arrived, options.hear)
        })
      }),
    ),
  )

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
    const operation = answerRequest(worldOf(options, host), options.limiter, {
      method,
      url: path,
      address: options.address ?? "127.0.0.1",
      body: Effect.sync(() => {
        if (method === "POST") options.onArrival(body, leftAt)
        return body
      }),
    })
    const journey = delay().pipe(
      Effect.andThen(operation),
      Effect.map((outcome): Arrived => {
        const arrived = arrivedOf(outcome)
        if (arrived.told === undefined || lie === undefined) return arrived
        return { ...arrived, told: lie({ method, path: pathname }, arrived.told) }
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
