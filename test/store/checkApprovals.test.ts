import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { approve } from "../../src/http/approvals.ts"
import { receiptOf } from "../../src/http/stories.ts"
import { approvalOf } from "../../src/payments/approvalOf.ts"
import { approvalProblem, checkReceipt } from "../../src/store/journal/checkReceipt.ts"
import { entryHash } from "../../src/store/journal/Journal.ts"
import { provenOf } from "../../src/store/journal/proven.ts"
import { type Receipt, statementOf } from "../../src/store/journal/receipt.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { type Flow, flow, round } from "../support/Flow.ts"
import { deskFields, operatorKey, operatorSigns } from "../support/Operators.ts"

/** The receipt of a payment that ana and ben approved. */
const approvedReceipt = Effect.fnUntraced(function* (options: Parameters<Flow>[0], sandbox: Parameters<Flow>[1]) {
  for (let i = 0; i < 4; i++) yield* round(options, sandbox)
  const [intent] = yield* (yield* Outbox).recent(1)
  const needed = approvalOf(options.treasury, intent!)
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
      function* (options, sandbox) {
        const receipt = yield* approvedReceipt(options, sandbox)
        assert.isUndefined(checkReceipt(receipt).problem)
        const approval = (facts: object) => (kind: string, body: Record<string, unknown>) =>
          kind === "approval" && body["operator"] === "ana" ? { ...body, ...facts } : body
        const said = (from: string | RegExp, to: string) => (kind: string, body: Record<string, unknown>) =>
          approval({ text: String(body["text"]).replace(from, to) })(kind, body)
        /** The operator signed the other text. */
        const signed = (from: string | RegExp, to: string) => (kind: string, body: Record<string, unknown>) => {
          const text = String(body["text"]).replace(from, to)
          return approval({ text, signature: operatorSigns("ana", text) })(kind, body)
        }
        const foreign = /^the approval of ana is not of this payment$/
        const cases: ReadonlyArray<readonly [RegExp, Parameters<typeof forged>[1]]> = [
          [foreign, said("policy: ", "policy: e")],
          [foreign, said("group: desk", "group: night")],
          [foreign, said("to: bob", "to: eve")],
          [foreign, said("asset: USDT", "asset: USDC")],
          [foreign, said("6 decimals", "7 decimals")],
          [foreign, said("chain: ", "chain: x")],
          [foreign, said("void from: 20", "void from: 21")],
          [foreign, said("cofferer approval: payment", "cofferer approval: terms")],
          [foreign, approval({ text: undefined })],
          [foreign, signed("treasury: ", "treasury: x")],
          [foreign, signed("rule: ", "rule: x")],
          [foreign, signed("proposed by: its rule", "proposed by: zoe")],
          [foreign, signed("payment: ", "payment: x")],
          [foreign, signed(/amount(.*)150/g, "amount$1151")],
          [/the signer relied on 2 approvals of desk, and 1 are here/, signed("group: desk", "group: night")],
          [/the signer relied on 2 approvals of desk, and 1 are here/, signed("policy: ", "policy: e")],
          [/the signer relied on 2 approvals of desk, and 1 are here/, signed("chain: ", "chain: x")],
          [
            /the signer relied on 2 approvals of desk, and 1 are here/,
            signed(/void from: .*/, "void from: 1970-01-01T00:00:00.000Z"),
          ],
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
      },
      { line: { approval: "desk" }, more: deskFields() },
    ),
  )
})
