import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { pruneHourly } from "../../src/poller/BalancePoller.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { resend } from "../../src/store/alerts/alertRecords.ts"
import { makeTrouble } from "../../src/store/alerts/makeTrouble.ts"
import { addSilence } from "../../src/store/alerts/silences.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { itWith } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

const it = itWith(() => testStore().layer())

const alert = (dedup: string, severity: "page" | "info" = "info") => ({
  dedup,
  severity,
  kind: "rule",
  subject: "s",
  detail: "d",
  fields: {},
})

const hour = 3_600_000

/** Forgets what is older than ten hours; the newest block is of now, or of the given time. */
const pruneAt = Effect.fnUntraced(function* (block?: number) {
  const timestamp = BigInt(block ?? (yield* Clock.currentTimeMillis)) * 1_000_000n
  yield* (yield* Observations).rebase([], { timestamp, height: 1n })
  yield* pruneHourly({ keepMillis: 10 * hour, network: { maxAgeMillis: 30_000 } })
})
const prune = pruneAt()

const kept = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql`SELECT dedup FROM alerts ORDER BY seq`, (rows) => rows.map(({ dedup }) => dedup)),
)
const deliveries = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql`SELECT count(*) AS n FROM deliveries`, (rows) => rows[0]?.["n"]),
)

const deliverAll = Effect.gen(function* () {
  const queue = yield* AlertQueue
  for (const delivery of yield* queue.due(100)) yield* queue.delivered(delivery)
})

describe("alerts", () => {
  it.effect("are forgotten long after delivery, and never before every receiver", function* () {
    const queue = yield* AlertQueue
    yield* TestClock.setTime(1_000)
    yield* queue.raise(alert("old"))
    yield* deliverAll
    yield* queue.raise({ ...alert("stuck"), to: ["desk", "log"] })
    const [first, second] = yield* queue.due(100)
    yield* queue.delivered(first!)
    yield* queue.failed(second!, "down", 9_000)
    yield* queue.raise(alert("given up"))
    const [last] = yield* queue.due(100)
    yield* queue.failed(last!, "no such receiver", undefined)
    yield* queue.raise(alert("late"))
    yield* TestClock.setTime(5_000)
    yield* deliverAll

    yield* queue.prune(1_000)
    assert.deepStrictEqual(yield* kept, ["old", "stuck", "given up", "late"])
    yield* queue.prune(2_000)
    assert.deepStrictEqual(yield* kept, ["stuck", "given up", "late"], "late was delivered at 5,000")
    assert.strictEqual(yield* deliveries, 4)

    yield* TestClock.setTime(9_000)
    yield* deliverAll
    yield* queue.prune(9_001)
    assert.deepStrictEqual(yield* kept, ["given up"])
    assert.strictEqual(yield* deliveries, 1)
  })

  it.effect("that wait are silenced by the subject that the silence names, and others are not", function* () {
    const queue = yield* AlertQueue
    yield* TestClock.setTime(1_000)
    yield* queue.raise(alert("of s"))
    yield* queue.raise({ ...alert("of another"), subject: "t" })
    yield* addSilence({ name: null, kind: "rule", subject: "s", author: "ana", reason: "drill", until: hour })
    assert.deepStrictEqual(
      (yield* queue.due(100)).map(({ dedup }) => dedup),
      ["of another"],
    )
  })

  it.effect("of what stands until a person acts are told once, however long it stands", function* () {
    const queue = yield* AlertQueue
    const standing = ["halt/operator/1", "overflow/1795220000000000000"]
    for (const dedup of standing) yield* queue.raise(alert(dedup, "page"))
    yield* deliverAll
    yield* TestClock.setTime(1_000_000)
    yield* queue.prune(1_000_000)
    const again = yield* Effect.forEach(standing, (dedup) => queue.raise(alert(dedup, "page")))
    assert.deepStrictEqual(again, [false, false])
  })

  it.effect("are sent again as another message", function* () {
    const queue = yield* AlertQueue
    yield* queue.raise({ ...alert("a/1", "page"), to: ["desk"] })
    for (const delivery of yield* queue.due(1)) yield* queue.delivered(delivery)
    assert.deepStrictEqual(yield* resend(1, () => ["desk"]), [1])
    assert.containSubset(yield* queue.due(1), [{ round: 1, tries: 0 }])
  })

  it.effect("are ended for those who got them", function* () {
    const queue = yield* AlertQueue
    yield* queue.raise(alert("a", "page"))
    yield* deliverAll
    assert.isTrue(yield* queue.allClear({ ...alert("a/over"), resolves: ["a"] }))
    assert.deepStrictEqual(
      (yield* queue.due(9)).map(({ receiver, resolves }) => [receiver, resolves?.length]),
      [
        ["desk", 1],
        ["log", 1],
      ],
    )
  })

  it.effect("wait on where a part of the all-clear arrives that ends others", function* () {
    const queue = yield* AlertQueue
    for (let n = 0; n < 25; n++) yield* queue.raise({ ...alert(`many/${n}`, "page"), to: ["desk"] })
    for (const delivery of yield* queue.due(20)) yield* queue.delivered(delivery)
    yield* queue.raise({ ...alert("many/over"), resolves: ["many"] })
    const due = Effect.map(queue.due(100), (all) => all.map(({ dedup }) => dedup))
    const waiting = [20, 21, 22, 23, 24].map((n) => `many/${n}`)
    assert.deepStrictEqual(yield* due, [...waiting, "many/over"])
    yield* queue.delivered((yield* queue.due(100))[5]!)
    assert.deepStrictEqual(yield* due, waiting)
  })

  it.effect("are kept until who got them has their all-clear, however long they stood", function* () {
    const queue = yield* AlertQueue
    yield* queue.raise({ ...alert("stood", "page"), to: ["desk"], repeats: true })
    yield* deliverAll
    yield* TestClock.setTime(100 * hour)
    yield* queue.raise({ ...alert("stood/over"), resolves: ["stood"] })
    for (const before of [90 * hour, 200 * hour]) {
      yield* queue.prune(before)
      assert.strictEqual((yield* queue.due(1))[0]?.resolves?.length, 1)
    }
  })

  it.effect("are kept for as long as an alert of their message is, which is known by their key", function* () {
    const queue = yield* AlertQueue
    const facts = ["a", "b", "c", "d", "e"].map((dedup) => ({ ...alert(dedup), name: "asset_status", to: ["desk"] }))
    yield* queue.raise({ ...facts[0]!, severity: "ticket" })
    for (const fact of facts.slice(1)) yield* queue.raise({ ...fact, severity: "ticket", subject: "t" })
    const [first] = yield* queue.due(1)
    yield* queue.delivered(yield* queue.grouped(first!))
    yield* TestClock.setTime(hour)
    const over = (resolves: ReadonlyArray<string>, subject: string) =>
      queue.raise({ ...alert(`${resolves}/over`), name: "asset_status", to: ["desk"], subject, resolves })
    yield* over(["a"], "s")
    assert.deepStrictEqual((yield* queue.due(1))[0]?.resolves, [])
    yield* deliverAll
    yield* queue.prune(2 * hour)
    const all = ["a", "b", "c", "d", "e", "a/over"]
    assert.deepStrictEqual(yield* kept, all, "a is over too for whom it is sent again")
    yield* over(["b", "c", "d", "e"], "t")
    assert.deepStrictEqual(
      (yield* queue.due(1))[0]?.resolves?.map(({ dedup }) => dedup),
      ["a"],
    )
    yield* deliverAll
    yield* queue.prune(2 * hour)
    assert.deepStrictEqual(yield* kept, [])
  })

  it.effect("go with the balance rows, once an hour", function* () {
    const queue = yield* AlertQueue
    yield* prune
    yield* queue.raise(alert("old"))
    yield* deliverAll
    yield* TestClock.setTime(10 * hour)
    yield* prune
    assert.deepStrictEqual(yield* kept, ["old"])
    yield* TestClock.setTime(11 * hour - 1)
    yield* prune
    assert.deepStrictEqual(yield* kept, ["old"], "the last time is less than an hour ago")
    yield* TestClock.setTime(11 * hour)
    yield* prune
    assert.deepStrictEqual(yield* kept, [])
  })

  it.effect("are forgotten only when the clock and the blocks agree", function* () {
    const queue = yield* AlertQueue
    yield* TestClock.setTime(hour)
    yield* prune
    yield* queue.raise(alert("old"))
    yield* deliverAll
    yield* TestClock.setTime(100 * hour)
    yield* pruneAt(hour)
    assert.deepStrictEqual(yield* kept, ["old"], "the clock alone says that it is old")
    yield* TestClock.setTime(2 * hour)
    yield* pruneAt(100 * hour)
    assert.deepStrictEqual(yield* kept, ["old"], "the block alone says so")
    yield* TestClock.setTime(300 * hour)
    yield* prune
    assert.deepStrictEqual(yield* kept, [])
    yield* TestClock.setTime(100 * hour)
    yield* queue.raise(alert("new"))
    yield* deliverAll
    yield* TestClock.setTime(111 * hour)
    yield* prune
    assert.deepStrictEqual(yield* kept, [], "that it was done later than now keeps nobody from doing it")
  })

  it.effect("of a fast clock are delivered and retried at the right time", function* () {
    const queue = yield* AlertQueue
    yield* TestClock.setTime(100 * hour)
    yield* queue.raise(alert("jump", "page"))
    const [first, ...others] = yield* queue.due(100)
    assert.lengthOf(others, 1)
    yield* queue.failed(first!, "down", 100 * hour + 1_000)
    yield* TestClock.setTime(hour)
    assert.lengthOf(yield* queue.due(100), 2)
    const [again] = yield* queue.due(100)
    yield* queue.failed(again!, "down", hour + 1_000)
    assert.lengthOf(yield* queue.due(100), 1, "it waits for its next try")
    yield* deliverAll
    yield* TestClock.setTime(hour + 1_000)
    yield* deliverAll
    assert.lengthOf(yield* queue.due(100), 0)
  })

  it.effect("that a fast clock postponed are due once it is right", function* () {
    const queue = yield* AlertQueue
    yield* queue.raise(alert("jump", "page"))
    yield* TestClock.setTime(100 * hour)
    for (const { receiver } of yield* queue.due(100)) yield* queue.postpone(receiver, 101 * hour)
    assert.lengthOf(yield* queue.due(100), 0)
    yield* TestClock.setTime(hour)
    assert.lengthOf(yield* queue.due(100), 2)
  })

  it.effect("wait at the receiver alone that takes nothing", function* () {
    const queue = yield* AlertQueue
    yield* queue.raise(alert("down", "page"))
    const [first, other] = yield* queue.due(100)
    yield* queue.postpone(first!.receiver, hour)
    assert.deepStrictEqual(
      (yield* queue.due(100)).map(({ receiver }) => receiver),
      [other?.receiver],
    )
  })

  it.effect("of a fast clock end as they were told", function* () {
    const trouble = makeTrouble(yield* Settings, "trouble", 1_000)
    yield* TestClock.setTime(100 * hour)
    yield* trouble.note("bad")
    yield* TestClock.setTime(100 * hour + 1_000)
    const told = yield* trouble.note("bad")
    assert.isTrue(told?.isTold)
    yield* TestClock.setTime(hour)
    yield* trouble.note("bad")
    assert.deepStrictEqual(yield* trouble.end, told)
  })

  it.effect("are not told again at once where nobody could note that they were", function* () {
    const queue = yield* AlertQueue
    yield* queue.raise(alert("cut short"))
    const [first] = yield* queue.due(100)
    yield* queue.begin(first!, 1_000)
    assert.deepStrictEqual(yield* queue.due(100), [])
    yield* TestClock.setTime(1_000)
    assert.deepStrictEqual(yield* queue.due(100), [{ ...first!, tries: 1 }])
  })

  it.effect("are forgotten however many they are, and ids are not given twice", function* () {
    const sql = yield* SqlClient.SqlClient
    const queue = yield* AlertQueue
    yield* sql.withTransaction(sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
        INSERT INTO alerts (dedup, severity, kind, subject, detail, fields, at, ended_at)
        SELECT 'a' || i, 'info', 'rule', 's', 'd', '{}', 5, 5 FROM n`)
    yield* sql.withTransaction(sql`INSERT INTO deliveries (alert, receiver, state, next_at, updated_at)
        SELECT seq, 'log', 'delivered', 0, 6 FROM alerts`)
    yield* queue.prune(7)
    assert.deepStrictEqual(yield* kept, [])
    assert.strictEqual(yield* deliveries, 0)
    yield* queue.raise(alert("next"))
    assert.strictEqual((yield* queue.due(1))[0]?.seq, 12_001)
  })
})
