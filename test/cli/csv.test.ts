import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { csvCell, csvLines, csvText, instantOf } from "../../src/cli/receipt.ts"
import { type ExportAsked, type ExportRow, exportColumns, exportPage } from "../../src/http/exports.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { it } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

describe("a cell of an export", () => {
  it.each([
    ["plain", "plain"],
    ["", ""],
    [null, ""],
    [0, "0"],
    [-1, "-1"],
    ["a,b", '"a,b"'],
    ['say "no"', '"say ""no"""'],
    ["two\nlines", '"two\nlines"'],
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1", "'\\u{9}=1"],
    ["\r=1", "'\\u{d}=1"],
    ["\u202eUS\u200bDT", "\\u{202e}US\\u{200b}DT"],
    ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
    ["a=1", "a=1"],
  ])("of %j is %j", (value, cell) => {
    assert.strictEqual(csvCell(value), cell)
  })

  it("stands in a line that ends as the standard says, in the columns' order", () => {
    assert.strictEqual(csvLines([["a", "b"]]), "a,b\r\n")
    assert.strictEqual(csvText(["b", "a", "c"], [{ a: 1, b: "x" }]), "x,1,\r\n")
  })
})

describe("a date of an export", () => {
  const day = Date.UTC(2026, 10, 21)
  it("names its day, and a time its instant", () => {
    assert.deepStrictEqual(instantOf("2026-11-21"), { begin: day, end: day + 86_400_000 })
    assert.deepStrictEqual(instantOf("2026-11-21T08:00:00Z"), { begin: day + 28_800_000, end: day + 28_800_000 })
    assert.strictEqual(instantOf("2026-11-21T08:00+08:00")?.begin, day)
  })
  it.each([
    "",
    "today",
    "2026-02-30",
    "2026-13-01",
    "21.11.2026",
    "2026-11-21T08:00:00",
    "2026-02-30T08:00:00Z",
    "2026",
  ])("is not %j", (text) => {
    assert.isUndefined(instantOf(text))
  })
})

/** All rows, page after page. */
const all = Effect.fnUntraced(function* (asked: Omit<ExportAsked, "after">) {
  const rows: Array<ExportRow> = []
  let pages = 0
  for (let after: string | null = ""; after !== null; pages++) {
    const page: Effect.Success<ReturnType<typeof exportPage>> = yield* exportPage({ ...asked, after })
    rows.push(...page.rows)
    after = page.next
  }
  return { rows, pages }
})

const ever = { from: 0, to: Number.MAX_SAFE_INTEGER }

describe("an export", () => {
  it.live("has every payment once and in order, many at the same instant, in pages", function* () {
    const store = testStore()
    yield* Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const ids = Array.from({ length: 1_203 }, (_, i) => (i + 1_000_000).toString(16))
      yield* sql.withTransaction(
        Effect.forEach(ids, (id, i) =>
          outbox.record({ ...intentOf(id, { createdAt: Math.floor(i / 700) }), episode: i }),
        ),
      )
      const { rows, pages } = yield* all({ what: "payments", ...ever })
      assert.strictEqual(pages, 3)
      assert.strictEqual(new Set(rows.map((row) => row["id"])).size, 1_203)
      assert.deepStrictEqual(Object.keys(rows[0]!), [...exportColumns.payments])
      const later = yield* all({ what: "payments", from: 1, to: 2 })
      assert.strictEqual(later.rows.length, 503)
      const journal = yield* all({ what: "journal", ...ever })
      assert.deepStrictEqual(
        journal.rows.map((row) => row["seq"]),
        Array.from({ length: 1_203 }, (_, i) => i + 1),
      )
      assert.deepStrictEqual(Object.keys(journal.rows[0]!), [...exportColumns.journal])
      assert.strictEqual(journal.rows.at(-1)?.["hash"], (yield* (yield* Journal).head).hash)
      assert.deepStrictEqual((yield* all({ what: "journal", from: 0, to: 1 })).rows, [])
    }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
  })

  it.live("says amounts exactly and times in UTC, block times with their nanoseconds", function* () {
    const store = testStore()
    yield* Effect.gen(function* () {
      const outbox = yield* Outbox
      const intent = intentOf("1", { createdAt: 1_795_000_000_000 })
      yield* outbox.record(intent)
      const reserved = yield* outbox.move(intent, "reserved", { detail: "permitted" })
      const before = (yield* exportPage({ what: "payments", ...ever, after: "" })).rows[0]
      assert.containSubset(before, { state: "reserved", endedAt: null, fee: null, executedAt: null, txHash: null })
      const attempt = attemptOf(reserved, 1)
      yield* outbox.persist(reserved, attempt)
      yield* outbox.saveWork(attempt, {
        tid: "t",
        nonce: 1n,
        hashBare: "ab".repeat(32),
        hashPrefixed: "cd".repeat(32),
      })
      const solved = (yield* outbox.live)[0]!
      yield* outbox.beginSend({ attempt: solved, gateway: "g", framing: "bare", first: true, txHash: "ab".repeat(32) })
      const sending = (yield* outbox.live)[0]!
      const end = { detail: "=done", fee: 10n ** 18n, settledAt: 1_795_000_001_000_000_042n }
      yield* outbox.settle((yield* outbox.open)[0]!, sending, "confirmed", "confirmed", end)
      const [row] = (yield* exportPage({ what: "payments", ...ever, after: "" })).rows
      assert.containSubset(row, {
        state: "confirmed",
        amount: "1606938044258990275541962092341162602522202.993782792835301377",
        amountUnits: String(2n ** 200n + 1n),
        fee: "1.00",
        feeUnits: "1000000000000000000",
        decidedAt: "2026-11-18T11:06:40.000Z",
        executedAt: "2026-11-18T11:06:41.000000042Z",
        attempts: 1,
        chainId: "chain",
        transferId: attempt.transferId,
        txHash: "AB".repeat(32),
        detail: "=done",
      })
    }).pipe(Effect.provide(store.layer()), Effect.ensuring(Effect.sync(store.remove)))
  })
})
