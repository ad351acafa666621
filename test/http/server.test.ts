import { existsSync, readFileSync, statSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { StatusServer } from "../../src/http/StatusServer.ts"
import { StatusView } from "../../src/http/StatusView.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { testStore } from "../support/TestStore.ts"
import { watchOnly } from "../support/treasury.ts"

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

const call = (url: string, options: { method?: string; headers?: Record<string, string> } = {}) =>
  Effect.callback<Reply>((resume) => {
    request(url, options, (response) => {
      let body = ""
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      response.on("end", () =>
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body })),
      )
    }).end()
  })

const withServer = <E>(host: string, use: (url: string, dataDir: string) => Effect.Effect<void, E>) =>
  Effect.gen(function* () {
    const store = testStore()
    const treasury = yield* watchOnly("http://127.0.0.1:1")
    const names = { gateways: ["node"], rules: ["news"], receivers: ["log"], version: "1", revision: "" }
    const layer = StatusServer.layer({ host, port: 0, portBusy: "error", dataDir: store.dir }).pipe(
      Layer.provide(StatusView.layer),
      Layer.provide(ConfigInForce.layer({ treasury, mode: "observe" })),
      Layer.provide(Metrics.layer({ treasury: "watch", mode: "observe", ...names })),
      Layer.provide(store.layer()),
      Layer.provideMerge(Logger.layer([])),
    )
    yield* Effect.flatMap(StatusServer, ({ url }) => use(url.replace("0.0.0.0", "127.0.0.1"), store.dir)).pipe(
      Effect.provide(layer),
      Effect.ensuring(Effect.sync(store.remove)),
    )
  })

describe("the page on loopback", () => {
  it.live("lets nothing run that it does not serve, and only reads", () =>
    withServer("127.0.0.1", (url) =>
      Effect.gen(function* () {
        const page = yield* call(`${url}/`)
        assert.include(String(page.headers["content-security-policy"]), "default-src 'none'; script-src 'self'")
        assert.notMatch(page.body, /<script>|style="/)
        for (const name of ["page.js", "text.js", "preact.js", "htm.js", "html.js", "style.css"]) {
          const path = `/page/${name}`
          const file = yield* call(url + path)
          assert.strictEqual(file.status, 200, path)
          assert.notMatch(file.body, /from\s*"(preact|htm|\.)/, `${path} asks for no package`)
        }
        assert.strictEqual((yield* call(`${url}/api/v1/status`, { method: "POST" })).status, 405)
        assert.strictEqual((yield* call(`${url}/../../package.json`)).status, 404)
        assert.strictEqual((yield* call(`${url}/api/v1/pause`)).status, 404)
      }),
    ),
  )

  it.live("answers under this machine's own names alone", () =>
    withServer("127.0.0.1", (url) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* call(`${url}/metrics`, { headers: { host: "evil.example" } })).status, 403)
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
})
