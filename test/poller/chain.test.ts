import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Health } from "../../src/gateway/Health.ts"
import { Reconciliation } from "../../src/poller/Reconciliation.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import {
  alerts,
  beginNetwork,
  behindOneAddress,
  contents,
  elsewhere,
  otherAsset,
  resume,
  steps,
} from "../support/Exchanged.ts"
import { type Flow, lives, paid, states } from "../support/Flow.ts"
import { altered, threeFronts } from "../support/Fronts.ts"
import { halts } from "../support/Intents.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { chainId, one, powOf, usdt } from "../support/TestSandbox.ts"

/** What stood in the store before the exchange. */
let kept: ReadonlyArray<string> = []

const otherNetwork = beginNetwork("other-1")

describe("another chain behind the same address", () => {
  it.effect("halts an idle daemon within two polls, and continues after a resume", () =>
    behindOneAddress([
      (front, ...args) =>
        Effect.gen(function* () {
          const other = yield* otherNetwork
          for (let i = 0; i < 40 && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 3)
          assert.deepStrictEqual(yield* states, ["confirmed"])
          yield* steps(args, 10)
          const told = yield* alerts
          const before = yield* contents
          front.manner = elsewhere(other.url)
          yield* steps(args, 2, other)
          assert.deepStrictEqual(yield* halts, ["chain_changed"])
          yield* steps(args, 40, other)
          assert.deepStrictEqual(yield* contents, before, "not one row of it")
          assert.deepStrictEqual((yield* alerts).slice(told.length), ["page halt chain_changed"])
          const [halt] = yield* (yield* Controls).halts
          assert.include(halt?.detail ?? "", "gateway sandbox is on chain other-1, this treasury on sandbox-1")
          front.manner = (_, ask) => ask()
          yield* (yield* Reconciliation).request
          yield* steps(args, 3)
          assert.deepStrictEqual(yield* halts, ["chain_changed"], "people end it")
          yield* resume
          const command = payment(args[2], "eve", 120n * one, { asset: usdt })
          yield* submit(args[2], signed(args[2], { from: "bob", command, ...(yield* head(args[2])) }))
          yield* steps(args, 30)
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          assert.lengthOf(yield* paid(args[1]), 2)
          assert.deepStrictEqual(yield* halts, [])
          assert.deepStrictEqual(yield* (yield* Drifts).all, [])
          assert.deepStrictEqual((yield* alerts).slice(told.length), ["page halt chain_changed"])
        }).pipe(Effect.scoped, Effect.orDie),
    ]),
  )

  it.effect("halts over a restart, which reads nothing of it either", () =>
    behindOneAddress(
      [
        (front, ...args) =>
          Effect.gen(function* () {
            for (let i = 0; i < 40 && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 3)
            yield* steps(args, 6)
            const other = yield* otherNetwork
            kept = yield* contents
            front.manner = elsewhere(other.url)
            yield* steps(args, 1, other)
            // The process ends here, and the next one begins before the other network.
            front.manner = altered(
              ({ method, url }) => method === "GET" && url.pathname === "/blockchain/height",
              (answer) => ({ ...answer, text: answer.text.replaceAll(chainId, "other-1") }),
            )
          }).pipe(Effect.scoped, Effect.orDie),
        (front, ...args) =>
          Effect.gen(function* () {
            yield* steps(args, 10)
            assert.deepStrictEqual(yield* halts, ["chain_changed"])
            assert.deepStrictEqual(yield* contents, kept)
            front.manner = (_, ask) => ask()
            yield* resume
            yield* steps(args, 20)
            assert.deepStrictEqual([yield* halts, yield* (yield* Drifts).all], [[], []])
          }),
      ],
      { unlisted: true },
    ),
  )

  it.effect("of one of three gateways is left out, and others continue", () => {
    const { fronts, gateways } = threeFronts()
    const use: Flow = (...args) =>
      Effect.gen(function* () {
        const other = yield* otherNetwork
        yield* steps(args, 3, other, (name) => name !== "decide")
        fronts[1]!.manner = elsewhere(other.url)
        for (let i = 0; i < 40 && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 3, other)
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
        const elsewhereNow = Effect.map(
          Effect.flatMap(Health, (health) => health.all),
          (all) => all.map(({ otherChain }) => otherChain),
        )
        assert.deepStrictEqual(yield* elsewhereNow, [undefined, "other-1", undefined])
        const sql = yield* SqlClient.SqlClient
        assert.lengthOf(yield* sql`SELECT id FROM assets WHERE id = ${otherAsset}`, 0)
        fronts[1]!.manner = (_, ask) => ask()
        yield* steps(args, 3, other)
        assert.deepStrictEqual(yield* elsewhereNow, [undefined, undefined, undefined])
        assert.deepStrictEqual(yield* (yield* Drifts).all, [])
      }).pipe(Effect.scoped, Effect.orDie)
    const pow = powOf(40)
    return lives([use], { gateways, scenario: { pow } })
  })
})
