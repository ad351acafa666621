import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { noteWritten } from "../../src/alerts/AlertLoop.ts"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import type { Address } from "../../src/config/schema/Fields.ts"
import { ownAddress, serveStatus } from "../../src/http/StatusServer.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { testStore } from "../support/TestStore.ts"
import { watchOnly } from "../support/treasury.ts"

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

interface Call {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

const call = (url: string, { body: sent, ...options }: Call = {}) =>
  Effect.callback<Reply>((resume) => {
    request(url, options, (response) => {
      let body = ""
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      response.on("end", () =>
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body })),
      )
    }).end(sent)
  })

const typed = { "content-type": "application/x-www-form-urlencoded" }
const logIn = (url: string, token: string, headers: Record<string, string> = {}) =>
  call(`${url}/login`, { method: "POST", headers: { ...typed, ...headers }, body: `token=${token}` })
const cookieOf = ({ headers }: Reply): string => String((headers["set-cookie"] as ReadonlyArray<string>)[0])
const nameOf = (reply: Reply): string => cookieOf(reply).split(";")[0]!

const withServer = <E>(
  host: string,
  use: (url: string, dataDir: string) => Effect.Effect<void, E>,
  { metrics, isWritten = true }: { readonly metrics?: Address; readonly isWritten?: boolean } = {},
) =>
  Effect.gen(function* () {
    const store = testStore()
    const treasury = yield* watchOnly("http://127.0.0.1:1")
    const names = { gateways: ["node"], rules: ["news"], receivers: ["log"], version: "1", revision: "" }
    const services = Layer.mergeAll(
      ConfigInForce.layer({ treasury, mode: "observe" }),
      Metrics.layer({ treasury: "watch", mode: "observe", ...names }),
      store.layer(),
      Logger.layer([]),
    )
    yield* Effect.gen(function* () {
      if (isWritten) yield* noteWritten
      const surface = ownAddress({ host, port: 0, portBusy: "error", dataDir: store.dir, metrics })
      const { url } = yield* serveStatus(surface)
      yield* use(url.replace("0.0.0.0", "127.0.0.1"), store.dir)
    }).pipe(Effect.scoped, Effect.provide(services), Effect.ensuring(Effect.sync(store.remove)))
  })

const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

describe("the page on loopback", () => {
  it.live("lets nothing run that it does not serve, and only reads", () =>
    withServer("127.0.0.1", (url) =>
      Effect.gen(function* () {
        const page = yield* call(`${url}/`)
        assert.include(String(page.headers["content-security-policy"]), "default-src 'none'; script-src 'self'")
        assert.notMatch(page.body, /<script>|style="/)
        for (const name of ["page.js", "login.js", "text.js", "preact.js", "htm.js", "html.js", "style.css"]) {
          const path = `/page/${name}`
          const file = yield* call(url + path)
          assert.strictEqual(file.status, 200, path)
          // Beside it, under whatever path a proxy shows it: no package, and no place of its own.
          for (const [, from] of file.body.matchAll(/from\s*"([^"]+)"/g)) {
            assert.match(from!, /^\.\/(text|preact|htm|html)\.js$/, path)
          }
        }
        assert.strictEqual((yield* call(`${url}/api/v1/status`, { method: "POST" })).status, 405)
        assert.strictEqual((yield* call(`${url}/../../package.json`)).status, 404)
        assert.strictEqual((yield* call(`${url}/api/v1/pause`)).status, 404)
      }),
    ),
  )

  it.live("asks for the token under other names than this machine's own, and behind a proxy", () =>
    withServer("127.0.0.1", (url) =>
      Effect.gen(function* () {
        for (const headers of [{ host: "evil.example" }, { "x-forwarded-for": "192.0.2.1" }]) {
          assert.strictEqual((yield* call(`${url}/metrics`, { headers })).status, 401)
        }
        assert.strictEqual((yield* call(`${url}/livez`, { headers: { host: "evil.example" } })).status, 200)
        assert.strictEqual((yield* call(`${url}/metrics`, { headers: { host: "localhost:1" } })).status, 200)
      }),
    ),
  )

  it.live("gives the metrics as OpenMetrics where that is asked for", () =>
    withServer("127.0.0.1", (url) =>
      Effect.gen(function* () {
        const plain = yield* call(`${url}/metrics`)
        const open = yield* call(`${url}/metrics`, {
          headers: { accept: "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" },
        })
        assert.notInclude(plain.body, "# EOF")
        assert.match(open.body, /\n# EOF\n$/)
        assert.match(String(open.headers["content-type"]), /^application\/openmetrics-text; version=1\.0\.0/)
      }),
    ),
  )

  it.live("has no acceptance ratio before a definite answer, and zeroes otherwise", () =>
    withServer("127.0.0.1", (url) =>
      Effect.gen(function* () {
        const { body } = yield* call(`${url}/metrics`)
        assert.notMatch(body, /^cofferer_mempool_acceptance_ratio\{/m)
        assert.include(body, 'cofferer_halted{treasury="watch",reason="restored_store"} 0')
        assert.include(body, 'cofferer_intents{treasury="watch",state="manual"} 0')
        assert.include(body, 'outcome="ambiguous",code="none"} 0')
      }),
    ),
  )
})

describe("the page bound elsewhere", () => {
  it.live("asks for the token of the data directory, but for the probes", () =>
    withServer("0.0.0.0", (url, dir) =>
      Effect.gen(function* () {
        const file = join(dir, "read-token")
        assert.isTrue(existsSync(file))
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        const token = readFileSync(file, "utf8").trim()
        for (const path of ["/", "/metrics", "/api/v1/status"]) {
          assert.strictEqual((yield* call(url + path)).status, 401)
          const right = { authorization: `Bearer ${token}` }
          assert.strictEqual((yield* call(url + path, { headers: right })).status, 200)
        }
        assert.strictEqual((yield* call(`${url}/livez`)).status, 200)
        assert.strictEqual((yield* call(`${url}/readyz`)).status, 200)
      }),
    ),
  )

  it.live("keeps a browser's session in a cookie that only this server reads", () =>
    withServer("0.0.0.0", (url, dir) =>
      Effect.gen(function* () {
        const token = readFileSync(join(dir, "read-token"), "utf8").trim()
        const form = yield* call(`${url}/`)
        assert.strictEqual(form.status, 401)
        assert.include(form.body, '<form class="login" method="post" action="login">')
        const entered = yield* logIn(url, token)
        assert.deepStrictEqual([entered.status, entered.headers["location"]], [303, "./"])
        assert.match(cookieOf(entered), /^cofferer-[0-9a-f]{8}=[0-9a-f]{64}; Max-Age=43200; HttpOnly; SameSite=Strict$/)
        assert.notInclude(cookieOf(entered), token)
        const behindTls = yield* logIn(url, token, { "x-forwarded-proto": "https" })
        assert.match(cookieOf(behindTls), /; Secure$/)
        const cookie = { cookie: `other=1; ${nameOf(entered)}` }
        const page = yield* call(`${url}/`, { headers: cookie })
        assert.include(page.body, '<form method="post" action="logout">')
        assert.strictEqual((yield* call(`${url}/api/v1/status`, { headers: cookie })).status, 200)
        const left = yield* call(`${url}/logout`, { method: "POST", headers: cookie })
        assert.match(cookieOf(left), /=; Max-Age=0;/)
        assert.strictEqual((yield* call(`${url}/api/v1/status`, { headers: cookie })).status, 401)
        const other = { cookie: nameOf(behindTls) }
        assert.strictEqual((yield* call(`${url}/metrics`, { headers: other })).status, 200)
        writeFileSync(join(dir, "read-token"), "another token\n")
        assert.strictEqual((yield* call(`${url}/metrics`, { headers: other })).status, 401)
        assert.strictEqual((yield* logIn(url, "another+token")).status, 303)
      }),
    ),
  )

  it.live("takes no form of another site, and bounds wrong tokens in rate", () =>
    withServer("0.0.0.0", (url, dir) =>
      Effect.gen(function* () {
        const token = readFileSync(join(dir, "read-token"), "utf8").trim()
        const { host } = new URL(url)
        for (const headers of [
          { "sec-fetch-site": "cross-site" },
          { "sec-fetch-site": "same-site" },
          { origin: "https://evil.example" },
          { origin: "null" },
        ]) {
          assert.strictEqual((yield* logIn(url, token, headers)).status, 403)
        }
        assert.strictEqual((yield* logIn(url, token, { origin: `http://${host}` })).status, 303)
        for (let tries = 0; tries < 10; tries++) assert.strictEqual((yield* logIn(url, "wrong")).status, 401)
        const blocked = yield* logIn(url, token)
        assert.strictEqual(blocked.status, 429)
        assert.include(blocked.body, "Too many wrong tokens")
        const bearer = { authorization: `Bearer ${token}` }
        assert.strictEqual((yield* call(`${url}/metrics`, { headers: bearer })).status, 200)
        const long = yield* logIn(url, "x".repeat(10_000))
        assert.strictEqual(long.status, 429)
      }),
    ),
  )
})

describe("readiness", () => {
  it.live("is missing while the store took none of the daemon's writes, and writes none itself", () =>
    withServer(
      "127.0.0.1",
      (url) =>
        Effect.gen(function* () {
          for (let n = 0; n < 2; n++) {
            const { status, body } = yield* call(`${url}/readyz`)
            assert.strictEqual(status, 503)
            assert.deepStrictEqual(Object.keys(JSON.parse(body)), ["store"])
          }
        }),
      { isWritten: false },
    ),
  )
})

describe("metrics at an address of their own", () => {
  it.live("name their own setting where another process has the address", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const metrics = { host: "127.0.0.1", port }
      yield* withServer(
        "127.0.0.1",
        () =>
          Effect.gen(function* () {
            const again = yield* Effect.flip(withServer("127.0.0.1", () => Effect.void, { metrics }))
            assert.strictEqual(
              again.message,
              `the metrics' address 127.0.0.1:${port} is taken by another process; stop it or set daemon.metrics`,
            )
          }),
        { metrics },
      )
    }),
  )

  it.live("name their setting where this host has no such address", () =>
    Effect.gen(function* () {
      const metrics = { host: "203.0.113.1", port: 1 }
      const { message } = yield* Effect.flip(withServer("127.0.0.1", () => Effect.void, { metrics }))
      assert.include(message, "the metrics' address 203.0.113.1:1 cannot be opened: ")
      assert.include(message, "EADDRNOTAVAIL")
      assert.match(message, /; set daemon\.metrics$/)
    }),
  )

  it.live("are read without a token, beside the probes and nothing else", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const at = `http://127.0.0.1:${port}`
      yield* withServer(
        "0.0.0.0",
        () =>
          Effect.gen(function* () {
            for (const path of ["/metrics", "/livez", "/readyz"]) {
              assert.strictEqual((yield* call(at + path)).status, 200, path)
            }
            for (const path of ["/", "/login", "/api/v1/status", "/page/page.js"]) {
              assert.strictEqual((yield* call(at + path)).status, 404, path)
            }
            assert.strictEqual((yield* call(`${at}/login`, { method: "POST" })).status, 405)
          }),
        { metrics: { host: "127.0.0.1", port } },
      )
    }),
  )
})
