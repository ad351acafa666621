import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type FaultKind, faultKinds } from "../../src/sandbox/Faults.ts"
import * as Test from "../support/TestClient.ts"
import { arm, spent } from "../support/TestFaults.ts"
import { one, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"
import { tableOf } from "../support/tableOf.ts"
import { payNaively } from "./NaiveClient.ts"

interface Row {
  /** Behind the kind, where it has more than one row. */
  readonly more?: string
  /** Keys of the fault; without an operation it hits one submission, with one all requests of it. */
  readonly keys?: Readonly<Record<string, unknown>>
  /** The client waits in vain until its patience ends. */
  readonly isSilent?: true
}

const once: Row = {}
const silent: Row = { isSilent: true }
const read = (operation: string, keys: Readonly<Record<string, unknown>> = {}): Row => ({
  keys: { operation, ...keys },
})

/** Longer than the window of five blocks. */
const blocks = 6

const rows: Readonly<Record<FaultKind, ReadonlyArray<Row>>> = {
  accept_drop_answer: [silent],
  drop_before: [once],
  delay: [{ isSilent: true, keys: { delayMillis: 60_000 } }],
  duplicate_delivery: [once],
  http_status: [{ keys: { status: 503 } }, { keys: { status: 503, effect: true }, more: "`effect: true`" }],
  html_body: [once],
  truncated_body: [once],
  endless_body: [once],
  wrong_content_length: [once],
  gzip_bomb: [once],
  stale_read: [read("height")],
  rolled_back_read: [read("height", { blocks })],
  lagging_replica: [read("height", { blocks })],
  reorganised_pages: [read("parameters")],
  cursor_cycle: [read("parameters")],
  clock_skew: [read("height", { skewMillis: 90_000 })],
  chain_id_change: [read("height", { chainId: "other-9" })],
  changed_pow: [read("parameters", { difficulty: 0 })],
  lying_success: [once],
  lying_failure: [once],
  wrong_hash: [once],
  late_broadcast: [once],
  lost_mempool: [once],
  execution_failure: [once],
}

/** Work that nobody shows by accident. */
const text = scenarioText({ pow: { difficulty: 12, pastBlocks: 5, txPerBlock: 2, increaseDifficulty: true } })

const executions = (client: Test.TestClient, reference: string) =>
  Effect.map(Test.request(client, "/sandbox/ledger"), (reply) => {
    const all = Test.at(reply, "executed") as ReadonlyArray<{ readonly reference: string; readonly code: number }>
    return all.filter((entry) => entry.reference === reference && entry.code === 0).length
  })

/** What the client believes, and how often its one payment was executed when all is over. */
const measure = (kind: FaultKind, { keys = {}, isSilent }: Row) =>
  Effect.andThen(
    TestClock.setTime(Date.UTC(2026, 0, 1)),
    withSandbox({ text }, (client) =>
      Effect.gen(function* () {
        yield* Test.step(client, 10)
        yield* arm(client, { kind, ...("operation" in keys ? {} : { operation: "submit", count: 1 }), ...keys })
        yield* Test.step(client, 6)
        const payment = { from: "alice", to: "bob", amount: one, asset: usdt, reference: `naive ${kind}` }
        const paying = yield* Effect.forkChild(payNaively(client, payment, Test.step(client)))
        if (isSilent) {
          yield* spent(client)
          yield* TestClock.adjust("10 seconds")
        }
        const belief = yield* Fiber.join(paying)
        yield* TestClock.adjust("10 minutes")
        yield* Test.step(client, 10)
        return [belief, String(yield* executions(client, payment.reference))] as const
      }),
    ),
  )

const told = tableOf("What a naive client makes of each fault", "fault")

describe("a naive client", () => {
  const all = faultKinds.flatMap((kind) =>
    rows[kind].map((row) => ({ kind, row, fault: `\`${kind}\`${row.more === undefined ? "" : `, ${row.more}`}` })),
  )

  it.effect.each(all)("makes of $fault what the README tells", ({ kind, row, fault }) =>
    Effect.gen(function* () {
      const measured = yield* measure(kind, row)
      assert.deepStrictEqual(
        told.find(([cell]) => cell === fault),
        [fault, ...measured],
      )
    }),
  )

  it("has a row for each of them, in their order", () => {
    assert.deepStrictEqual(
      told.map(([cell]) => cell),
      all.map(({ fault }) => fault),
    )
  })

  it("pays twice if an answer is lost, and nothing if misled", () => {
    assert.deepInclude(told, ["`accept_drop_answer`", "paid", "2"])
    assert.deepInclude(told, ["`lying_success`", "paid", "0"])
  })
})
