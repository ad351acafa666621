import { Effect, type Scope } from "effect"
import { type Arrived, type GatewayServer, startGateway } from "../gateway/GatewayServer.ts"
import { askHere, serveHere } from "./InProcess.ts"
import type { Arrived as ArrivedAnswer } from "./wire.ts"

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

/** One gateway before the network: the daemon reaches it within the process, everybody else over a socket. */
export const startFront = (name: string, network: string): Effect.Effect<Front, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* startGateway((response, arrived, socket) => {
      front
        .manner(arrived, () => passOn(network, arrived))
        .then(
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
    const answered = (arrived: Arrived) =>
      Effect.promise(() => front.manner(arrived, () => passOn(network, arrived)).catch(() => "drop" as const))
    yield* serveHere(server.url, ({ method, path, body }) =>
      Effect.suspend(() => {
        const arrived = { method, url: new URL(path, "http://gateway"), headers: {}, rawHeaders: [], body }
        server.arrived.push(arrived)
        return answered(arrived).pipe(
          Effect.flatMap((answer): Effect.Effect<ArrivedAnswer> => {
            if (answer === "hang") return Effect.never
            if (answer === "drop") return Effect.succeed({ told: undefined })
            return Effect.succeed({ told: { status: answer.status, headers: answer.headers, body: answer.text } })
          }),
        )
      }),
    )
    return front
  })

/** Passes a request on to a network at the address. */
export const passOn = async (network: string, { method, url, body }: Arrived): Promise<Passed> => {
  const here = askHere(network, { method, path: url.pathname + url.search, body })
  if (here !== undefined) return passedOf(await here)
  const answer = await fetch(network + url.pathname + url.search, {
    method,
    headers: { "accept-encoding": "identity" },
    ...(method === "POST" ? { body } : {}),
  })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
}

/** What a front gets of the network: a broken answer is none. */
const passedOf = ({ told, broken }: ArrivedAnswer): Promise<Passed> => {
  if (broken === "accept_drop_answer") return new Promise(() => {})
  if (told === undefined || broken !== undefined) return Promise.reject(new Error("other side closed"))
  return Promise.resolve({
    status: told.status,
    headers: Object.fromEntries(Object.entries(told.headers).map(([name, value]) => [name.toLowerCase(), value])),
    text: told.body,
  })
}

/** Gateways a, b and c of one network. */
export const startFronts = (network: string) =>
  Effect.forEach(["a", "b", "c"] as const, (name) => startFront(name, network))

/** The gateways of a treasury file, by name. */
export const addressesOf = (fronts: ReadonlyArray<Front>) =>
  Object.fromEntries(fronts.map(({ name, server }) => [name, server.url]))

/** Gateways a, b and c before the network of a flow; `fronts` are there once it has begun. */
export const threeFronts = () => {
  const fronts: Array<Front> = []
  const gateways = (network: string) =>
    Effect.map(startFronts(network), (started) => {
      fronts.push(...started)
      return addressesOf(started)
    })
  return { fronts, gateways }
}
