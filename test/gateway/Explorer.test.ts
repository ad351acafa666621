import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { Explorer } from "../../src/gateway/Explorer.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { recordedAnswers } from "../support/Recordings.ts"
import { type Handler, json, live, openTransport, startGateway } from "./GatewayServer.ts"

const real = <A, E>(effect: Effect.Effect<A, E, Scope.Scope | HttpClient.HttpClient | Metrics>) =>
  Effect.scoped(effect).pipe(Effect.provide(live))

const shown = recordedAnswers().filter(({ path, status }) => path.startsWith("/rest/transactions/") && status === 200)
const missing = { code: 5, message: "NotFound error", details: [{ code: 10001, message: "transaction not found" }] }
const hash = "ab".repeat(32)
const transaction = { block: "7", hash, submitter: "cd", code: 70, error: "no\u001b[2J", command: { nonce: "9" } }

const asking = Effect.fnUntraced(function* (handler: Handler) {
  const server = yield* startGateway(handler)
  return { server, explorer: Explorer.make(yield* openTransport(server.url)) }
})

describe("an explorer", () => {
  it.effect("shows of each recorded transaction its block, its end and whose it is", () =>
    real(
      Effect.gen(function* () {
        assert.isNotEmpty(shown)
        for (const { path, text } of shown) {
          const { explorer } = yield* asking(json(text))
          const own = JSON.parse(text).transaction
          const found = yield* explorer.transaction(path.split("/").at(-1)!)
          assert.deepStrictEqual(found, {
            hash: own.hash.toLowerCase(),
            height: BigInt(own.block),
            code: own.code,
            error: own.error ?? "",
            submitter: own.submitter,
            nonce: BigInt(own.command.nonce),
          })
        }
      }),
    ),
  )

  it.effect("knows nothing of what is in no block, and its words are safe", () =>
    real(
      Effect.gen(function* () {
        const { server, explorer } = yield* asking(json(missing, 404))
        assert.isUndefined(yield* explorer.transaction(hash))
        server.handler = json({ transaction })
        assert.strictEqual((yield* explorer.transaction(hash.toUpperCase()))?.error, "no\\u{1b}[2J")
      }),
    ),
  )

  it.effect("that answers with another transaction, or with none, is not believed", () =>
    real(
      Effect.gen(function* () {
        const { server, explorer } = yield* asking(json({ transaction: { ...transaction, hash: "00" } }))
        const reason = Effect.map(Effect.flip(explorer.transaction(hash)), (error) => error.reason._tag)
        assert.strictEqual(yield* reason, "Unreadable")
        for (const broken of [{}, { block: -1 }, { code: "0" }, { command: null }, { submitter: 7 }]) {
          server.handler = json({
            transaction: "block" in broken || Object.keys(broken).length > 0 ? { ...transaction, ...broken } : null,
          })
          assert.strictEqual(yield* reason, "Unreadable", JSON.stringify(broken))
        }
      }),
    ),
  )

  it.effect("that is not there is not asked for again within ten minutes", () =>
    real(
      Effect.gen(function* () {
        const { server, explorer } = yield* asking(json({ code: 5, message: "Not Found", details: [] }, 404))
        const reason = Effect.map(Effect.flip(explorer.transaction(hash)), (error) => error.reason._tag)
        for (let i = 0; i < 3; i++) assert.strictEqual(yield* reason, "Unsupported")
        assert.strictEqual(server.arrived.length, 1)
        yield* TestClock.adjust("10 minutes")
        server.handler = json({ transaction })
        assert.strictEqual((yield* explorer.transaction(hash))?.code, 70)
      }),
    ),
  )
})
