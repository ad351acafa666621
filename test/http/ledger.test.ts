import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { ledgerVerb } from "../../src/http/ledgerVerbs.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { ask, controlled } from "../support/Control.ts"
import { round } from "../support/Flow.ts"
import { halts } from "../support/Intents.ts"
import { it } from "../support/it.ts"
import { copyTo, elsewhere, folder, life, overwrite, reborn } from "../support/Lives.ts"
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

/** The treasury of a flow with one key to pay with. */
const payingWith = (options: DaemonOptions, payer: string) => {
  const { document } = options.treasury
  const value = JSON.parse(JSON.stringify(document.value))
  value.parties.alice = { publicKey: publicKeyOf("test", payer), signer: { sandbox: payer } }
  value.parties.carol = undefined
  return Effect.map(treasuryOf({ ...document, value: JSON.parse(JSON.stringify(value)) }), (treasury) => ({
    ...options,
    treasury,
  }))
}

describe("a recovery over a database", () => {
  for (const [whose, payer, said] of [
    [
      "with other keys",
      "carol",
      /^the database is of a treasury that pays with ([0-9a-f]{8}), .* with (?!\1)[0-9a-f]{8}$/,
    ],
    ["of its own", "alice", undefined],
  ] as const) {
    it.effect(`${whose} ${said === undefined ? "goes on" : "is refused"}`, () =>
      reborn(function* (outer, world) {
        const options = yield* payingWith(outer, "alice")
        const copy = folder()
        yield* elsewhere(yield* payingWith(outer, payer), function* (there) {
          yield* life(there, () => Effect.sync(() => copyTo(there.dataDir, copy)))
        })
        yield* life(options, () => round(options, world))
        overwrite(copy, options.dataDir)
        for (let start = 0; start < 2; start++) yield* life(options, () => round(options, world))
        yield* life(options, function* () {
          const verb = ledgerVerb("recover", options, { reason: "the disk died", author: "ana" })
          const done = yield* verb
          assert.strictEqual("problem" in done, said !== undefined)
          if ("problem" in done) assert.match(done.problem, said!)
          assert.strictEqual((yield* halts).includes("restored_store"), said !== undefined)
        })
      }),
    )
  }
})
