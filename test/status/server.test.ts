import { existsSync, readFileSync, statSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { StatusServer } from "../../src/status/StatusServer.ts"
import { StatusView } from "../../src/status/StatusView.ts"
import { sentenceOf } from "../../src/status/sentence.ts"
import type { View } from "../../src/status/View.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { testStore } from "../support/TestStore.ts"
import { watchOnly } from "../support/treasury.ts"
import { waitUntil } from "../support/until.ts"

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
    const layer = StatusServer.layer({ treasury, host, port: 0, portBusy: "error", dataDir: store.dir }).pipe(
      Layer.provide(StatusView.layer({ treasury, mode: "observe", version: "1" })),
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
        for (const name of ["page.js", "visible.js", "preact.js", "htm.js", "html.js", "style.css"]) {
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

describe("a wrong token", () => {
  it.effect("is refused later, and delays no right one", () =>
    withServer("0.0.0.0", (url, dir) =>
      Effect.gen(function* () {
        const token = readFileSync(join(dir, "read-token"), "utf8").trim()
        const wrong = { authorization: `Bearer ${"0".repeat(64)}` }
        const refused = yield* Effect.forkChild(call(`${url}/metrics`, { headers: wrong }))
        const right = { authorization: `Bearer ${token}` }
        for (let i = 0; i < 20; i++) {
          assert.strictEqual((yield* call(`${url}/metrics`, { headers: right })).status, 200)
        }
        assert.isUndefined(refused.pollUnsafe(), "it waits for a quarter of a second that has not passed")
        // The clock goes on only after the server has begun to wait: one request more has passed it each time.
        const passing = Effect.andThen(TestClock.adjust("250 millis"), call(`${url}/livez`))
        yield* waitUntil("the refusal", () => refused.pollUnsafe() !== undefined, passing)
        assert.strictEqual((yield* Fiber.join(refused)).status, 401)
      }),
    ),
  )
})

describe("the sentence", () => {
  const calm: Omit<View, "sentence"> = {
    treasury: "t",
    mode: "live",
    version: "1",
    network: { chainId: "c", quorum: 1, gateways: [] },
    height: "1",
    ageSeconds: 1.25,
    accounts: [],
    rules: [],
    intents: [],
    policy: [],
    acceptance: { accepted: 0, refused: 0, lost: 0 },
    gaps: [],
    backfills: [],
    work: null,
    doubted: null,
    uncompared: null,
    alertsPending: 0,
    halts: [],
    pauses: [],
    terms: null,
    maintenance: [],
    journal: { seq: 0, head: "" },
    at: "",
  }
  const open = (state: string): View["intents"][number] => ({
    id: "",
    short: "a1vh",
    state,
    open: true,
    rule: "",
    amount: "59,000.00 USDT",
    from: "reserve",
    to: "maker",
    detail: "",
    note: null,
    setAside: null,
    held: [],
    wait: null,
    createdAt: "",
    attempts: [],
  })
  const account = (inBand: boolean): View["accounts"][number] => ({
    party: "hot",
    asset: "USDT",
    balance: "9,000.00",
    units: "",
    reserved: "0.00",
    incoming: "0.00",
    available: "",
    levels: [],
    share: 0,
    shareSoon: 0,
    inBand,
    observation: null,
  })
  const rule = (reason: string, more: Partial<View["rules"][number]> = {}): View["rules"][number] => ({
    name: "even",
    kind: "topUp",
    subject: "hot/USDT",
    trial: false,
    state: "holding",
    reason,
    fires: null,
    detail: "its code throws",
    sentence: "",
    ...more,
  })
  const today = "2 payments in 24 h, 0 open. Knowledge 1.3 s old."
  const waits = "2 payments in 24 h, 1 open. Knowledge 1.3 s old."
  const maintenance = [{ name: "audit", until: "2026-11-21T18:00:00.000Z" }]
  const shutOut = {
    name: "main",
    state: "banned",
    height: null,
    detail: "banned until 2026-11-21 10:10:40 UTC",
  } as const
  const halts = [{ reason: "chain_changed", detail: "another chain", at: "2026-11-21T02:14:00Z" }]

  it.each([
    ["ok", {}, "All in band. 2 payments in 24 h, 0 open. Knowledge 1.3 s old."],
    [
      "bad",
      { halts },
      'Halted since 02:14 UTC: chain changed. another chain. Nothing is signed; once the cause is gone: "cofferer resume --reason TEXT".',
    ],
    [
      "bad",
      { intents: [open("manual")] },
      'A person must resolve 1 payment: nothing proves what became of it; "cofferer intents resolve a1vh --reason TEXT", with --executed TXHASH or --never-executed.',
    ],
    [
      "warn",
      { pauses: [{ scope: "all", reason: "audit", author: "ana", until: null }] },
      'Paused (all) by ana until someone resumes it: audit; "cofferer resume --reason TEXT".',
    ],
    [
      "warn",
      { pauses: [{ scope: "party:hot", reason: "audit", author: "ana", until: "2026-11-21T18:00:00.000Z" }] },
      'Paused (party:hot) by ana until 2026-11-21 18:00 UTC: audit; "cofferer resume --scope party:hot --reason TEXT".',
    ],
    ["warn", { ageSeconds: null }, "No balance was read yet: no money moves."],
    ["warn", { ageSeconds: 45 }, "Knowledge is 45.0 s old: no money moves."],
    [
      "warn",
      { ageSeconds: 45, network: { chainId: "c-1", quorum: 1, gateways: [shutOut] } },
      "Knowledge is 45.0 s old: no money moves; gateway main is banned until 2026-11-21 10:10:40 UTC.",
    ],
    [
      "warn",
      { intents: [open("unknown")] },
      "1 payment may or may not be in the network; the same bytes are sent again.",
    ],
    ["warn", { rules: [rule("locked")] }, `even is locked: its code throws. ${today}`],
    [
      "warn",
      { intents: [open("awaiting_approval")] },
      `1 payment waits for approval: 59,000.00 USDT reserve -> maker (a1vh); "cofferer approve a1vh --key FILE". ${waits}`,
    ],
    [
      "warn",
      { intents: [{ ...open("awaiting_approval"), detail: "waits for 2; ana, ben must sign again: it changed" }] },
      `1 payment waits for approval: 59,000.00 USDT reserve -> maker (a1vh); "cofferer approve a1vh --key FILE". ana, ben must sign again (a1vh). ${waits}`,
    ],
    ["warn", { rules: [rule("limit")] }, `Held: even hot/USDT (limit). ${today}`],
    [
      "warn",
      { rules: ["a", "b", "c", "d"].map((name) => rule("asset_status", { name })) },
      `Held: a hot/USDT (asset status), b hot/USDT (asset status), c hot/USDT (asset status) and 1 more. ${today}`,
    ],
    [
      "warn",
      { rules: [rule("locked")], accounts: [account(false)], maintenance },
      `even is locked: its code throws. Out of band: hot 9,000.00 USDT. Maintenance audit until 2026-11-21 18:00 UTC: rules pay nothing. ${today}`,
    ],
    [
      "warn",
      { rules: [rule("locked"), rule("in_band", { name: "thin", fires: "ticket", detail: "low" })] },
      "thin fires (ticket): low. even is locked: its code throws.",
    ],
    ["ok", { maintenance }, `All in band. Maintenance audit until 2026-11-21 18:00 UTC: rules pay nothing. ${today}`],
    ["ok", { rules: [rule("limit", { trial: true }), rule("locked", { trial: true })] }, `All in band. ${today}`],
  ] as const)("is %s where %j", (severity, change, text) => {
    assert.deepStrictEqual(sentenceOf({ ...calm, ...change }, { today: 2, maxAgeSeconds: 30 }), { severity, text })
  })
})
