import { readFileSync } from "node:fs"
import { request } from "node:http"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { socketFile } from "../../src/http/ControlServer.ts"
import { type Daemon, root, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("connections")
const data = join(dir, "data")
const socketPath = join(data, socketFile)
/** Less than the connections of one attack: a listener without bounds leaves none of them. */
const descriptors = 512
const many = 600
/**
 * In which an answer must come, milliseconds: what was asked for at once is served first, and beside a load of 16 it
 * took half a minute.
 */
const patience = 120_000

interface Listener {
  readonly name: "page" | "socket" | "sandbox"
  readonly where: { readonly host: string; readonly port: number } | { readonly path: string }
}

let daemon: Daemon
let page: Listener
let control: Listener
let sandbox: Listener
let token = ""

const addressOf = (url: string) => ({ host: "127.0.0.1", port: Number(new URL(url).port) })

beforeAll(async () => {
  daemon = start(["run", "--sandbox", "--data", data, join(root, "config/sandbox.yaml")], {
    cwd: dir,
    env: { COFFERER_LISTEN: "0.0.0.0:0" },
    descriptors,
  })
  const shown = await daemon.line(({ msg }) => msg === "page listening")
  const network = await daemon.line(({ msg }) => msg === "gateways configured")
  page = { name: "page", where: addressOf(urlOf(shown)) }
  sandbox = { name: "sandbox", where: addressOf(urlOf(network)) }
  control = { name: "socket", where: { path: socketPath } }
  token = readFileSync(join(data, "read-token"), "utf8").trim()
  await daemon.line(({ msg }) => msg === "daemon ready")
})

afterAll(async () => {
  await daemon.stop("SIGKILL")
})

interface Answered {
  readonly status: number
  readonly text: string
}

/** One request on a connection of its own; undefined where no answer comes in time. */
const call = (
  { where }: Listener,
  path: string,
  options: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<Answered | undefined> =>
  new Promise((resolve) => {
    const to = "path" in where ? { socketPath: where.path } : where
    const { body, ...more } = options
    const sent = request({ ...to, path, agent: false, timeout: patience, ...more }, (response) => {
      let text = ""
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
      response.on("error", () => resolve(undefined))
    })
    sent.on("timeout", () => sent.destroy())
    sent.on("error", () => resolve(undefined))
    sent.end(body)
  })

const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })

/** Opens a connection, writes what is given, and reads nothing unless `reads`. */
const open = ({ where }: Listener, text: string, reads = false): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(where as { readonly path: string })
    const done = () => resolve(socket)
    socket.on("error", done)
    socket.on("close", done)
    socket.once("connect", () => (text === "" ? done() : socket.write(text, done)))
    if (reads) socket.resume()
    else socket.pause()
  })

const openMany = (listener: Listener, text: string | ((i: number) => string), reads = false) =>
  Promise.all(Array.from({ length: many }, (_, i) => open(listener, typeof text === "string" ? text : text(i), reads)))

/** What an operator, Prometheus and the gateway's reader need while it goes on; the first that fails. */
const lacks = async (): Promise<string | undefined> => {
  if ((await call(page, "/livez"))?.status !== 200) return "the probe"
  if ((await call(page, "/metrics", bearer(token)))?.status !== 200) return "the page with its token"
  const end = Date.now() + patience
  const ask = () => callCofferer(["status", "--data", data, "--output", "json"])
  let status = await ask()
  // A command waits for 10 s, which may be too short beside a load: the operator repeats it.
  while (/does not answer within/.test(status.stderr) && Date.now() < end) status = await ask()
  if (status.code !== 0) return `the command line: ${status.stderr}`
  const { height } = JSON.parse(status.stdout) as { height: string }
  while (Date.now() < end) {
    const later = await call(control, "/api/v1/status")
    if (later !== undefined && (JSON.parse(later.text) as { height: string }).height !== height) return undefined
  }
  return "the gateway: no newer block was read"
}

const halts = async (): Promise<ReadonlyArray<unknown>> => {
  const status = await call(control, "/api/v1/status")
  const { halts, pauses } = JSON.parse(status?.text ?? "{}") as { halts: Array<unknown>; pauses: Array<unknown> }
  return [...halts, ...pauses]
}

/** What got through, in words. */
type Attack = readonly [title: string, strike: () => Promise<string | undefined>]

const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}`
const post = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n`
const upgrade =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

const flood = (
  name: Listener["name"],
  title: string,
  text: string | ((i: number) => string),
  reads = false,
): Attack => [
  `${name}: ${many} ${title}`,
  async () => {
    const sockets = await openMany({ page, socket: control, sandbox }[name], text, reads)
    try {
      return await lacks()
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  },
]

const floods: ReadonlyArray<Attack> = [
  ...(["page", "socket", "sandbox"] as const).flatMap((name) => [
    flood(name, "connections that say nothing", ""),
    flood(name, "halves of a first line", "GET /api"),
    flood(name, "headers without an end", get("/api/v1/status", "X-A: b\r\n")),
    flood(name, "bodies that do not come", `${post("/api/v1/pause", 100)}\r\n{`),
    flood(name, "connections kept after an answer", `${get("/livez")}\r\n`, true),
    flood(name, "upgrades to another protocol", get("/livez", upgrade)),
  ]),
  flood("page", "answers that nobody reads", get("/page/preact.js", "\r\n").repeat(20)),
  flood("socket", "answers that nobody reads", get("/api/v1/status", "\r\n").repeat(5)),
  flood("page", "requests in one go, on each of as many connections", get("/livez", "\r\n").repeat(20), true),
  flood("page", "bytes that are no HTTP", "\u0016\u0003\u0001\u0002\u0000\u0001"),
  [
    `all three: ${many} connections that say nothing, at once`,
    async () => {
      const all = (await Promise.all([page, control, sandbox].map((one) => openMany(one, "")))).flat()
      try {
        return await lacks()
      } finally {
        for (const socket of all) socket.destroy()
      }
    },
  ],
]

const verbs = ["halt", "pause", "resume", "reload", "submit", "adopt", "recover", "intents/abcd/cancel"]
const said = { reason: "x", author: "x", scope: "all" }

/** What only the socket takes, over plain HTTP from another address than loopback's, with the token that reads. */
const overHttp: ReadonlyArray<Attack> = verbs.map((verb) => [
  `${verb} over plain HTTP with the read token`,
  async () => {
    const answer = await call(page, `/api/v1/${verb}`, { method: "POST", ...bearer(token), body: JSON.stringify(said) })
    const stops = await halts()
    return answer?.status === 405 && stops.length === 0 ? undefined : `${answer?.status}, ${JSON.stringify(stops)}`
  },
])

const tokens: ReadonlyArray<Attack> = [
  ["no token", {}],
  ["an empty token", bearer("")],
  ["a token with a space", bearer(" ")],
  ["another scheme", { headers: { authorization: "Basic eDp5" } }],
  ["the token in the query", { query: true }],
].map(([title, how]) => [
  `${title as string}`,
  async () => {
    const { query, ...options } = how as { query?: boolean; headers?: Record<string, string> }
    const answer = await call(page, query === true ? `/metrics?token=${token}` : "/metrics", options)
    return answer?.status === 401 || answer === undefined ? undefined : `answered with ${answer.status}`
  },
])

/** A page of the web under a name that leads to this machine. */
const rebinding: ReadonlyArray<Attack> = [
  ["reads the sandbox's blocks", "GET", "/blockchain/height"],
  ["reads the sandbox's accounts", "GET", "/api/v2/accounts"],
  ["sends a transaction to the sandbox", "POST", "/transaction"],
  ["steers the sandbox", "POST", "/sandbox/blocks"],
].flatMap(([title, method, path]) =>
  ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.evil.example"].map(
    (host): Attack => [
      `a page of ${host} ${title}`,
      async () => {
        const own = await call(sandbox, path!, { method: method!, body: "{}" })
        const answer = await call(sandbox, path!, { method: method!, headers: { host }, body: "{}" })
        if (own?.status === 403) return "its own name is refused as well"
        return answer?.status === 403 ? undefined : `answered with ${answer?.status}`
      },
    ],
  ),
)

const pauses: ReadonlyArray<Attack> = ["8640000000000001", "1e400", "-1", "1.5", '"9e15"', "null", "[]"].map(
  (until) => [
    `a pause until ${until}`,
    async () => {
      const body = `{"scope":"all","reason":"x","author":"x","until":${until}}`
      const answer = await call(control, "/api/v1/pause", { method: "POST", body })
      const stops = await halts()
      return answer?.status === 400 && stops.length === 0 ? undefined : `${answer?.status}, ${JSON.stringify(stops)}`
    },
  ],
)

const attacks = [...floods, ...tokens, ...overHttp, ...rebinding, ...pauses]
let tried = 0
let through = 0

describe("connections", () => {
  it.each([...attacks])("%s", async (_, strike) => {
    tried++
    const problem = await strike()
    if (problem !== undefined || daemon.child.exitCode !== null) through++
    assert.isUndefined(problem)
    assert.isNull(daemon.child.exitCode, "the daemon ended")
  })

  it("let nothing through", () => {
    console.log(`connections: tried ${tried} through ${through}`)
    assert.isAtLeast(tried, 20)
    assert.strictEqual(through, 0)
  })
})
