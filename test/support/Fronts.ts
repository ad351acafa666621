import { Effect, type Scope } from "effect"
import { type Arrived, type GatewayServer, startGateway } from "../gateway/GatewayServer.ts"

/** An answer on its way through a front. */
export interface Passed {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** How a front treats a request: `ask` passes it on. "hang" never answers, "drop" ends the connection. */
export type Manner = (request: Arrived, ask: () => Promise<Passed>) => Promise<Passed | "hang" | "drop">

/** A gateway in front of the one real network. */
export interface Front {
  readonly name: string
  readonly server: GatewayServer
  manner: Manner
}

export const honest: Manner = (_, ask) => ask()
export const hanging: Manner = async () => "hang"
export const down: Manner = async () => "drop"
export const banned: Manner = async () => ({ status: 403, headers: { "ratelimit-retry-after": "600" }, text: "" })

/** Changes what the answer to some paths says. */
export const altered =
  (isMeant: (request: Arrived) => boolean, change: (answer: Passed) => Passed): Manner =>
  async (request, ask) => {
    const answer = await ask()
    return isMeant(request) ? change(answer) : answer
  }

/** Every value of a key, wherever it stands in an answer of JSON, is another. */
export const rewritten = (key: string, change: (old: string) => unknown, path = "/"): Manner =>
  altered(
    ({ method, url }) => method === "GET" && url.pathname.startsWith(path),
    (answer) => ({
      ...answer,
      text: JSON.stringify(JSON.parse(answer.text), (name, value) => (name === key ? change(value) : value)),
    }),
  )

/** One gateway before the network. */
export const startFront = (name: string, network: string): Effect.Effect<Front, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* startGateway((response, arrived, socket) => {
      const ask = async (): Promise<Passed> => {
        const answer = await fetch(network + arrived.url.pathname + arrived.url.search, {
          method: arrived.method,
          headers: { "accept-encoding": "identity" },
          ...(arrived.method === "POST" ? { body: arrived.body } : {}),
        })
        return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
      }
      front.manner(arrived, ask).then(
        (answer) => {
          if (answer === "hang") return
          if (answer === "drop") return void socket.destroy()
          const { "content-length": _, "transfer-encoding": __, connection: ___, ...headers } = answer.headers
          response.writeHead(answer.status, headers)
          response.end(answer.text)
        },
        () => socket.destroy(),
      )
    })
    const front: Front = { name, server, manner: honest }
    return front
  })

/** Gateways a, b and c of one network. */
export const startFronts = (network: string) =>
  Effect.forEach(["a", "b", "c"] as const, (name) => startFront(name, network))
