import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { agreements } from "../../src/http/agreeing.ts"
import { socketFile } from "../../src/http/ControlServer.ts"
import { type Daemon, root, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("sockets")
const data = join(dir, "data")
const file = join(root, "config/sandbox.yaml")
const isRoot = process.getuid?.() === 0
/** In which an answer must come, milliseconds. */
const patience = 30_000

let daemon: Daemon
beforeAll(async () => {
  writeFileSync(
    join(dir, "payment.yaml"),
    'idempotencyKey: one\ntransfer: { from: reserve, to: hot, asset: USDT, amount: "1" }\n',
  )
  daemon = start(["run", "--sandbox", "--data", data, file], { cwd: dir, env: { COFFERER_LISTEN: "127.0.0.1:0" } })
  await daemon.line(({ msg }) => msg === "daemon ready")
})
afterAll(async () => {
  await daemon.stop("SIGKILL")
})

/** What the daemon answers to some bytes until it closes, or says nothing more for so long. */
const answerTo = (bytes: string | Buffer, silenceMillis: number): Promise<string> =>
  new Promise((resolve) => {
    let text = ""
    const socket = connect(join(data, socketFile))
    const done = () => {
      socket.destroy()
      resolve(text)
    }
    socket.setTimeout(silenceMillis, done)
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1")
    })
    socket.on("error", done)
    socket.on("close", done)
    socket.on("connect", () => socket.write(bytes))
  })

const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

interface Standing {
  readonly halts: ReadonlyArray<unknown>
  readonly pauses: ReadonlyArray<unknown>
  readonly mode: string
  readonly accepted: unknown
  readonly intents: ReadonlyArray<{ readonly rule: string; readonly state: string }>
}

/** What people could have changed; undefined where the daemon does not answer. */
const standing = async (): Promise<string | undefined> => {
  const { code, stdout } = await callCofferer(["status", "--data", data, "--output", "json"])
  if (code !== 0) return undefined
  const { halts, pauses, mode, accepted, intents } = JSON.parse(stdout) as Standing
  const byPeople = intents.filter(({ rule, state }) => rule === "submit" || /cancel|reject|abandon/.test(state))
  return JSON.stringify({ halts, pauses, mode, accepted, byPeople })
}

type Attack = readonly [title: string, strike: () => Promise<string | undefined>]

/** Bytes that are no request, or none that a daemon should understand: nothing may come of them. */
const halting = '{"reason":"x","author":"x"}'
const frames: Readonly<Record<string, string | Buffer>> = {
  "nothing but line ends": "\r\n\r\n\r\n",
  "all bytes": Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  "HTTP/9.9": "POST /api/v1/halt HTTP/9.9\r\nHost: localhost\r\n\r\n",
  "no host": `POST /api/v1/halt HTTP/1.1\r\nContent-Length: ${halting.length}\r\n\r\n${halting}`,
  "a method of its own": post("/api/v1/halt", halting).replace("POST", "HALT"),
  "GET with a body": post("/api/v1/halt", halting).replace("POST", "GET"),
  "another method in a header": post("/api/v1/halt", halting)
    .replace("POST", "GET")
    .replace("Host:", "X-HTTP-Method-Override: POST\r\nHost:"),
  "a path with dots": post("/api/v1/x/../halt", halting),
  "a path with coded dots": post("/api/v1/x/%2e%2e/halt", halting),
  "a path with a slash more": post("/api/v1//halt", halting),
  "two lengths": post("/api/v1/halt", halting).replace("Content-Type", `Content-Length: 0\r\nContent-Type`),
  "half of a body": post("/api/v1/halt", halting).slice(0, -5),
  "a header of a megabyte": `GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\nX: ${"a".repeat(1_000_000)}\r\n\r\n`,
  "a body of a megabyte": post("/api/v1/halt", JSON.stringify({ reason: "a".repeat(1_000_000), author: "x" })),
  "JSON of a hundred thousand brackets": post("/api/v1/halt", "[".repeat(60_000)),
}

const ofFrames: ReadonlyArray<Attack> = Object.entries(frames).map(([title, bytes]) => [
  `frame: ${title}`,
  async () => {
    const answer = await answerTo(bytes, 1_000)
    return /^HTTP\/1\.1 2/.test(answer) ? `answered with ${answer.slice(0, 60)}` : undefined
  },
])

const bodies: ReadonlyArray<readonly [string, string]> = [
  ["nothing", ""],
  ["null", "null"],
  ["a list", "[]"],
  [
    "fields of other types",
    '{"reason":1,"author":[],"scope":{},"until":"x","since":1,"files":1,"signature":true,"height":{}}',
  ],
  ["a prototype", '{"__proto__":{"reason":"x","author":"x","scope":"all"},"constructor":{"reason":"x"}}'],
  ["a field that is not known", '{"reason":"x","author":"x","scope":"all","since":"1","files":["/x"],"extra":1}'],
]

const verbs = Object.keys(agreements).map((path) => path.replace("*", "abcd"))
const ofVerbs: ReadonlyArray<Attack> = verbs.flatMap((verb) =>
  bodies.map(
    ([title, body]): Attack => [
      `${verb} with ${title}`,
      async () => {
        const [line = "nothing"] = (await answerTo(post(`/api/v1/${verb}`, body), patience)).split("\r\n")
        return /^HTTP\/1\.1 4/.test(line) ? undefined : `answered with ${line}`
      },
    ],
  ),
)

const words = ["--reason", "x"]
const asked: ReadonlyArray<ReadonlyArray<string>> = [
  ["halt", ...words],
  ["pause", ...words],
  ["resume", ...words],
  ["status"],
  ["intents"],
  ["intents", "cancel", "abcd", ...words],
  ["reload", ...words],
  ["submit", join(dir, "payment.yaml"), "-c", file],
]
/** What an impostor says to all of them: that it is done. */
const done = JSON.stringify({
  ...{ halted: true, paused: "all", longest: null, resumed: "all", ended: [], id: "ab".repeat(32), created: true },
  ...{ state: "cancelled", short: "abcd", view: {}, intents: [], changed: [], inForce: true, live: true, pid: 1 },
})

/** Somebody who listens in the place of a daemon. */
const listening = async (place: string, use: () => Promise<string | undefined>) => {
  const server: Server = createServer((_, response) => response.end(done))
  await new Promise<void>((resolve) => server.listen(place, resolve))
  try {
    return await use()
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Whether a command believes what was said to it; a halt may be written into the HALT file instead. */
const believes = async (place: string, args: ReadonlyArray<string>): Promise<string | undefined> => {
  const { code, stdout, stderr } = await callCofferer([...args, "--data", place])
  const halt = join(place, "HALT")
  if ((args[0] === "halt" || args[0] === "pause") && existsSync(halt)) {
    rmSync(halt)
    return /^warn .*: the request was not sent/.test(stderr) ? undefined : stderr
  }
  if (code === 0 || stdout !== "") return `exit ${code}: ${stdout}`
  return /the request was not sent/.test(stderr) ? undefined : stderr
}

/** [who, how the place is made ready] */
const impostors: ReadonlyArray<readonly [string, (place: string) => void]> = [
  ["in a directory that everybody may write", (place) => chmodSync(place, 0o777)],
  ["in a directory that everybody may enter", (place) => chmodSync(place, 0o711)],
  [
    "in a directory that a group may write",
    (place) => {
      // To root, its own group is no other.
      if (isRoot) chownSync(place, 0, 3000)
      chmodSync(place, 0o770)
    },
  ],
  ["in a directory that everybody may write, with a sticky bit", (place) => chmodSync(place, 0o1777)],
]

let places = 0
const ofImpostors: ReadonlyArray<Attack> = impostors.flatMap(([who, prepare]) =>
  asked.map(
    (args): Attack => [
      `${args.slice(0, 2).join(" ")} to somebody ${who}`,
      () => {
        const place = join(dir, `impostor-${places++}`)
        mkdirSync(place, { mode: 0o700 })
        return listening(join(place, socketFile), () => {
          prepare(place)
          return believes(place, args)
        })
      },
    ],
  ),
)

const attacks = [...ofFrames, ...ofVerbs, ...ofImpostors]
let tried = 0
let through = 0

describe("the socket of the command line", () => {
  it("is believed where the daemon of its directory listens", async () => {
    const { code, stderr } = await callCofferer(["status", "--data", data])
    assert.strictEqual(code, 0, stderr)
  })

  it("stands in a directory of which others can read nothing", () => {
    const modes = ["", ...readdirSync(data)].map((name) => [name, statSync(join(data, name)).mode & 0o077])
    assert.isAbove(modes.length, 4)
    assert.deepStrictEqual(
      modes.filter(([, mode]) => mode !== 0),
      [],
    )
  })

  it.for([...attacks])("%s", async ([_, strike]) => {
    tried++
    through++
    const before = await standing()
    assert.isUndefined(await strike())
    assert.isDefined(before)
    assert.strictEqual(await standing(), before, "something came of it")
    assert.isNull(daemon.child.exitCode, "the daemon ended")
    through--
  })

  it("lets nothing through", () => {
    console.log(`socket: tried ${tried} through ${through}`)
    assert.isAtLeast(tried, 60)
    assert.strictEqual(through, 0)
  })
})
