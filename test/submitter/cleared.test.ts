import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Database } from "../../src/store/database/Database.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { AuditMemory } from "../../src/submitter/AuditMemory.ts"
import { beginSend, hasWork, solvedBy } from "../../src/submitter/beginSend.ts"
import { ChainHeadCache } from "../../src/submitter/ChainHeadCache.ts"
import { alice, flow, paid, pass, round, states } from "../support/Flow.ts"
import { altered, type Front, honest, startFront } from "../support/Fronts.ts"
import { rounds } from "../support/Intents.ts"
import { behind } from "../support/LoneLiar.ts"
import { arm, disarm } from "../support/TestFaults.ts"

const withoutBlocks = altered(
  () => true,
  ({ headers: { "x-block-height": _, "x-block-timestamp": __, ...headers }, ...answer }) => ({ ...answer, headers }),
)
const unchecked = "the ledger is not yet compared with the journal"
const lacking = Effect.flatMap(Clearance, (clearance) => clearance.lacking(alice))

describe("a key that is not compared with the journal", () => {
  it.effect("signs nothing while its transfers cannot be listed", () =>
    flow(function* (options, sandbox, client) {
      yield* arm(client, { operation: "transfers", kind: "http_status", status: 503, rate: 1 })
      yield* pass(sandbox, 15, round(options, sandbox))
      assert.strictEqual(yield* lacking, `${unchecked}: its payments could not be read`)
      assert.deepStrictEqual(yield* paid(sandbox), [])
      assert.lengthOf(yield* states, 1, "a payment was decided, and waits")
      assert.deepStrictEqual(yield* (yield* Outbox).live, [])
      yield* disarm(client)
      yield* rounds(options, sandbox, 10)
      assert.isUndefined(yield* lacking)
      assert.lengthOf(yield* paid(sandbox), 1)
    }),
  )

  it.effect("is not cleared by a listing that has no end", () =>
    flow(function* (options, sandbox, client) {
      yield* arm(client, { operation: "transfers", kind: "cursor_cycle", rate: 1 })
      yield* pass(sandbox, 15, round(options, sandbox))
      assert.match(
        `${yield* lacking}`,
        /^the ledger is not .*: its transfers are not listed completely up to block \d+$/,
      )
      assert.deepStrictEqual(yield* paid(sandbox), [])
      yield* disarm(client)
      yield* rounds(options, sandbox, 10)
      assert.isUndefined(yield* lacking)
    }),
  )

  it.effect("names the cause where gateways list no transfers any more", () =>
    behind({}, function* (liar, _, options, sandbox) {
      yield* rounds(options, sandbox, 8)
      assert.lengthOf(yield* paid(sandbox), 1)
      yield* (yield* Clearance).revoke
      liar.manner = async ({ url }, ask) =>
        url.pathname === "/api/v2/transfers"
          ? { status: 404, headers: {}, text: JSON.stringify({ code: 5, message: "Not Found", details: [] }) }
          : ask()
      yield* rounds(options, sandbox, 3)
      assert.strictEqual(yield* lacking, `${unchecked}: no gateway lists transfers any more, as one did before`)
      liar.manner = honest
      yield* rounds(options, sandbox, 3)
      assert.isUndefined(yield* lacking)
    }),
  )

  const fronts: Array<Front> = []
  it.effect("is cleared, where listings name no block, once the gateway's own head was there before one", () =>
    flow(
      function* (options, sandbox) {
        const [clearance, memory] = [yield* Clearance, yield* AuditMemory]
        yield* rounds(options, sandbox, 3)
        fronts[0]!.manner = withoutBlocks
        yield* clearance.revoke
        yield* memory.restart
        const start = yield* memory.startHeight((yield* (yield* ChainHeadCache).head).height + 6n)
        for (let height = 0n; height < start; height = (yield* (yield* ChainHeadCache).head).height) {
          assert.isFalse(yield* clearance.isGranted(alice), `cleared at block ${height} of ${start}`)
          yield* rounds(options, sandbox, 1)
        }
        yield* rounds(options, sandbox, 3)
        assert.isUndefined(yield* lacking)
      },
      {
        front: (url) =>
          Effect.map(startFront("sandbox", url), (front) => {
            fronts.push(front)
            return front.server.url
          }),
      },
    ),
  )
})

it.effect(
  "no send begins without the lease, with work that is not stored, or of an ended attempt whose payment goes on",
  () =>
    flow(function* (options, sandbox) {
      const outbox = yield* Outbox
      for (let i = 0; i < 20 && (yield* outbox.live).length === 0; i++) {
        yield* round(options, sandbox, new Set(["confirm"]))
      }
      const attempt = (yield* outbox.live).find(hasWork) ?? assert.fail("nothing was signed")
      const [intent = assert.fail()] = yield* outbox.open
      const start = { attempt, gateway: "sandbox", framing: "bare", first: false, txHash: "ab" } as const
      const begun = beginSend(start, attempt.anchorHeight + 1n)
      assert.isUndefined(
        yield* begun.pipe(Effect.updateService(Database, (one) => ({ ...one, isLeaseHeld: Effect.succeed(false) }))),
      )
      const other = solvedBy(attempt, { ...attempt.work, tid: "f".repeat(64) })
      assert.isUndefined(yield* beginSend({ ...start, attempt: other }, attempt.anchorHeight + 1n), "other work")
      assert.deepStrictEqual(yield* outbox.live, [attempt], "nothing is noted of it")
      yield* outbox.settle(intent, attempt, "expired", "reserved", { detail: "proven dead" })
      assert.isUndefined(yield* begun)
      assert.deepStrictEqual(yield* states, ["reserved"])
    }),
)
