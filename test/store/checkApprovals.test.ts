import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { approve } from "../../src/status/approvals.ts"
import { receiptOf } from "../../src/status/receipts.ts"
import { approvalProblem } from "../../src/store/checkApprovals.ts"
import { checkReceipt } from "../../src/store/checkReceipt.ts"
import { entryHash } from "../../src/store/Journal.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { provenOf } from "../../src/store/proven.ts"
import { type Receipt, statementOf } from "../../src/store/receipt.ts"
import { approvalOf } from "../../src/submitter/approvalOf.ts"
import { formerPaymentText } from "../../src/tx/Approval.ts"
import { type Flow, flow, round } from "../support/Flow.ts"
import { deskFields, operatorKey, operatorSigns } from "../support/Operators.ts"

/** The receipt of a payment that ana and ben approved. */
const approvedReceipt = Effect.fnUntraced(function* (options: Parameters<Flow>[0], sandbox: Parameters<Flow>[1]) {
  for (let i = 0; i < 4; i++) yield* round(options, sandbox)
  const [intent] = yield* (yield* Outbox).recent(1)
  const { name, network, policy } = options.treasury
  const needed = approvalOf({ treasury: name, chainId: network.chainId, policy }, intent!)
  for (const operator of ["ana", "ben"]) {
    yield* approve(options.treasury, intent!.id, { signature: operatorSigns(operator, needed!.text) })
  }
  for (let i = 0; i < 6; i++) yield* round(options, sandbox)
  return JSON.parse(JSON.stringify(yield* receiptOf(intent!.id))) as Receipt
})

/** What is wrong with the receipt once the bodies of its entries are others, and all hashes are made anew. */
const forged = (receipt: Receipt, change: (kind: string, body: Record<string, unknown>) => object): string => {
  let prev = receipt.journal.links[0]!.prev
  const entries: Array<Receipt["journal"]["entries"][number]> = []
  const links = receipt.journal.links.map((link) => {
    const entry = receipt.journal.entries.find((e) => e.seq === link.seq)
    const body = entry && JSON.stringify(change(entry.kind, JSON.parse(entry.body)))
    const row = entry && { ...entry, prev, body: body! }
    const hash = row === undefined ? link.hash : entryHash(row)
    if (row !== undefined) entries.push({ ...row, hash })
    const next = { seq: link.seq, prev, hash }
    prev = hash
    return next
  })
  const claimed = statementOf(entries)
  const proven = provenOf(claimed, entries)
  const document = JSON.parse(JSON.stringify({ receipt: 2, proven, claimed, journal: { entries, links } }))
  assert.isDefined(checkReceipt(document).problem)
  return approvalProblem(statementOf(entries)) ?? "whole"
}

describe("a receipt of an approved payment", () => {
  it.effect("is whole by itself, and whoever writes its journal anew cannot forge an approval", () =>
    flow(
      (options, sandbox) =>
        Effect.gen(function* () {
          const receipt = yield* approvedReceipt(options, sandbox)
          assert.isUndefined(checkReceipt(receipt).problem)
          const approval = (facts: object) => (kind: string, body: Record<string, unknown>) =>
            kind === "approval" && body["operator"] === "ana" ? { ...body, ...facts } : body
          const foreign = /^the approval of ana is not of this payment$/
          const cases: ReadonlyArray<readonly [RegExp, Parameters<typeof forged>[1]]> = [
            [foreign, approval({ policy: "e".repeat(64) })],
            [foreign, approval({ group: "night" })],
            [foreign, approval({ version: undefined })],
            [foreign, approval({ toName: "eve" })],
            [foreign, approval({ symbol: "USDC" })],
            [foreign, approval({ decimals: 7 })],
            [foreign, approval({ decimals: -1 })],
            [foreign, approval({ chainId: "other" })],
            [foreign, approval({ expires: 1 })],
            [foreign, approval({ expires: 9e15 })],
            [foreign, approval({ expires: "soon" })],
            [foreign, approval({ key: operatorKey("chloe").publicKey })],
            [foreign, approval({ signature: "00".repeat(64) })],
            [/the signer relied on 2 approvals of desk, and 1 are here/, approval({ operator: "chloe" })],
            [
              /the signer relied on 2 approvals of desk, and 1 are here/,
              (kind, body) =>
                kind === "signature" ? { ...body, approval: { group: "desk", need: 2, by: ["ana", "ana"] } } : body,
            ],
            [
              /it was signed without the approval of desk/,
              (kind, body) => (kind === "signature" ? { ...body, approval: undefined } : body),
            ],
            [
              /the approval of ana is not of this payment/,
              (kind, body) => (kind === "intent" && body["rule"] ? { ...body, submittedBy: "zoe" } : body),
            ],
            [
              /the approval of ana is not of this payment/,
              (kind, body) => (kind === "intent" && body["rule"] ? { ...body, feeMax: "x" } : body),
            ],
          ]
          for (const [says, change] of cases) assert.match(forged(receipt, change), says)
          // One of the time of version 1: its text had neither names nor units, and its entries no version.
          const { treasury, payment, approvals } = receipt.claimed
          const former = (facts: object) => (kind: string, body: Record<string, unknown>) => {
            if (kind !== "approval") return body
            const given = approvals?.find(({ operator }) => operator === body["operator"])
            const text = formerPaymentText({
              treasury,
              chainId: String(given?.chainId),
              intentId: String(payment.id),
              rule: String(payment.rule),
              proposer: undefined,
              from: String(payment.fromKey),
              to: String(payment.toKey),
              assetId: String(payment.assetId),
              amount: BigInt(String(payment.units)),
              feeMax: BigInt(String(payment.feeMax)),
              policy: String(given?.policy),
              group: "desk",
              expires: Number(given?.expires),
            })
            const { version, fromName, toName, symbol, decimals, ...rest } = body
            assert.deepStrictEqual([version, fromName, toName, symbol, decimals], [2, "alice", "bob", "USDT", 6])
            return { ...rest, signature: operatorSigns(String(body["operator"]), text), ...facts }
          }
          assert.strictEqual(forged(receipt, former({})), "whole")
          for (const facts of [{ version: 2 }, { version: 1 }, { version: 3 }, { expires: 1 }]) {
            assert.match(forged(receipt, former(facts)), foreign)
          }
        }),
      { line: { approval: "desk" }, more: deskFields() },
    ),
  )
})
