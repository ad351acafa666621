import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { leaveBehind } from "../../src/poller/watchChain.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { loadSends } from "../../src/submitter/loadEnds.ts"
import { alice, flow, round, states } from "../support/Flow.ts"
import { newest } from "../support/Intents.ts"
import { behind, deposits, shown as doneAs, keepEve, pages, pow } from "../support/LoneLiar.ts"
import { chainId } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"

const setup = { scenario: { ...pow(20), deposits }, network: { framing: "bare" }, rules: [keepEve] }

describe("a payment that is confirmed and not seen to have moved", () => {
  it.effect("keeps no other from being looked up while its movement cannot be asked for", () =>
    behind(setup, function* (liar, _, options, sandbox) {
      let first: string | undefined
      let hides = true
      liar.manner = async (request, ask) => {
        const path = request.url.pathname
        if (path.startsWith("/api/v2/ledgerentry")) return { status: 500, headers: {}, text: "{}" }
        const id = /^\/api\/v2\/transfer\/([0-9a-f]{64})$/.exec(path)?.[1]
        first ??= id
        if (hides && id !== undefined && id !== first) return { status: 503, headers: {}, text: "" }
        return ask()
      }
      const blind = new Set(["poll", "decide", "reconcile"])
      for (let i = 0; i < 12 && (yield* (yield* Outbox).live).length < 2; i++) {
        yield* Effect.ignore(round(options, sandbox, new Set(["confirm"])))
      }
      for (let i = 0; i < 4; i++) yield* Effect.ignore(round(options, sandbox, blind))
      assert.lengthOf(yield* (yield* Outbox).unmoved, 1)
      hides = false
      yield* TestClock.adjust("6 seconds")
      yield* Effect.ignore(confirmOnce())
      assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
    }),
  )
})

describe("a payment that is confirmed and not seen to have moved on a chain before a reset", () => {
  it.effect("reserves nothing on the chain that operators accepted, and alerts are sent", () =>
    flow(
      function* (options, sandbox) {
        const outbox = yield* Outbox
        const blind = new Set(["poll", "reconcile"])
        for (let i = 0; i < 3; i++) yield* round(options, sandbox)
        for (let i = 0; i < 12 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox, blind)
        const [attempt] = yield* outbox.attempts((yield* outbox.recent(1))[0]?.id ?? "")
        const anchor = attempt?.anchorHeight ?? assert.fail("nothing was signed")
        yield* leaveBehind(chainId, anchor)
        assert.lengthOf(yield* outbox.unmoved, 1, "a block that the chain comes to soon ends it")
        yield* leaveBehind(chainId, anchor - 1n)
        assert.lengthOf(yield* outbox.unmoved, 0)
        const due = yield* (yield* AlertQueue).due(100)
        assert.lengthOf(
          due.filter(({ detail }) => detail.includes("on the chain before the reset")),
          1,
        )
      },
      { scenario: pow(40) },
    ),
  )
})

const gone = { status: 404, text: '{"code":5,"message":"Not Found","details":[]}' }

/** Shows payments as done that no node ever took, then tells the truth; it names no block, and no movements. */
const falselyDone = (rules: ReadonlyArray<typeof keepEve>) =>
  behind({ ...setup, rules }, function* (liar, _, options, sandbox) {
    const outbox = yield* Outbox
    const shown = new Map<string, string>()
    let lies = true
    liar.manner = async (request, ask) => {
      if (request.method === "POST") return { status: 503, headers: {}, text: "" }
      const path = request.url.pathname
      const answer = await ask()
      const { "x-block-height": _height, "x-block-timestamp": _time, ...headers } = answer.headers
      if (path.startsWith("/api/v2/ledgerentry")) return { ...gone, headers }
      const told = lies ? shown.get(path.replace("/api/v2/transfer/", "")) : undefined
      return told === undefined ? { ...answer, headers } : { status: 200, headers, text: told }
    }
    const count = rules.length + 1
    const blind = new Set(["confirm"])
    const sent = Effect.map(outbox.live, (live) => live.filter(({ sends }) => sends > 0).length)
    for (let i = 0; i < 12 && (yield* sent) < count; i++) {
      yield* Effect.ignore(ticking(round(options, sandbox, blind)))
    }
    for (const { id, payment } of yield* outbox.open) {
      for (const { transferId, createdAt } of yield* outbox.attempts(id)) {
        const done = doneAs("STATUS_DONE", payment.toKey, payment.amount)
        shown.set(transferId, done(transferId, `${createdAt + 1_000}000000`))
      }
    }
    const idle = new Set(["compare", "decide"])
    const pass = (seconds: number) =>
      Effect.forEach(
        Array.from({ length: seconds }),
        () => Effect.ignore(ticking(round(options, sandbox, idle), "50 millis")),
        { discard: true },
      )
    for (let i = 0; i < 12 && (yield* outbox.unmoved).length < count; i++) yield* pass(1)
    assert.lengthOf(yield* outbox.unmoved, count)
    lies = false
    yield* pass(75)
    assert.lengthOf(yield* outbox.unmoved, count - 1)
    for (let left = count - 1; left > 0; left--) {
      yield* (yield* Controls).release("payment_missing", "resumed")
      yield* pass(8)
      assert.lengthOf(yield* outbox.unmoved, left - 1)
    }
    const halted = (yield* pages).filter((detail) => detail.includes("is recorded as paid"))
    assert.lengthOf(halted, count)
  })

it.effect("movements are asked for from the oldest of several signatures on", () =>
  flow(function* (options, sandbox) {
    while ((yield* states)[0] !== "confirmed") yield* round(options, sandbox)
    const { attempt } = yield* newest
    const later = { ...attempt, createdAt: attempt.createdAt + 3_600_000, signedAfter: undefined }
    for (const due of [
      [attempt, later],
      [later, attempt],
    ])
      assert.strictEqual((yield* loadSends(alice, due))?.counts.get(attempt.transferId), 1)
  }),
)

describe("a payment that was never made and is recorded as paid", () => {
  it.effect("halts where answers name no block either", () => falselyDone([]))

  it.effect("halts for itself beside another one", () => falselyDone([keepEve]))
})
