import { type Context, Effect, Fiber, Layer, type Scope } from "effect"
import { HttpClient } from "effect/http"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { layerHttp } from "../../src/sockets/client.ts"
import { type Arrived, arrive, arrivedOf } from "./wire.ts"

/** A request that stays within the process. */
interface Asked {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly body: string
}

type ServerHere = (asked: Asked) => Effect.Effect<Arrived>

/** Servers of this process, by the host of their address, with the clock of the test that began them. */
const servers = new Map<string, { readonly answer: ServerHere; readonly context: Context.Context<never> }>()

/** Asks a server of this process from outside of Effect; undefined where there is none. */
export const askHere = (url: string, asked: Asked): Promise<Arrived> | undefined => {
  const server = servers.get(new URL(url).host)
  return server && Effect.runPromiseWith(server.context)(server.answer(asked))
}

/** Requests of the daemon to the address are answered within the process while the scope is open. */
export const serveHere = (url: string, answer: ServerHere): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(Effect.context<never>(), (context) => {
      servers.set(new URL(url).host, { answer, context })
    }),
    () => Effect.sync(() => servers.delete(new URL(url).host)),
  )

/** A request that has left arrives, whether or not anybody still waits for the answer. */
export const serveSandbox = (sandbox: Sandbox["Service"]): Effect.Effect<void, never, Scope.Scope> =>
  serveHere(sandbox.url, ({ method, path, body }) =>
    sandbox.answer({ method, url: path, address: "127.0.0.1", body: Effect.succeed(body) }).pipe(
      Effect.map((outcome) => arrivedOf(outcome)),
      Effect.forkDetach,
      Effect.flatMap(Fiber.join),
    ),
  )

/** The HTTP client of the daemon, which needs no socket to a server of this process. */
export const layerHttpHere: Layer.Layer<HttpClient.HttpClient> = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (real) =>
    HttpClient.make((request, url) => {
      const server = servers.get(url.host)
      if (server === undefined) return real.execute(request)
      const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
      const asked = { method: request.method, path: url.pathname + url.search, body }
      return Effect.flatMap(server.answer(asked), (arrived) => arrive(request, arrived))
    }),
  ),
).pipe(Layer.provide(layerHttp))
