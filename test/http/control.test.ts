import { statSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { remedyOf } from "../../src/domain/Halt.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { layerControl, socketFile } from "../../src/http/ControlServer.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { ask, controlled } from "../support/Control.ts"
import { paid, reason, round, states } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { at, request as get } from "../support/TestClient.ts"

describe("the control socket", () => {
  it.effect("is this user's alone, and says that somebody lives there", () =>
    controlled(function* (options) {
      assert.strictEqual(statSync(join(options.dataDir, socketFile)).mode & 0o777, 0o600)
      const live = yield* ask(options, "/api/v1/live")
      assert.deepStrictEqual(live.json, { live: true, pid: process.pid, files: options.treasury.files })
      assert.strictEqual((yield* ask(options, "/api/v1/nothing")).status, 404)
      assert.strictEqual(at(yield* ask(options, "/api/v1/status"), "treasury"), "flow")
    }),
  )

  it.effect("stays with the daemon that listens: another one in its data directory is refused", () =>
    controlled(function* (options) {
      const refused = yield* Effect.flip(Effect.scoped(Layer.build(Layer.fresh(layerControl(options)))))
      assert.match(refused.message, /another daemon listens .*; name another data directory/)
      assert.strictEqual((yield* ask(options, "/api/v1/live")).status, 200)
    }),
  )

  it.effect("pauses a scope that exists with reason and author, and resumes it", () =>
    controlled(function* (options, sandbox) {
      const body = { scope: "rule:keep-bob", reason: "audit", author: "ana" }
      const longest = { ...body, until: null }
      assert.deepStrictEqual((yield* ask(options, "/api/v1/pause", body)).json, { paused: "rule:keep-bob", longest })
      assert.containSubset(yield* (yield* Controls).pauses, [body])
      for (let i = 0; i < 3; i++) yield* round(options, sandbox)
      assert.deepStrictEqual([yield* states, yield* reason], [[], "paused"])
      const resumed = yield* ask(options, "/api/v1/resume", { ...body, reason: "done" })
      const left = { haltFile: "none", stillHalted: [], remedies: [], stillPaused: [] }
      assert.deepStrictEqual(resumed.json, { resumed: "rule:keep-bob", ended: 1, ...left })
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
    }),
  )

  it.effect("says of a pause which one lasts longest, and takes no end before the newest block", () =>
    controlled(function* (options, sandbox) {
      yield* round(options, sandbox)
      const now = yield* Clock.currentTimeMillis
      const body = { scope: "rule:keep-bob", reason: "audit", author: "ana", until: now + 60_000 }
      yield* (yield* Controls).pause({ scope: "all", reason: "drill", author: "ben", until: undefined })
      const paused = yield* ask(options, "/api/v1/pause", body)
      assert.strictEqual(at(paused, "longest.scope"), "all")
      yield* TestClock.setTime(now - 3_600_000)
      assert.strictEqual((yield* ask(options, "/api/v1/pause", { ...body, until: now - 60_000 })).status, 400)
    }),
  )

  it.effect("halts everything at a person's word, pages people, and goes on after a resume", () =>
    controlled(function* (options, sandbox) {
      const said = { reason: "something is odd", author: "ana" }
      assert.deepStrictEqual((yield* ask(options, "/api/v1/halt", said)).json, {
        halted: true,
        treasury: options.treasury.name,
      })
      for (let i = 0; i < 4; i++) yield* round(options, sandbox)
      assert.deepStrictEqual([yield* states, yield* reason], [[], "halted"])
      for (const query of ["?limit=1", "?limit=x", "?limit=1e300", "?limit=0", "?limit=-1", ""]) {
        const listed = yield* ask(options, `/api/v1/alerts${query}`)
        assert.deepStrictEqual([listed.status, at(listed, "alerts.0.kind")], [200, "halt"], query)
      }
      const [halt] = yield* (yield* Controls).halts
      assert.containSubset(halt, { reason: "operator", detail: "ana: something is odd" })
      const paged = (yield* (yield* AlertQueue).due(10)).filter(({ severity }) => severity === "page")
      assert.deepStrictEqual(
        paged.map(({ subject }) => subject),
        ["operator"],
      )
      yield* ask(options, "/api/v1/resume", { scope: "all", reason: "it was nothing", author: "ben" })
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* states, ["confirmed"])
    }),
  )

  it.effect("says which halts a resume did not end", () =>
    controlled(function* (options) {
      yield* (yield* Controls).halt("restored_store", "stop")
      const body = { scope: "all", reason: "go", author: "ana" }
      assert.deepStrictEqual((yield* ask(options, "/api/v1/resume", body)).json, {
        resumed: "all",
        ended: 0,
        haltFile: "none",
        stillHalted: ["restored_store"],
        remedies: [remedyOf("restored_store", "stop")],
        stillPaused: [],
      })
    }),
  )

  it.effect("refuses what it does not understand, and changes nothing", () =>
    controlled(function* (options) {
      const body = { scope: "rule:nobody", reason: "x", author: "ana" }
      for (const path of ["/api/v1/pause", "/api/v1/resume"]) {
        const unknown = yield* ask(options, path, body)
        assert.strictEqual(unknown.status, 400)
        assert.include(String(at(unknown, "error")), 'scope "rule:nobody" names nothing')
        assert.include(String(at(unknown, "remedy")), "rule:keep-bob")
      }
      for (const wrong of [
        { ...body, scope: "all", reason: "" },
        { ...body, scope: "all", more: 1 },
        { scope: "all", reason: "x" },
        { ...body, scope: "all", author: "a".repeat(257) },
        { ...body, scope: "all", reason: "a\0b" },
        "not json",
      ]) {
        assert.strictEqual((yield* ask(options, "/api/v1/pause", wrong)).status, 400)
      }
      const large = yield* ask(options, "/api/v1/pause", { ...body, reason: "x".repeat(70_000) })
      assert.strictEqual(large.status, 413)
      assert.deepStrictEqual(yield* (yield* Controls).pauses, [])
      assert.strictEqual((yield* ask(options, "/api/v1/live")).status, 200)
    }),
  )

  it.effect("takes a person's payment once, and refuses what the policy forbids", () =>
    controlled(function* (options) {
      const body = (amount: string, key = "rent") => ({
        idempotencyKey: key,
        transfer: { from: "alice", to: "bob", asset: "USDT", amount },
      })
      assert.strictEqual((yield* ask(options, "/api/v1/submit", body("20"))).status, 201)
      const again = yield* ask(options, "/api/v1/submit", body("20"))
      assert.deepStrictEqual([again.status, at(again, "created")], [200, false])
      assert.strictEqual((yield* ask(options, "/api/v1/submit", body("21"))).status, 400)
      const above = yield* ask(options, "/api/v1/submit", body("201", "other"))
      assert.strictEqual(above.status, 403)
      assert.include(
        String(at(above, "error")),
        "the policy refuses it: 201 USDT is above 200 USDT per transfer (policy line 1)",
      )
      assert.strictEqual(at(above, "remedy"), '"cofferer status" shows the limits in force')
      assert.strictEqual((yield* ask(options, "/api/v1/submit", { ...body("1", "x"), more: 1 })).status, 400)
      assert.strictEqual((yield* (yield* Outbox).recent(10)).length, 1)
    }),
  )

  it.effect("promises no time at which a payment of nothing is permitted", () =>
    controlled(function* (options, sandbox) {
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      const transfer = { from: "alice", to: "bob", asset: "USDT", amount: "0" }
      const refused = yield* ask(options, "/api/v1/submit", { idempotencyKey: "nothing", transfer })
      assert.strictEqual(at(refused, "error"), "the policy refuses it: a payment of nothing")
    }),
  )

  it.effect("shows a payment from decision to end by any prefix of its id", () =>
    controlled(function* (options, sandbox) {
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      const [intent] = yield* (yield* Outbox).recent(1)
      const [executed] = yield* paid(sandbox)
      const id = intent?.id ?? ""
      const whole = yield* ask(options, `/api/v1/intents/${id}`)
      assert.strictEqual(whole.status, 200)
      assert.containSubset(whole.json, {
        id,
        state: "confirmed",
        fee: "150000",
        payment: { from: "alice", to: "bob", amount: "150000000" },
        attempts: [{ k: 1, state: "confirmed", sends: 2, txHash: executed?.hash.toUpperCase() }],
        sends: [{ outcome: "framing" }, { outcome: "accepted" }],
        evidence: [{ kind: "refused" }, { kind: "accepted" }, { kind: "executed" }],
      })
      const kinds = JSON.stringify(at(whole, "journal"))
      for (const kind of ["intent", "signature", "send", "evidence"]) assert.include(kinds, kind)
      const short = String(at(whole, "short"))
      for (const part of [id.slice(0, 8), short]) {
        assert.strictEqual(at(yield* ask(options, `/api/v1/intents/${part}`), "id"), id, part)
      }
      assert.strictEqual((yield* ask(options, "/api/v1/intents/zzzzzz")).status, 404)
      const tooShort = yield* ask(options, "/api/v1/intents/z")
      assert.strictEqual(tooShort.status, 404)
      assert.strictEqual(at(tooShort, "error"), 'no payment "z"')
      for (const query of ["?limit=5", "?limit=x", "?limit=0", "?limit=-1", ""]) {
        assert.strictEqual(at(yield* ask(options, `/api/v1/intents${query}`), "0.id"), id, query)
      }
    }),
  )
})

describe("the page of a treasury that pays", () => {
  it.effect("has an acceptance ratio of one after its first accepted send, and not before", () =>
    controlled(function* (options, sandbox, page) {
      const metrics = Effect.map(get({ url: page }, "/metrics"), ({ text }) => text)
      assert.notMatch(yield* metrics, /^cofferer_mempool_acceptance_ratio\{/m)
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      const text = yield* metrics
      assert.include(text, 'cofferer_mempool_acceptance_ratio{treasury="flow"} 1\n')
      assert.match(text, /send="first",outcome="accepted",code="0"\} 1\n/)
      assert.match(text, /send="first",outcome="framing",code="60"\} 1\n/)
      assert.include(text, 'cofferer_intents_finished_total{treasury="flow",outcome="confirmed"} 1\n')
      assert.match(text, /account_balance\{[^}]*party="bob",asset="USDT",kind="observed"\} 200\n/)
      const status = yield* get({ url: page }, "/api/v1/status")
      assert.containSubset(status.json, {
        acceptance: { accepted: 1, refused: 0, lost: 0 },
        sentence: { severity: "ok" },
        intents: [{ state: "confirmed" }],
      })
    }),
  )

  it.effect("shows a halt and stays ready, for readiness is about the page alone", () =>
    controlled(function* (_, __, page) {
      yield* (yield* Controls).halt("chain_changed", "another chain")
      yield* decideOnce()
      const text = (yield* get({ url: page }, "/metrics")).text
      assert.include(text, 'cofferer_halted{treasury="flow",reason="chain_changed"} 1\n')
      const status = yield* get({ url: page }, "/api/v1/status")
      assert.strictEqual(at(status, "sentence.severity"), "bad")
      assert.strictEqual((yield* get({ url: page }, "/readyz")).status, 200)
    }),
  )
})
