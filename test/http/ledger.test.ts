import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ask, controlled } from "../support/Control.ts"
import { round } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { at, request as get, head, payment, signed, submit } from "../support/TestClient.ts"
import { chainId, one, usdt } from "../support/TestSandbox.ts"

describe("the ledger's verbs", () => {
  it.effect("adopt foreign payments of a key: the halt is visible, then ends", () =>
    controlled(function* (options, sandbox, page) {
      const client = { url: sandbox.url, chainId, seed: "test" }
      const command = payment(client, "eve", 10n * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
      for (let i = 0; i < 3; i++) yield* round(options, sandbox)
      const sentence = Effect.map(ask(options, "/api/v1/status"), (reply) => String(at(reply, "sentence.text")))
      const gauges = Effect.map(get({ url: page }, "/metrics"), ({ text }) =>
        [...text.matchAll(/^cofferer_(halted|foreign_payments)\{.*(?:foreign_payment|alice).*\} ([01])$/gm)].map(
          ([, name, value]) => `${name} ${value}`,
        ),
      )
      assert.match(yield* sentence, /^Halted since .*foreign payment.*cofferer adopt --reason TEXT/)
      assert.deepStrictEqual(yield* gauges, ["halted 1", "foreign_payments 1"])
      const said = { reason: "the old wallet", author: "ana" }
      assert.strictEqual((yield* ask(options, "/api/v1/adopt", { author: "ana" })).status, 400)
      const adopted = yield* ask(options, "/api/v1/adopt", said)
      assert.deepStrictEqual([adopted.status, at(adopted, "adopted.0.amount")], [200, "10000000"])
      assert.deepStrictEqual(yield* gauges, ["halted 0", "foreign_payments 0"])
      const recovered = yield* ask(options, "/api/v1/recover", said)
      assert.containSubset(recovered.json, { lastOnLedger: null, imported: [] })
      yield* get({ url: sandbox.url }, "/sandbox/faults", {
        body: JSON.stringify({ operation: "transfers", kind: "http_status", status: 503 }),
      })
      assert.strictEqual((yield* ask(options, "/api/v1/adopt", said)).status, 503)
    }),
  )
})
