import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Terms } from "../../src/rules/policy/weakens.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { flow, pass, round } from "../support/Flow.ts"
import { inTransaction } from "../support/inTransaction.ts"
import { request, type TestClient } from "../support/TestClient.ts"
import { chainId } from "../support/TestSandbox.ts"
import type { Fields } from "../support/treasury.ts"

/** The terms in force ask for more than the file that this process was started with. */
const demand = Effect.fnUntraced(function* (more: Partial<Terms>) {
  const approvals = yield* Approvals
  const known = (yield* approvals.termsInForce)!
  const { seq } = yield* inTransaction(
    (yield* Journal).append({ kind: "config", subject: "flow", body: { detail: "stricter" } }),
  )
  yield* approvals.putTerms({ seq, alerts: known.alerts, terms: { ...known.terms, ...more } })
})
const attempts = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return (yield* outbox.attempts(intent!.id)).map(({ state }) => state)
})
const arm = (client: TestClient, fault: Fields) => request(client, "/sandbox/faults", { body: JSON.stringify(fault) })
const decided = new Set(["decide"])

describe("what fewer gateways say than the terms in force ask for", () => {
  for (const [title, more] of [
    ["a lower quorum", { quorum: 2 }],
    ["another chain", { chainId: "another" }],
  ] as const) {
    it.effect(`proves no absence: ${title}`, () =>
      flow(function* (options, sandbox, client) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit", "confirm"]))
        yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
        for (let i = 0; i < 4; i++) yield* round(options, sandbox, decided)
        yield* demand(more)
        yield* pass(sandbox, 55, round(options, sandbox, decided))
        assert.notInclude(yield* attempts, "expired")
        yield* demand({ quorum: 1, chainId })
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, decided)
        assert.strictEqual((yield* attempts)[0], "expired", "once the terms of this process are in force")
      }),
    )
  }

  it.effect("ends no payment as refused in its block", () =>
    flow(function* (options, sandbox, client) {
      yield* arm(client, { operation: "submit", kind: "execution_failure", count: 2 })
      yield* demand({ quorum: 2 })
      for (let i = 0; i < 6; i++) yield* round(options, sandbox)
      yield* pass(sandbox, 14, round(options, sandbox))
      assert.deepStrictEqual(yield* attempts, ["accepted"])
      yield* demand({ quorum: 1, chainId })
      yield* pass(sandbox, 40, round(options, sandbox, decided))
      assert.deepStrictEqual(yield* attempts, ["failed"])
    }),
  )
})
