import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { BaseUnits } from "../../src/domain/Amount.ts"
import { Command } from "../../src/domain/Command.ts"
import { noteOf, withdrawnHere } from "../../src/domain/Intent.ts"
import { readView } from "../../src/http/StatusView.ts"
import { receiptOf } from "../../src/http/stories.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { checkReceipt } from "../../src/store/journal/checkReceipt.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { adopt, compareHistory } from "../../src/submitter/audit/adopt.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { alice, type FlowSetup, flow, pass, round, toVault, vault } from "../support/Flow.ts"
import { halts, intentsOf, rounds, waitForTaken } from "../support/Intents.ts"
import { head, payment, request, signed, submit, type TestClient } from "../support/TestClient.ts"
import { arm, disarm } from "../support/TestFaults.ts"
import { chainId, one, usdt } from "../support/TestSandbox.ts"

const line = {
  from: "alice",
  to: ["vault"],
  asset: "USDT",
  perTransfer: "600",
  per24h: "600",
  transfersPer24h: 2,
}
const setup: FlowSetup = {
  rules: [toVault({ above: "500", target: "400" })],
  allow: [line],
  more: { addresses: { vault } },
}

const { intents: withdrawals, states, attempts: attemptsOf, until } = intentsOf("withdraw")

/** What the ledger lists as withdrawn by alice. */
const listed = Effect.fnUntraced(function* (client: TestClient) {
  const { json } = yield* request(client, `/api/v2/withdrawals?partyId=${alice}`)
  const edges = (json as { withdrawals: { edges: ReadonlyArray<{ node: Record<string, unknown> }> } }).withdrawals.edges
  return edges.map(({ node }) => ({
    id: node["id"],
    amount: node["amount"],
    status: node["status"],
    receiver: (node["ext"] as { erc20?: { receiverAddress: string } }).erc20?.receiverAddress,
  }))
})

describe("a withdrawal", () => {
  it.effect("has its address named where the page tells its limits", () =>
    flow(function* () {
      const { policy } = yield* readView()
      assert.include(
        policy.map(({ text }) => text),
        "alice -> vault, USDT: 600 each",
      )
    }, setup),
  )

  it.effect("takes the surplus out once, and says that its claim is made by others", () =>
    flow(function* (options, sandbox, client) {
      yield* until(options, sandbox, "confirmed")
      yield* rounds(options, sandbox, 12)
      assert.deepStrictEqual(yield* halts, [], "its debit is explained")
      assert.strictEqual(
        yield* sandbox.ledger.balance("alice", "USDT"),
        249_850_000n,
        "the other rule paid 150 with a fee; none here",
      )
      const [intent] = yield* withdrawals
      const [attempt, ...more] = yield* attemptsOf
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual(yield* listed(client), [
        { id: attempt?.transferId, amount: "600000000", status: "STATUS_FINALIZED", receiver: vault },
      ])
      assert.include(intent?.detail ?? "", withdrawnHere)
      assert.strictEqual(noteOf(intent!), withdrawnHere)
      assert.isNull(noteOf({ ...intent!, state: "in_flight" }), "nothing is withdrawn before it executed")
      assert.isNull(noteOf({ ...intent!, command: "transfer" }))
      assert.strictEqual(intent?.fee, 0n)
      assert.strictEqual(intent?.feeMax, 0n)
      const info = (yield* (yield* AlertQueue).due(100)).filter(({ severity }) => severity === "info")
      assert.strictEqual(info.filter(({ detail }) => detail.includes(withdrawnHere)).length, 1)
      const { differences } = yield* compareHistory([alice])
      assert.deepStrictEqual(differences, [])
      assert.isNull((yield* verifyStore()).problem)
    }, setup),
  )

  it.effect("has a receipt that proves it offline, and that nobody can change", () =>
    flow(function* (options, sandbox) {
      yield* until(options, sandbox, "confirmed")
      const [intent] = yield* withdrawals
      const receipt = JSON.parse(JSON.stringify(yield* receiptOf(intent?.id ?? "")))
      assert.strictEqual(checkReceipt(receipt).problem, undefined)
      const { proven, claimed } = receipt
      assert.containSubset(proven, { signed: [{ k: 1, command: "withdraw", to: vault }], recorded: [] })
      assert.deepStrictEqual([claimed.payment.command, claimed.payment.toKey], ["withdraw", vault])
      assert.strictEqual(claimed.payment.note, withdrawnHere)
      const stating = (payment: object) => ({ ...receipt, claimed: { ...claimed, payment } })
      const without = stating({ ...claimed.payment, note: undefined })
      assert.match(checkReceipt(JSON.parse(JSON.stringify(without))).problem ?? "", /payment.note/)
      const elsewhere = stating({ ...claimed.payment, toKey: `0x${"1".repeat(40)}` })
      assert.match(checkReceipt(elsewhere).problem ?? "", /payment.toKey/)
    }, setup),
  )

  it.effect("whose answer was lost is sent again as the same bytes, and executes once", () =>
    flow(
      function* (options, sandbox, client) {
        yield* (yield* Settings).rememberFraming(chainId, "bare")
        yield* until(options, sandbox, "proposed", new Set(["submit"]))
        yield* arm(client, { operation: "submit", kind: "accept_drop_answer", count: 2 })
        const sending = yield* Effect.forkChild(submitOnce())
        yield* waitForTaken(client)
        yield* TestClock.adjust("300 millis")
        yield* Fiber.join(sending)
        assert.deepStrictEqual(yield* states, ["unknown"])
        yield* disarm(client)
        yield* until(options, sandbox, "confirmed", new Set(["decide"]))
        assert.strictEqual((yield* attemptsOf).length, 1, "signed once")
        assert.strictEqual((yield* listed(client)).length, 1)
      },
      { ...setup, network: { requestDeadline: "300ms" } },
    ),
  )

  it.effect("that no gateway took is proven absent, and made by a second attempt", () =>
    flow(function* (options, sandbox, client) {
      yield* (yield* Controls).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
      yield* until(options, sandbox, "proposed", new Set(["submit"]))
      yield* arm(client, { operation: "submit", kind: "http_status", status: 503 })
      yield* submitOnce()
      yield* rounds(options, sandbox, 4, new Set(["decide"]))
      yield* disarm(client)
      yield* pass(sandbox, 30, round(options, sandbox, new Set(["decide"])))
      yield* until(options, sandbox, "confirmed", new Set(["decide"]))
      const [first, second] = yield* attemptsOf
      assert.deepStrictEqual([first?.state, second?.state], ["expired", "confirmed"])
      const kinds = (yield* (yield* Outbox).evidence(first?.intentId ?? "")).map(({ kind }) => kind)
      assert.strictEqual(kinds.filter((kind) => kind === "absent").length, 2)
      assert.deepStrictEqual(
        (yield* listed(client)).map(({ id }) => id),
        [second?.transferId],
      )
    }, setup),
  )

  it.effect("that the ledger refuses in its block fails, and is not retried at once", () =>
    flow(function* (options, sandbox, client) {
      // Else it would wait for keep-bob's payment to find out the wire form.
      yield* (yield* Settings).rememberFraming(chainId, "bare")
      yield* until(options, sandbox, "proposed", new Set(["submit"]))
      // Somebody else is faster: nothing is left when the withdrawal's block comes.
      const away = payment(client, "eve", 998n * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "alice", command: away, ...(yield* head(client)) }))
      yield* submitOnce()
      yield* until(options, sandbox, "failed", new Set(["decide"]))
      assert.deepStrictEqual(
        (yield* listed(client)).map(({ status }) => status),
        ["STATUS_REJECTED"],
      )
      assert.match((yield* withdrawals)[0]?.detail ?? "", /in a block and rejected/)
    }, setup),
  )

  it.effect("is not made beyond its policy line, and not while the treasury is halted", () =>
    flow(
      function* (options, sandbox, client) {
        yield* rounds(options, sandbox, 12)
        const told = (yield* (yield* RuleStates).all).find(({ rule: name }) => name === "to-vault")
        assert.strictEqual(told?.reason, "limit")
        assert.deepStrictEqual(
          (yield* listed(client)).map(({ amount }) => amount),
          ["200000000"],
          "a part of it, as much as the line lets be withdrawn at once and in a day",
        )
      },
      { ...setup, allow: [{ ...line, perTransfer: "200", per24h: "200" }] },
    ).pipe(
      Effect.andThen(
        flow(function* (options, sandbox, client) {
          yield* until(options, sandbox, "proposed", new Set(["submit"]))
          yield* (yield* Controls).halt("operator", "stop")
          yield* rounds(options, sandbox, 6)
          assert.deepStrictEqual(yield* listed(client), [])
          assert.deepStrictEqual(yield* attemptsOf, [])
        }, setup),
      ),
    ),
  )

  it.effect("of somebody else halts beside our own, by its id, until it is adopted", () =>
    flow(function* (options, sandbox, client) {
      yield* until(options, sandbox, "confirmed")
      yield* rounds(options, sandbox, 3)
      const command = Command.cases.Withdraw.make({
        amount: BaseUnits.make(30n * one),
        asset: usdt,
        receiverAddress: `0x${"2".repeat(40)}`,
      })
      yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
      for (let i = 0; i < 10 && (yield* halts).length === 0; i++) yield* round(options, sandbox)
      assert.deepStrictEqual(yield* halts, ["foreign_payment"])
      const foreign = (yield* listed(client)).filter(({ amount }) => amount === "30000000")
      assert.deepStrictEqual(
        (yield* (yield* LedgerAudit).unacknowledged).map(({ id }) => id),
        foreign.map(({ id }) => String(id)),
      )
      yield* adopt([alice], { reason: "to the exchange", author: "ana" }, () => Effect.void)
      yield* pass(sandbox, 10, round(options, sandbox))
      assert.deepStrictEqual(yield* halts, [], "told of once")
      assert.deepStrictEqual((yield* compareHistory([alice])).differences, [])
    }, setup),
  )
})
