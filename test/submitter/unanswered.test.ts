import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { type Flow, type FlowBody, flow, paid, pass, round, states } from "../support/Flow.ts"
import { altered, type Front, threeFronts } from "../support/Fronts.ts"
import { behind, hiding, type Instead, unknown, withoutTransfers } from "../support/Instead.ts"
import { effectOf } from "../support/it.ts"

const unsent = new Set(["submit", "confirm"])
const broken = { status: 500, body: { code: 13, message: "Internal error", details: [] } }

/** The end of a path fails for ever. */
const failing =
  (path: RegExp): Instead =>
  (asked) =>
    path.test(asked) ? broken : undefined

/** Decided, sent and in a block. */
const sent = Effect.fnUntraced(function* ([options, sandbox]: Parameters<Flow>) {
  for (let i = 0; i < 3; i++) yield* round(options, sandbox, unsent)
  yield* submitOnce()
  yield* TestClock.adjust("1 second")
  yield* submitOnce()
  yield* TestClock.adjust("1 second")
  yield* sandbox.stepBlock
})

const looks = Effect.fnUntraced(function* ([, sandbox]: Parameters<Flow>, count: number) {
  for (let i = 0; i < count; i++) {
    yield* TestClock.adjust("1 second")
    yield* sandbox.stepBlock
    yield* Effect.ignore(confirmOnce())
  }
})
/** The same over a long time. */
const looksRarely = (flowed: Parameters<Flow>, seconds: number) => pass(flowed[1], seconds, looks(flowed, 1))

interface Told {
  readonly dedup: string
  readonly severity: string
  readonly detail: string
}
const alerts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT dedup, severity, detail FROM alerts ORDER BY seq`) as unknown as ReadonlyArray<Told>
})

const newest = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return { intent, evidence: yield* outbox.evidence(intent?.id ?? "") }
})

/** After its window, its margin and sixty blocks more. */
const longAfter = 90

describe("a payment that is told to have ended at a time that has not come", () => {
  it.effect("is looked for again, and settled at the time of its block", () => {
    let lies = 3
    const early: Instead = (path, text) =>
      path.startsWith("/api/v2/transfer/") && text.includes('"timestamp"') && lies-- > 0
        ? { status: 200, body: JSON.parse(text, (key, value) => (key === "timestamp" ? `${9n * 10n ** 18n}` : value)) }
        : undefined
    return flow(function* (...all) {
      yield* sent(all)
      // No balance is read, so that its word has to last.
      yield* looksRarely(all, 36)
      const { intent } = yield* newest
      assert.strictEqual(intent?.state, "confirmed")
      assert.isBelow(lies, 1, "it was told")
      const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
      assert.isTrue((intent?.settledAt ?? 0n) < now + 1_000_000_000n)
    }, behind(early))
  })
})

describe("a payment of which a gateway does not answer", () => {
  it.effect("goes to people if the endpoint that looks it up fails forever", () =>
    flow(
      function* (...flowed) {
        yield* sent(flowed)
        yield* looksRarely(flowed, longAfter)
        assert.deepStrictEqual(yield* states, ["manual"])
        const page = (yield* alerts).find(({ dedup }) => dedup.startsWith("manual/"))
        assert.strictEqual(page?.severity, "page")
        assert.match(page?.detail ?? "", /nothing proves whether it executed: .*Internal error/)
      },
      behind(failing(/^\/api\/v2\/transfer\//), (path) =>
        path === "/api/v2/transfers" ? hiding(path, "") : undefined,
      ),
    ),
  )

  it.effect("stays as it is where no transfer can be looked up and no balance was read", () =>
    flow(function* (...flowed) {
      yield* sent(flowed)
      yield* looks(flowed, 15)
      assert.include(["in_flight", "unknown"], (yield* states)[0])
    }, behind(withoutTransfers)),
  )

  it.effect("is proven absent by listings alone where nothing else speaks of it", () =>
    flow(function* (...flowed) {
      yield* sent(flowed)
      yield* looksRarely(flowed, 35)
      assert.include(
        (yield* newest).evidence.map(({ kind }) => kind),
        "absent",
      )
    }, behind(hiding)),
  )

  it.effect("is confirmed by what the listing holds", () =>
    flow(
      function* (...flowed) {
        yield* sent(flowed)
        for (let i = 0; i < 3; i++) yield* round(flowed[0], flowed[1], new Set(["compare", "decide", "submit"]))
        const { intent, evidence } = yield* newest
        assert.strictEqual(intent?.state, "confirmed")
        assert.match(intent?.detail ?? "", /fee 0\.15, listed by the ledger/)
        assert.include(
          evidence.map(({ detail }) => detail),
          "transfer in the listing: done",
        )
        assert.lengthOf(yield* paid(flowed[1]), 1)
      },
      behind(failing(/^\/api\/v2\/transfer\//)),
    ),
  )

  it.effect("is confirmed by its id though the newest block is told by nobody", () =>
    Effect.suspend(() => {
      let isDown = false
      return flow(
        function* (...flowed) {
          yield* sent(flowed)
          isDown = true
          yield* looksRarely(flowed, 32)
          assert.deepStrictEqual(yield* states, ["confirmed"])
        },
        behind((path) => (isDown && path === "/blockchain/height" ? broken : undefined)),
      )
    }),
  )

  it.effect("goes to people by the balances' blocks if nobody tells the newest", () =>
    Effect.suspend(() => {
      let isDown = false
      return flow(
        function* (...flowed) {
          yield* sent(flowed)
          isDown = true
          yield* looksRarely(flowed, longAfter)
          assert.deepStrictEqual(yield* states, ["in_flight"], "no block is known that late")
          const [options, sandbox] = flowed
          yield* round(options, sandbox, new Set(["compare", "reconcile", "decide", "submit", "confirm"]))
          yield* looks(flowed, 1)
          assert.deepStrictEqual(yield* states, ["manual"])
        },
        behind(
          (path) => (isDown && path === "/blockchain/height" ? broken : undefined),
          (path) => (isDown && path.startsWith("/api/v2/transfer") ? broken : undefined),
        ),
      )
    }),
  )
})

/** Shows every transfer that is looked up by its id, as the answer of another payment. */
const mistaken = (front: Front) => {
  front.manner = altered(
    ({ url }) => url.pathname.startsWith("/api/v2/transfer/"),
    (answer) => ({ ...answer, text: answer.text.replace(/"amount": *"[0-9]+"/, '"amount":"1"') }),
  )
}
const forgetful = (front: Front) => {
  const none = '{"transfers":{"edges":[],"pageInfo":{"hasNextPage":false,"endCursor":""}}}'
  front.manner = async ({ url }, ask) => {
    const answer = await ask()
    if (url.pathname.startsWith("/api/v2/transfer/")) {
      return { ...answer, status: unknown.status, text: JSON.stringify(unknown.body) }
    }
    if (url.pathname.startsWith("/api/v2/ledgerentry")) {
      return { ...answer, status: 404, text: '{"code":5,"message":"Not Found","details":[]}' }
    }
    return url.pathname === "/api/v2/transfers" ? { ...answer, status: 200, text: none } : answer
  }
}

describe("a payment that gateways show as another one", () => {
  const among = (arrange: (fronts: ReadonlyArray<Front>) => void, use: FlowBody) =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* (...flowed) {
          yield* sent(flowed)
          arrange(fronts)
          yield* effectOf(use(...flowed))
        },
        {
          gateways,
          network: { quorum: 2 },
        },
      )
    })

  it.effect("goes to people in time if one of three does so", () =>
    among(
      ([a, b, c]) => {
        mistaken(a!)
        forgetful(b!)
        forgetful(c!)
      },
      function* (...flowed) {
        yield* looks(flowed, 12)
        assert.notInclude(yield* states, "reserved", "what one shows forbids the proof that it never executed")
        assert.notInclude(
          (yield* newest).evidence.map(({ kind }) => kind),
          "absent",
        )
        yield* looksRarely(flowed, longAfter)
        assert.deepStrictEqual(yield* states, ["manual"])
        const said = (yield* alerts).filter(({ severity }) => severity === "page")
        assert.lengthOf(said, 1)
        assert.match(
          said[0]?.detail ?? "",
          /is manual: .* shows another payment \(1 of.*"cofferer intents resolve \w{4} --reason TEXT"/,
        )
      },
    ),
  )

  it.effect("pages at once if two of three do, and is confirmed later", () =>
    among(
      ([a, b]) => {
        mistaken(a!)
        mistaken(b!)
      },
      function* (...flowed) {
        yield* looks(flowed, 2)
        const [page, ...more] = (yield* alerts).filter(({ dedup }) => dedup.startsWith("contradicted/"))
        assert.deepStrictEqual([page?.severity, more], ["page", []])
        assert.match(
          page?.detail ?? "",
          /a\+b shows another payment \(1 of .*\) under its transfer id.*"cofferer intents resolve \w{4} --reason TEXT"/,
        )
        assert.include(["in_flight", "unknown"], (yield* states)[0])
      },
    ),
  )
})
