import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { isFinalAttempt } from "../../src/domain/Attempt.ts"
import { sureHeight } from "../../src/payments/judgeAttempt.ts"
import { Database } from "../../src/store/database/Database.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { confirmIntent } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { flow, pass, round, states } from "../support/Flow.ts"
import { type Front, threeFronts } from "../support/Fronts.ts"
import { waitUntil } from "../support/until.ts"

const unsent = new Set(["submit", "confirm"])

describe("bytes that were never sent", () => {
  it.effect("are not proven dead while a send of them begins", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, unsent)
      const dying = yield* Effect.forkChild(submitOnce())
      const outbox = yield* Outbox
      const hasAttempt = Effect.map(outbox.live, (live) => live.length > 0)
      yield* waitUntil("an attempt", hasAttempt, Effect.yieldNow)
      yield* Fiber.interrupt(dying)
      const [attempt = assert.fail()] = yield* outbox.live
      const [intent = assert.fail()] = yield* outbox.open
      assert.deepStrictEqual([attempt.state, attempt.sends], ["signed", 0])
      const looked = yield* Deferred.make<void>()
      const database = yield* Database
      // As the submitter begins a send: not of an attempt that is over.
      const begin = Effect.gen(function* () {
        const stored = (yield* outbox.attempts(intent.id)).find(({ k }) => k === attempt.k)
        if (stored === undefined || isFinalAttempt(stored.state)) return
        yield* outbox.beginSend({ attempt, gateway: "g", framing: "bare", first: true, txHash: "ab" })
      })
      const sending = yield* Effect.forkChild(Effect.andThen(Deferred.await(looked), database.write(begin)), {
        startImmediately: true,
      })
      const letItBegin = Effect.gen(function* () {
        yield* Deferred.succeed(looked, undefined)
        for (let i = 0; i < 50; i++) yield* Effect.yieldNow
      })
      const sends: typeof outbox.sends = (id) => Effect.tap(outbox.sends(id), () => letItBegin)
      const told = attempt.anchorHeight + 1_000n
      const later = attempt.createdAt + 100_000
      const height = sureHeight(attempt, { reported: told, now: later, blockMillis: 100 })
      yield* confirmIntent({ intent, attempt, height }).pipe(Effect.provideService(Outbox, { ...outbox, sends }))
      yield* Fiber.join(sending)
      const [now] = yield* outbox.attempts(intent.id)
      assert.deepStrictEqual([now?.state, yield* outbox.sends(intent.id)], ["expired", []])
    }),
  )
})

/** Three gateways of a network that tells no movements: what was done, all of them call rejected by now. */
const amnesiac = (front: Front) => {
  front.manner = async ({ url }, ask) => {
    const answer = await ask()
    if (/^\/(rest|api\/v2\/ledgerentry)\//.test(url.pathname)) {
      return { ...answer, status: 404, text: '{"code":5,"message":"Not Found","details":[]}' }
    }
    if (!url.pathname.startsWith("/api/v2/transfer")) return answer
    return { ...answer, text: answer.text.replaceAll("STATUS_DONE", "STATUS_REJECTED") }
  }
}

describe("a payment that several gateways show as rejected", () => {
  it.effect("is not failed where none tells movements, and the payer's balance fell by it", () => {
    const { fronts, gateways } = threeFronts()
    return flow(
      function* (options, sandbox) {
        for (const front of fronts) amnesiac(front)
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, unsent)
        yield* submitOnce()
        yield* TestClock.adjust("1 second")
        yield* submitOnce()
        for (let i = 0; i < 5; i++) yield* round(options, sandbox, new Set(["decide"]))
        assert.strictEqual((yield* sandbox.ledger.executed).filter(({ code }) => code === 0).length, 1)
        const [intent] = yield* (yield* Outbox).recent(1)
        assert.include(["in_flight", "unknown"], intent?.state, intent?.detail)
        yield* pass(sandbox, 90, round(options, sandbox, new Set(["decide", "compare"])))
        assert.deepStrictEqual(yield* states, ["manual"])
      },
      {
        gateways,
        network: { quorum: 2 },
      },
    )
  })
})
