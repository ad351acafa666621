import { createPublicKey } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join, relative } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { cofferer, type Daemon, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { makeDice } from "../support/Dice.ts"
import { lineWith, urlOf } from "../support/SteppedDaemon.ts"
import { signingKey } from "../support/signingKey.ts"
import { usdt } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"

/** Other secrets by another seed: `SEED=… npx vitest run --project deep test/walls/secrets.deep.test.ts`. */
const seed = process.env["SEED"] ?? "probes"
const dice = makeDice(seed)
const dir = tempDir("secrets")
const data = join(dir, "data")
const secretsDir = join(dir, "secrets")
const file = join(dir, "treasury.yaml")

/** Every planted secret, by the place that it is planted in. */
const planted = new Map<string, string>()

const letters = (alphabet: string, length: number) => Array.from({ length }, () => dice.pick([...alphabet])).join("")
const hex = (bytes: number) => letters("0123456789abcdef", bytes * 2)
const token = () => letters("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", 32)
const syllables = ["ka", "lo", "mi", "ru", "ten", "vas", "qui", "zor", "bel", "fin", "gra", "hop"]
const word = () => `${dice.pick(syllables)}${dice.pick(syllables)}${dice.pick(syllables)}`
const mnemonic = () => Array.from({ length: 12 }, word).join(" ")

const plant = (place: string, secret: string): string => {
  planted.set(place, secret)
  return secret
}
/** A secret in a file of its own; the words for the treasury file. */
const inFile = (place: string, secret: string): string => {
  const name = place.replace(/[^\w-]/g, "-")
  writeFileSync(join(secretsDir, name), `${plant(place, secret)}\n`, { mode: 0o600 })
  return `{ file: secrets/${name} }`
}

const many = <A>(count: number, make: (i: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, i) => make(i))

/** Forms in which a secret would be read off: its beginning or end, another case, another encoding. */
const formsOf = (secret: string): ReadonlyArray<string> => [
  secret.slice(0, 16),
  secret.slice(-16),
  secret.toUpperCase(),
  Buffer.from(secret).toString("base64").replace(/=+$/, "").slice(0, -2),
  encodeURIComponent(secret),
  ...(/^[0-9a-f]{64}$/.test(secret) ? [Buffer.from(secret, "hex").toString("base64").replace(/=+$/, "")] : []),
]

/** What may be read by others, by its name. */
const outputs = new Map<string, string>()
const noteOutput = (name: string, text: string) => outputs.set(name, `${outputs.get(name) ?? ""}${text}\n`)

/** Places whose secret is found in an output. */
const leaks = (): ReadonlyArray<string> => {
  const forms = [...planted].flatMap(([place, secret]) => formsOf(secret).map((form) => ({ place, form })))
  return [...outputs].flatMap(([name, text]) =>
    forms.filter(({ form }) => text.includes(form)).map(({ place, form }) => `${place} in ${name}: ${form}`),
  )
}

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })

/** Shows in its answers all that it was asked with, as a proxy that explains its refusals does. */
const reflecting = (taken: (body: string, path: string) => number) =>
  createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on("end", () => {
      const status = taken(body, request.url ?? "")
      response.writeHead(status, { "content-type": "text/plain", "x-reflected": JSON.stringify(request.headers) })
      response.end(`${request.url} ${JSON.stringify(request.headers)}`)
    })
  })

const gateway = reflecting(() => 500)
const oddGateway = reflecting(() => 500)
let hooks = 0
const receiver = reflecting((body, path) => {
  // What a service gets in its body by its own protocol is no leak: PagerDuty's key, and Telegram's path.
  if (path.startsWith("/hook/")) noteOutput("bodies of webhooks", body)
  return ++hooks % 2 === 0 ? 500 : 200
})
const collector = reflecting((body) => {
  noteOutput("traces", body)
  return 200
})

const network = (url: string) => `
version: 1
name: probes
mode: live
network: { chainId: probes-1, gateways: ${url}, requestDeadline: 2s, poll: { busy: 100ms, idle: 200ms } }
assets: { USDT: { id: ${usdt}, decimals: 6 } }`

const sandbox = `
${network('{ only: "http://127.0.0.1:1" }')}
sandbox:
  seed: ${seed}
  listen: "127.0.0.1:0"
  # Its one payment has a window of 500 blocks, which may not end while the machine is busy.
  blockInterval: 400ms
  rateLimit: off
  pow: { difficulty: 4, pastBlocks: 500, txPerBlock: 2, increaseDifficulty: true }
  parties: [hot, reserve]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: { maxFaucetAmountMint: "1_000_000_000" }, status: { enabled: 0 } }
  deposits:
    - { party: reserve, asset: USDT, amount: "100_000_000" }
    - { party: hot, asset: USDT, amount: "5_000" }
`

const keyOf = (secret: string): string =>
  createPublicKey(signingKey(Buffer.from(secret, "hex")))
    .export({ format: "der", type: "spki" })
    .subarray(-32)
    .toString("hex")

/** 70 secrets of receivers, most of which fail. */
const receiversAt = (url: string): ReadonlyArray<string> => [
  ...many(10, (i) => {
    const place = `webhook ${i}`
    const path = inFile(`${place} url`, `${url}/hook/${token()}`)
    planted.set(`${place} url`, planted.get(`${place} url`)!.slice(-32))
    const headers = `{ Authorization: ${inFile(`${place} token`, token())}, X-Key: ${inFile(`${place} key`, token())} }`
    const secret = inFile(`${place} secret`, hex(32))
    return `webhook-${i}: { webhook: { url: ${path}, headers: ${headers}, secret: ${secret} } }`
  }),
  ...(["slack", "discord"] as const).flatMap((kind) =>
    many(5, (i) => {
      const path = inFile(`${kind} ${i} url`, `${url}/${kind}/${token()}`)
      planted.set(`${kind} ${i} url`, planted.get(`${kind} ${i} url`)!.slice(-32))
      return `${kind}-${i}: { ${kind}: { url: ${path} } }`
    }),
  ),
  ...many(5, (i) => `pager-${i}: { pagerduty: { key: ${inFile(`pagerduty ${i}`, token())}, url: "${url}" } }`),
  ...many(
    5,
    (i) => `bot-${i}: { telegram: { token: ${inFile(`telegram ${i}`, token())}, chat: "-1", url: "${url}" } }`,
  ),
  ...many(5, (i) => {
    const password = inFile(`mail ${i}`, token())
    const at = `host: 127.0.0.1, port: ${new URL(url).port}, tls: none`
    return `mail-${i}: { email: { ${at}, user: cofferer, password: ${password}, from: a@b.example, to: [c@d.example] } }`
  }),
  ...many(5, (i) => {
    const headers = `{ Authorization: ${inFile(`alertmanager ${i}`, token())} }`
    return `am-${i}: { alertmanager: { url: "${url}/am", headers: ${headers} } }`
  }),
]

const headersOf = (place: string, count: number, secrets: (i: number) => string = token) =>
  many(count, (i) => `X-Secret-${i}: ${inFile(`${place} header ${i}`, secrets(i))}`).join(", ")

interface Addresses {
  readonly network: string
  readonly gateway: string
  readonly oddGateway: string
  readonly receiver: string
  readonly collector: string
  readonly reserve: string
}

const treasury = (at: Addresses): string => {
  const gateways = [
    `right: { url: "${at.network}", headers: { ${headersOf("gateway", 10)} } }`,
    `refusing: { url: "${at.gateway}", headers: { ${headersOf("refusing gateway", 10)} } }`,
    // A header that HTTP does not carry.
    `odd: { url: "${at.oddGateway}", headers: { ${headersOf("odd gateway", 10, () => `${token()}\u0001${token()}`)} } }`,
  ]
  const parties = many(20, (i) => {
    const key = hex(32)
    return `  p${i}: { publicKey: "${keyOf(key)}", signer: ${inFile(`party ${i}`, key)} }`
  })
  const receivers = receiversAt(at.receiver)
  const names = receivers.map((one) => one.split(":")[0]).join(", ")
  return `${network(`{ ${gateways.join(", ")} }`).replace("requestDeadline", "quorum: 1, requestDeadline")}
parties:
  hot: { publicKey: "${publicKeyOf(seed, "hot")}" }
  reserve: { publicKey: "${publicKeyOf(seed, "reserve")}", signer: { file: "${at.reserve}" } }
${parties.join("\n")}
rules:
  - { name: keep, topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: "25_000" }] } }
  - { name: news, notify: { asset: any, becomes: [enabled] } }
policy:
  allow:
    - { from: reserve, to: [hot], asset: USDT, perTransfer: "25_000", per24h: "25_000", transfersPer24h: 1 }
alerts:
  receivers:
${receivers.map((one) => `    ${one}`).join("\n")}
  routes: [{ severity: [page, ticket, info], to: [${names}] }]
daemon:
  tracing: { url: "${at.collector}/v1/traces", headers: { ${headersOf("collector", 10)} } }
`
}

/** A secret where the file of one belongs, or where none belongs at all: ten mistakes, each a file of its own. */
const makeMistakes = (): ReadonlyArray<string> => {
  const base = `${network('{ only: "https://gateway.example" }')}\n`
  const inline = (i: number) => plant(`mistake ${i}`, i % 2 === 0 ? mnemonic() : token())
  const receiverOf = (one: string) => `${base}alerts: { receivers: { desk: ${one} } }\n`
  const partyOf = (one: string) => `${base}parties: { hot: { publicKey: "${hex(32)}", ${one} } }\n`
  return [
    partyOf(`signer: "${inline(0)}"`),
    partyOf(`signer: { key: "${inline(1)}" }`),
    partyOf(`mnemonic: "${inline(2)}"`),
    receiverOf(`{ webhook: { url: "https://desk.example", secret: "${inline(3)}" } }`),
    receiverOf(`{ pagerduty: { key: "${inline(4)}" } }`),
    receiverOf(`{ telegram: { token: "${inline(5)}", chat: "-1" } }`),
    receiverOf(`{ webhook: { url: "https://desk.example", headers: { Authorization: "${inline(6)}" } } }`),
    network(`{ only: { url: "https://gateway.example", headers: { Authorization: "${inline(7)}" } } }`),
    `${base}daemon: { tracing: { url: "https://c.example", headers: { Authorization: "${inline(8)}" } } }\n`,
    network(`{ only: "https://reader:${inline(9)}@gateway.example" }`),
  ]
}

const makeEnvironment = (): Record<string, string> =>
  Object.fromEntries([
    ...many(36, (i) => [`SERVICE_${i}_TOKEN`, plant(`environment token ${i}`, token())]),
    ...many(20, (i) => [`WALLET_${i}_MNEMONIC`, plant(`environment mnemonic ${i}`, mnemonic())]),
    // These the launcher takes away, and tells their names.
    ...["NODE_DEBUG", "NODE_PATH", "NODE_ICU_DATA", "OPENSSL_MODULES"].map((name) => [
      name,
      plant(`environment ${name}`, token()),
    ]),
  ])

/** All files of a folder but those that hold the secrets themselves. */
const noteFiles = (folder: string, skipped: ReadonlySet<string>): void => {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, name)
    if (skipped.has(name) || !statSync(path).isFile()) continue
    noteOutput(`file ${relative(dir, path)}`, readFileSync(path, "latin1"))
  }
}

const mistakes = makeMistakes()
const environment = makeEnvironment()

describe("secrets", () => {
  let daemon: Daemon | undefined
  let chain: Daemon | undefined
  let page = ""

  beforeAll(async () => {
    mkdirSync(secretsDir)
    const of = join(dir, "network.yaml")
    writeFileSync(of, sandbox)
    chain = start(["sandbox", of, "--data", join(dir, "network"), "--output", "json"], { cwd: dir })
    const at = {
      network: urlOf(await chain.line(lineWith("sandbox listening"))),
      gateway: await listen(gateway),
      oddGateway: await listen(oddGateway),
      receiver: await listen(receiver),
      collector: await listen(collector),
      reserve: join(dir, "network/sandbox/keys/reserve"),
    }
    writeFileSync(file, treasury(at))
    const env = { ...environment, COFFERER_LISTEN: "0.0.0.0:0", COFFERER_LOG_LEVEL: "debug" }
    for (const [i, text] of mistakes.entries()) writeFileSync(join(dir, `mistake-${i}.yaml`), text)
    assert.strictEqual(planted.size, 200)
    daemon = start(["run", file, "--data", data, "--output", "json"], { cwd: dir, env })
    page = urlOf(await daemon.line(lineWith("page listening"))).replace("0.0.0.0", "127.0.0.1")
    await daemon.line(lineWith("payment confirmed"))
    await callCofferer(["halt", "--reason", "a drill", "--data", data])
    await daemon.line(lineWith("alert not delivered"))
  })

  afterAll(async () => {
    await daemon?.stop("SIGKILL")
    await chain?.stop("SIGKILL")
    for (const server of [gateway, oddGateway, receiver, collector]) {
      server.closeAllConnections()
      server.close()
    }
    rmSync(dir, { recursive: true, force: true })
  })

  it("200 of them stand in no log, metric, page, database, alert, trace or error", async () => {
    const readToken = plant("read token", readFileSync(join(data, "read-token"), "utf8").trim())
    const logIn = (text: string) =>
      fetch(`${page}/login`, { method: "POST", body: new URLSearchParams({ token: text }), redirect: "manual" })
    noteOutput("a wrong log-in", await (await logIn(readToken.slice(0, -1))).text())
    const cookie = (await logIn(readToken)).headers.get("set-cookie")!.split(";")[0]!
    plant("session", cookie.split("=")[1]!)
    for (const path of ["/", "/metrics", "/api/v1/status", "/readyz", "/api/v1/explain?name=keep", "/nothing"]) {
      noteOutput(`page ${path}`, await (await fetch(`${page}${path}`, { headers: { cookie } })).text())
    }
    daemon?.child.kill("SIGUSR1")
    await daemon?.line((line) => line["about"] === "process")
    writeFileSync(file, readFileSync(file, "utf8").replace("name: keep,", "name: keep, for: 1s,"))
    daemon?.child.kill("SIGHUP")
    await daemon?.line(lineWith("configuration reloaded"))
    const env = { COFFERER_DATA_DIR: data }
    const of = ["-c", file]
    // The file of a secret, given for another one.
    const words = join(dir, "words")
    writeFileSync(words, planted.get("environment mnemonic 0")!)
    const wrongFiles = [join(secretsDir, "party-0"), join(secretsDir, "telegram-0"), words]
    for (const command of [
      ["status"],
      ["status", "--output", "json"],
      ["explain", "keep", ...of],
      ["intents"],
      ["plan", ...of],
      ["check", file],
      ["check", "--print", file],
      ["verify"],
      ["export", "--format", "jsonl"],
      ...wrongFiles.flatMap((wrong) => [
        ["submit", wrong],
        ["check", wrong],
        ["test", wrong],
        ["plan", wrong],
      ]),
      ...wrongFiles.map((wrong) => ["receipt", "verify", wrong]),
      ["resume", "--reason", "a drill"],
    ]) {
      const { stdout, stderr } = await callCofferer(command, { env })
      noteOutput(`cofferer ${command.join(" ")}`, stdout + stderr)
    }
    for (const [i] of mistakes.entries()) {
      const { code, stdout, stderr } = await callCofferer(["check", join(dir, `mistake-${i}.yaml`)])
      assert.strictEqual(code, 3, `mistake ${i}`)
      noteOutput(`the error of mistake ${i}`, stdout + stderr)
    }
    assert.deepStrictEqual(await daemon?.stop(), { code: 0, signal: null })
    noteOutput("log", JSON.stringify(daemon?.lines))
    noteOutput("standard error", daemon?.errors() ?? "")
    noteFiles(data, new Set(["read-token"]))
    const inText = await cofferer(["run", file, "--once", "--output", "text", "--data", data], { env: environment })
    noteOutput("text log", inText.stdout + inText.stderr)
    for (const name of ["log", "traces", "bodies of webhooks", "file data/cofferer.db", "text log", "page /metrics"]) {
      assert.isAbove(outputs.get(name)?.length ?? 0, 200, `${name} was seen`)
    }
    assert.deepStrictEqual(leaks(), [])
  })

  it("would be found if they stood there", () => {
    const [place, secret] = [...planted].at(dice.below(planted.size))!
    outputs.clear()
    noteOutput("an output", `Bearer ${secret}, or more of it`)
    assert.include(leaks().join(), place)
  })
})
