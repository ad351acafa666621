import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { receiptOf } from "../../src/http/stories.ts"
import { checkReceipt } from "../../src/store/journal/checkReceipt.ts"
import { entryHash } from "../../src/store/journal/Journal.ts"
import { provenOf } from "../../src/store/journal/proven.ts"
import { type Receipt, statementOf } from "../../src/store/journal/receipt.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { type Flow, flow, round } from "../support/Flow.ts"

type Sandbox = Parameters<Flow>[1]
type Options = Parameters<Flow>[0]

const receiptNow = Effect.gen(function* () {
  const [intent] = yield* (yield* Outbox).recent(1)
  const found = yield* receiptOf(intent!.id)
  if ("problem" in found) assert.fail(found.problem)
  return JSON.parse(JSON.stringify(found)) as Receipt
})

const paidReceipt = Effect.fnUntraced(function* (options: Options, sandbox: Sandbox) {
  for (let i = 0; i < 8; i++) yield* round(options, sandbox)
  return yield* receiptNow
})

interface Place {
  readonly path: string
  readonly holder: Record<string, unknown>
  readonly name: string
}

/** Every value of a document that holds no others, with the place where it stands. */
const leaves = (holder: object, path = ""): ReadonlyArray<Place> =>
  Object.entries(holder).flatMap(([name, value]: [string, unknown]) => {
    const here = path === "" ? name : `${path}.${name}`
    if (typeof value === "object" && value !== null && Object.keys(value).length > 0) return leaves(value, here)
    return [{ path: here, holder: holder as Record<string, unknown>, name }]
  })

/** The least other value of the same kind. */
const flipped = (value: unknown): unknown => {
  if (typeof value === "number") return value + 1
  if (typeof value !== "string") return "x"
  const last = value.at(-1)
  return value === "" ? "x" : `${value.slice(0, -1)}${last === "0" ? "1" : "0"}`
}

describe("a receipt of a payment", () => {
  it.effect("is complete, and no value in it can change or vanish", () =>
    flow(function* (options, sandbox) {
      const receipt = yield* paidReceipt(options, sandbox)
      assert.isUndefined(checkReceipt(receipt).problem)
      const places = leaves(receipt)
      assert.isAbove(places.length, 150)
      for (const { path, holder, name } of places) {
        const value = holder[name]
        holder[name] = flipped(value)
        assert.isDefined(checkReceipt(receipt).problem, `${path} is another`)
        delete holder[name]
        assert.isDefined(checkReceipt(receipt).problem, `${path} is gone`)
        holder[name] = value
      }
      const more = { ...receipt, note: "paid twice" }
      assert.isDefined(checkReceipt(more).problem)
      assert.isUndefined(checkReceipt(JSON.parse(JSON.stringify(receipt))).problem, "nothing was left changed")
    }),
  )

  it.effect("tells decision, policy line, command, signature, sends, evidence and end", () =>
    flow(function* (options, sandbox) {
      const { claimed, proven, journal } = yield* paidReceipt(options, sandbox)
      const { decision, payment, attempts, states } = claimed
      assert.containSubset(payment, { from: "alice", to: "bob", asset: "USDT", amount: "150.00", units: "150000000" })
      const policy = options.treasury.policy.hash
      const { publicKey: from } = options.treasury.parties.get("alice")!
      assert.containSubset(proven.signed, [{ k: 1, command: "transfer", from, units: "150000000" }])
      const names = { from: "alice", to: "bob", symbol: "USDT", decimals: 6 }
      assert.containSubset(proven.recorded, [{ k: 1, policy, line: 1, approval: null, names }])
      assert.containSubset(decision, { policy, line: 1, perTransfer: "200000000", transfersPer24h: 4 })
      assert.include(String(decision?.sentence), "below 100")
      assert.containSubset(attempts, [
        {
          k: 1,
          state: "confirmed",
          permit: { policy, line: 1 },
          sends: [
            { n: 1, framing: "prefixed", answer: { outcome: "framing", code: 60 } },
            { n: 2, framing: "bare", answer: { outcome: "accepted", code: 0 } },
          ],
          evidence: [{ kind: "refused" }, { kind: "accepted" }, { kind: "executed" }],
        },
      ])
      assert.deepStrictEqual(
        states.map((s) => s.state),
        ["proposed", "reserved", "in_flight", "confirmed"],
      )
      assert.containSubset(states.at(-1), { fee: "150000" })
      const { entries } = yield* verifyStore()
      assert.isAtMost(journal.entries.at(-1)?.seq ?? 0, entries)
    }),
  )

  it.effect("is whole for a payment under way, and for one that a person ended", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 5; i++) {
        yield* round(options, sandbox, new Set(["confirm"]))
        const [intent] = yield* (yield* Outbox).recent(1)
        if (intent !== undefined) assert.isUndefined(checkReceipt(yield* receiptNow).problem, intent.state)
      }
      const outbox = yield* Outbox
      const [intent] = yield* outbox.recent(1)
      const [live] = yield* outbox.live
      const manual = yield* outbox.move(intent!, "manual", { detail: "nothing tells" })
      const by = { verb: "executed", author: "ana", reason: "seen" }
      yield* outbox.settle(manual, live!, "confirmed", "confirmed", { detail: "seen by ana", by })
      const receipt = yield* receiptNow
      assert.isUndefined(checkReceipt(receipt).problem)
      assert.containSubset(receipt.claimed.states.at(-1), by)
    }),
  )

  it.effect("with a rewritten chain is still bound to its payment and journal", () =>
    flow(function* (options, sandbox) {
      const receipt = yield* paidReceipt(options, sandbox)
      const forged = (change: (body: string, kind: string) => string) => {
        let prev = receipt.journal.links[0]!.prev
        const entries: Array<Receipt["journal"]["entries"][number]> = []
        const links = receipt.journal.links.map((link) => {
          const entry = receipt.journal.entries.find((e) => e.seq === link.seq)
          const row = entry && { ...entry, prev, body: change(entry.body, entry.kind) }
          const hash = row === undefined ? link.hash : entryHash(row)
          if (row !== undefined) entries.push({ ...row, hash })
          const next = { seq: link.seq, prev, hash }
          prev = hash
          return next
        })
        const claimed = entries.some(({ body }) => body === "{") ? receipt.claimed : statementOf(entries)
        const proven = provenOf(claimed, entries)
        return checkReceipt({ receipt: 2, proven, claimed, journal: { entries, links } }).problem
      }
      assert.isUndefined(forged((body) => body))
      const says: ReadonlyArray<readonly [RegExp, (body: string, kind: string) => string]> = [
        [
          /receiver in the signed command/,
          (body) => body.replaceAll(receipt.claimed.payment.toKey as string, "f".repeat(64)),
        ],
        [/amount in the signed command/, (body) => body.replaceAll('"150000000"', '"150000001"')],
        [
          /another key than the payer's/,
          (body, kind) => (kind === "intent" ? body.replace(/"from":"./, '"from":"x') : body),
        ],
        [
          /signature is not of these bytes/,
          (body) => body.replaceAll(/"signature":"(..)/g, (_, byte) => `"signature":"${byte === "00" ? "01" : "00"}`),
        ],
        [/signature is not of these bytes/, (body) => body.replace(/"chainId":"/, '"chainId":"x')],
        [/transfer id is not of/, (body) => body.replace(/"transferId":"....../, '"transferId":"000000')],
        [/signer signed something else/, (body) => body.replace(/"digest":"....../, '"digest":"000000')],
        [/signed on another journal/, (body) => body.replace("below 100", "below 101")],
        [
          /proof of work is not a solution|hash of the transaction/,
          (body) => body.replace(/"tid":"....../, '"tid":"000000'),
        ],
        [/hash of the transaction/, (body) => body.replace(/"hashBare":"....../, '"hashBare":"000000')],
        [/sent another transaction/, (body) => body.replace(/"txHash":"....../, '"txHash":"000000')],
        [/confirmed without evidence/, (body) => body.replace('"kind":"executed"', '"kind":"seen"')],
        [/not JSON/, () => "{"],
      ]
      for (const [expected, change] of says) assert.match(forged(change) ?? "whole", expected)
    }),
  )

  it.each([null, 1, "receipt", [], {}, { journal: {} }, { journal: { entries: [], links: [] } }])(
    "is not %j",
    (document) => {
      assert.isDefined(checkReceipt(document).problem)
    },
  )
})
