import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { SqlError } from "effect/sql"
import {
  Connections,
  type LeaseHolder,
  type PostgresOptions,
  releasesChannel,
  type StoreAccess,
} from "../../src/store/database/Connections.ts"
import * as Database from "../../src/store/database/Database.ts"
import { pgVersion } from "../../src/store/database/pgSchema.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Sql, type WriteAccess } from "../../src/store/database/Sql.ts"
import { StoreError } from "../../src/store/database/StoreError.ts"
import { rememberStoreFile, storeFileProblem } from "../../src/store/database/StoreFile.ts"
import { isTransient } from "../../src/store/database/sqlStates.ts"
import { isBusy, isTakenOver, isUnwritable } from "../../src/store/database/storeErrors.ts"
import { it } from "../support/it.ts"
import { asAdmin, giveBack, serverUrl, takeDatabase, urlOf } from "../support/Postgres.ts"
import { soon, waitUntil } from "../support/until.ts"
import { type Cut, cuttingProxy } from "./CuttingProxy.ts"

const database = Effect.acquireRelease(takeDatabase, (name) => Effect.sync(() => giveBack(name)))
const urlTo = (name: string, user?: string) => Redacted.make(urlOf(serverUrl(), name, user))
const usual = 60_000
const open = (
  name: string,
  {
    treasury = "harbor",
    lastsMillis = usual,
    waitMillis = 0,
    connectionsMax = 3,
    url = urlTo(name),
    access = "holder" as StoreAccess,
    onWait = undefined as PostgresOptions["onWait"],
  } = {},
): Layer.Layer<Database.Database | Sql, StoreError> => {
  const lease = { lastsMillis, waitMillis }
  const store = Database.layer({ treasury, postgres: { url, connectionsMax, lease, access, onWait } })
  if (lastsMillis === usual) return store
  // Transactions last longer than the shortest leases.
  const sessions = Connections.layer({ url, connectionsMax, lease: { lastsMillis: usual } })
  return Layer.provide(store, Layer.orDie(sessions))
}
const built = (...args: Parameters<typeof open>) => Layer.build(Layer.fresh(open(...args)))

const set = (key: string) =>
  Effect.flatMap(Sql, (sql) => sql.write`INSERT INTO settings ${sql.insert({ key, value: "" })}`)
const written = (key: string) => Effect.flatMap(Database.Database, ({ write }) => write(set(key)))
const keys = Effect.flatMap(Sql, (sql) =>
  Effect.map(sql`SELECT key FROM settings ORDER BY key`, (rows) => rows.map(({ key }) => key)),
)
const refusal = (...args: Parameters<typeof open>) => Effect.map(Effect.flip(built(...args)), ({ message }) => message)

const isLockAwaited = (name: string) =>
  Effect.map(
    asAdmin(name, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '${name}'`),
    ([rows]) => rows?.length === 1,
  )

describe("a database of several processes", () => {
  it.live("is written by the holder of the lease alone, and waits for its open transaction", function* () {
    const name = yield* database
    const first = yield* built(name, { lastsMillis: 100, connectionsMax: 1 })
    // Its renewal has no session of its own, and comes behind this.
    const gate = yield* Deferred.make<void>()
    const slow = Effect.provide(
      Effect.flatMap(Sql, (sql) => sql`SELECT pg_sleep(0.3)`),
      first,
    )
    yield* Effect.forkScoped(Effect.andThen(Deferred.await(gate), slow))
    const second = yield* Effect.provide(
      Effect.flatMap(Database.Database, ({ write }) =>
        write(
          Effect.gen(function* () {
            yield* set("a")
            const end = performance.now() + 200
            const taking = yield* Effect.forkDetach(built(name, { waitMillis: 5_000 }))
            const isWaiting = Effect.map(isLockAwaited(name), (is) => is && performance.now() > end)
            yield* waitUntil("a takeover that waits for the open transaction", isWaiting, keys)
            yield* Deferred.succeed(gate, undefined)
            yield* set("b")
            return taking
          }),
        ),
      ),
      first,
    )
    const holder = yield* Fiber.join(second)
    assert.deepStrictEqual(yield* Effect.provide(keys, holder), ["a", "b"])
    const late = yield* Effect.flip(Effect.provide(written("c"), first))
    assert.include(late.message, "another process has the lease of harbor")
    assert.isTrue(isUnwritable(late), "the store is closed and opened again")
    assert.isFalse(
      yield* Effect.provide(
        Effect.flatMap(Database.Database, ({ isLeaseHeld }) => isLeaseHeld),
        first,
      ),
    )
    yield* Effect.provide(written("d"), holder)
    assert.deepStrictEqual(yield* Effect.provide(keys, holder), ["a", "b", "d"])
  })

  it.live("is busy while another process holds the lease, and free at once when that ends", function* () {
    const name = yield* database
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* built(name)
        assert.isTrue(isBusy(yield* Effect.flip(built(name))))
        yield* built(name, { treasury: "another" })
      }),
    )
    yield* built(name)
  })

  it.live("is handed over while its store is open, which then writes no more", function* () {
    const name = yield* database
    const holder = yield* built(name)
    const { handOver, isLeaseHeld } = Context.get(holder, Database.Database)
    yield* handOver(Effect.void)
    assert.isFalse(yield* isLeaseHeld)
    const next = yield* built(name)
    const late = yield* Effect.flip(Effect.provide(written("a"), holder))
    assert.include(late.message, "another process has the lease of harbor")
    assert.strictEqual(Context.get(next, Database.Database).takeover?.how, "handed_over")
    // A renewal that was on its way.
    yield* asAdmin(name, "UPDATE leases SET until = 0")
    yield* Effect.flip(Effect.provide(written("b"), next))
  })

  it.live("is handed over before the same process closes another that it ends, too", function* () {
    const name = yield* database
    const sessions = yield* Layer.build(Connections.layer({ url: urlTo(name), connectionsMax: 3 }))
    const of = (treasury: string) =>
      Layer.build(Layer.fresh(open(name, { treasury }))).pipe(
        Effect.map((holder) => Context.get(holder, Database.Database)),
        Effect.provide(sessions),
      )
    const [harbor, pier] = [yield* of("harbor"), yield* of("pier")]
    const began = performance.now()
    const ending = yield* Effect.forkScoped(harbor.handOver(Effect.void))
    yield* waitUntil("a free lease", Effect.isSuccess(Effect.scoped(built(name))))
    // The other is waited for a second at most.
    if (performance.now() - began < 1_000) assert.isUndefined(ending.pollUnsafe(), "harbor is not closed yet")
    yield* pier.handOver(Effect.void)
    yield* Fiber.join(ending)
  })

  it.live("is left by a holder who finds less in it than it has written", function* () {
    const name = yield* database
    const holder = yield* built(name)
    yield* Effect.provide(written("a"), holder)
    // As a standby without the last commit, promoted where it stood.
    yield* asAdmin(name, "UPDATE leases SET transactions = transactions - 1", "DELETE FROM settings")
    const late = yield* Effect.flip(Effect.provide(written("b"), holder))
    assert.include(late.message, "lacks what was written last")
    assert.isTrue(isUnwritable(late) && !isTakenOver(late), "the store is closed and opened again")
    assert.isFalse(yield* Context.get(holder, Database.Database).isLeaseHeld, "it signs and sends nothing")
    assert.deepStrictEqual(yield* Effect.provide(keys, holder), [])
  })

  it.live("is handed over also where its connections were cut", function* () {
    const name = yield* database
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cofferer' AND datname = '${name}'`
    const { handOver } = Context.get(yield* built(name), Database.Database)
    yield* asAdmin(name, cut)
    yield* handOver(Effect.void)
    yield* built(name)
  })

  it.live("is written by guests, between the holder's transactions, who then forgets what it remembers", function* () {
    const name = yield* database
    const holder = yield* built(name)
    const guest = yield* built(name, { access: "guest" })
    const { write, memoryOf, isLeaseHeld } = Context.get(holder, Database.Database)
    const remembered = Effect.provide(memoryOf<ReadonlyArray<unknown>>("settings")("", keys), holder)
    assert.deepStrictEqual(yield* remembered, [])
    yield* Effect.provide(written("a"), guest)
    const decided: Array<ReadonlyArray<unknown>> = []
    const decide = Effect.gen(function* () {
      decided.push(yield* remembered)
      // A statement that writes would by itself make it forget the rows of its table.
      yield* (yield* Sql)`SELECT 1`
      yield* set(decided.at(-1)?.length === 1 ? "b" : "decided by rows of before")
    }).pipe(Effect.provide(holder))
    let takenBack = 0
    const undone = Effect.sync(() => {
      takenBack++
    })
    yield* write(decide, undone)
    assert.deepStrictEqual(decided, [[], ["a"]], "what it decided by rows of before is undone")
    assert.strictEqual(takenBack, 1)
    assert.deepStrictEqual(yield* remembered, ["a", "b"])
    const late = yield* write(
      Effect.gen(function* () {
        yield* set("d")
        const writing = yield* Effect.forkDetach(Effect.provide(written("c"), guest))
        yield* waitUntil("a guest that waits", isLockAwaited(name), keys)
        return writing
      }),
    ).pipe(Effect.provide(holder))
    yield* Fiber.join(late)
    const all = Effect.andThen(Effect.provide(set("e"), holder), remembered)
    assert.deepStrictEqual(yield* write(all), ["a", "b", "c", "d", "e"])
    assert.isTrue(yield* isLeaseHeld)
    assert.isFalse(yield* Context.get(guest, Database.Database).isLeaseHeld, "a guest moves no money")
  })

  it.live("is given up at the end also by a holder after whose last transaction a guest wrote", function* () {
    const name = yield* database
    const guest = yield* built(name, { access: "guest" })
    yield* Effect.scoped(Effect.andThen(built(name), Effect.provide(written("a"), guest)))
    yield* built(name)
  })

  it.live("runs a transaction again that a guest came before, whoever catches its first failure", function* () {
    const name = yield* database
    const holder = yield* built(name)
    const guest = yield* built(name, { access: "guest" })
    const { write } = Context.get(holder, Database.Database)
    yield* Effect.provide(written("a"), guest)
    const part = Effect.flatMap(Sql, (sql) => Effect.ignore(sql.durable("part")(set("b"))))
    yield* Effect.provide(write(part), holder)
    yield* Effect.provide(written("c"), guest)
    const both = Effect.all([set("d"), set("e")], { concurrency: "unbounded" })
    yield* Effect.provide(write(both), holder)
    assert.deepStrictEqual(yield* Effect.provide(keys, holder), ["a", "b", "c", "d", "e"])
  })

  it.live("is free again where the holder is interrupted while a transaction begins", function* () {
    const name = yield* database
    const holder = yield* built(name)
    const guest = yield* built(name, { access: "guest" })
    const isBegun = yield* Deferred.make<void>()
    const gate = yield* Deferred.make<void>()
    const slow = Effect.andThen(set("a"), Effect.andThen(Deferred.succeed(isBegun, undefined), Deferred.await(gate)))
    const before = yield* Effect.forkScoped(
      Effect.flatMap(Database.Database, ({ write }) => write(slow)).pipe(Effect.provide(guest)),
    )
    yield* Deferred.await(isBegun)
    const late = yield* Effect.forkScoped(Effect.provide(written("b"), holder))
    yield* waitUntil("a holder that waits", isLockAwaited(name))
    const interrupted = yield* Effect.forkScoped(Fiber.interrupt(late))
    yield* Effect.yieldNow
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.all([Fiber.join(before), Fiber.join(interrupted)])
    yield* soon("a transaction after it", Effect.provide(written("c"), holder))
    assert.deepStrictEqual(yield* Effect.provide(keys, holder), ["a", "c"])
  })

  it.live("costs its server nothing for a transaction without a statement, and is renewed all the same", function* () {
    const name = yield* database
    const lastsMillis = 1_200
    const holder = yield* built(name, { lastsMillis })
    const { write, isLeaseHeld } = Context.get(holder, Database.Database)
    const count = Effect.map(asAdmin(name, "SELECT transactions, until FROM leases"), ([rows]) => rows?.[0] ?? [])
    const [before, until] = yield* count
    yield* write(Effect.void)
    assert.deepStrictEqual(yield* count, [before, until])
    yield* waitUntil(
      "a renewal",
      Effect.map(count, ([now]) => now !== before),
    )
    assert.isTrue(yield* isLeaseHeld)
  })

  it.live("shows a halt that came while its lease moved to the next holder", function* () {
    const name = yield* database
    yield* Effect.scoped(built(name))
    yield* Effect.provide(written("halt"), yield* built(name, { access: "guest" }))
    const next = yield* built(name)
    assert.deepStrictEqual(yield* Effect.provide(keys, next), ["halt"])
    yield* Effect.provide(written("a"), next)
  })

  it.live("is waited for until whoever stands by is stopped", function* () {
    const name = yield* database
    yield* built(name)
    let waits = 0
    const onWait = () =>
      Effect.sync(() => {
        waits++
      })
    const standby = yield* Effect.forkChild(Effect.scoped(built(name, { onWait })))
    yield* waitUntil(
      "a second look",
      Effect.sync(() => waits > 1),
    )
    yield* soon("the end of whoever stands by", Fiber.interrupt(standby))
  })

  it.live("is taken with all that are given up at the same time, before any of them starts", function* () {
    const name = yield* database
    const treasuries = ["bay", "cove", "harbor"]
    yield* Effect.scoped(built(name))
    const row = (treasury: string) => `('${treasury}', 'gone', 1, 9000000000000000, 0, 0)`
    yield* asAdmin(
      name,
      "DELETE FROM leases",
      `INSERT INTO leases (treasury, holder, epoch, until, since, transactions) VALUES ${treasuries.map(row)}`,
    )
    const waiting = new Set<string>()
    const others: Array<unknown> = []
    const url = urlTo(name)
    const shared = yield* Layer.build(Connections.layer({ url, lease: { lastsMillis: usual } }))
    const standby = (treasury: string) => {
      const onWait = (current: LeaseHolder | undefined) =>
        current !== undefined
          ? Effect.sync(() => waiting.add(treasury))
          : Effect.orDie(asAdmin(name, "SELECT treasury FROM leases WHERE holder = 'gone'")).pipe(
              Effect.map(([rows]) => others.push(...(rows ?? []))),
            )
      const store = Database.layer({ treasury, postgres: { url, lease: { lastsMillis: usual }, onWait } })
      return Effect.provideContext(Layer.build(Layer.fresh(store)), shared)
    }
    const taking = yield* Effect.forkChild(Effect.forEach(treasuries, standby, { concurrency: "unbounded" }))
    yield* waitUntil(
      "all to wait",
      Effect.sync(() => waiting.size === treasuries.length),
    )
    const told = treasuries.map((treasury) => `PERFORM pg_notify('${releasesChannel}', '${treasury}')`).join("; ")
    yield* asAdmin(name, `DO $$ BEGIN UPDATE leases SET until = 0; ${told}; END $$`)
    yield* soon("all to be taken", Fiber.join(taking))
    assert.deepStrictEqual(others, [])
  })

  it.live("is taken from a silent holder, however far ahead the server's clock was then", function* () {
    const name = yield* database
    yield* Effect.scoped(built(name))
    const ahead = "UPDATE leases SET holder = 'gone', until = 9000000000000000"
    yield* asAdmin(name, ahead)
    // A last sign of life that commits after whoever waits has begun to take the lease.
    const alive = "DO $$ BEGIN UPDATE leases SET transactions = transactions + 1; PERFORM pg_sleep(1); END $$"
    const isBegun = Effect.map(
      asAdmin(name, `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = '${name}'`),
      ([rows]) => rows?.length === 1,
    )
    let waits = 0
    const onWait = Effect.fnUntraced(function* (current: LeaseHolder | undefined) {
      if (current === undefined || ++waits > 1) return
      yield* Effect.forkDetach(asAdmin(name, alive))
      yield* waitUntil("a sign of life", isBegun)
    }, Effect.orDie)
    const next = yield* soon("a takeover", built(name, { lastsMillis: 200, onWait }))
    assert.isAbove(waits, 1, "not before the time passed once more")
    yield* Effect.provide(written("a"), next)
  })

  it.live("believes in its lease for less than its time where it cannot be renewed", function* () {
    const name = yield* database
    const holder = yield* built(name, { lastsMillis: 200 })
    const isHeld = Effect.provide(
      Effect.flatMap(Database.Database, ({ isLeaseHeld }) => isLeaseHeld),
      holder,
    )
    yield* Effect.provide(written("a"), holder)
    yield* waitUntil("a lease that is held", isHeld)
    // Locked until that was seen, however late a busy machine looks.
    const locked = "DO $$ BEGIN PERFORM 1 FROM leases FOR UPDATE; PERFORM pg_sleep(60); END $$"
    yield* Effect.forkScoped(Effect.ignore(asAdmin(name, locked)))
    const not = Effect.map(isHeld, (held) => !held)
    yield* waitUntil("the end of a belief", not)
    const unlock = asAdmin(
      name,
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = '${name}' AND query LIKE 'DO %pg_sleep%' AND pid <> pg_backend_pid()`,
    )
    yield* waitUntil("a lease that is renewed after all", isHeld, unlock)
  })

  it.live("writes nothing past Database.write", function* () {
    const store = yield* built(yield* database)
    yield* Effect.gen(function* () {
      const sql = yield* Sql
      const past = yield* Effect.flip(sql`INSERT INTO settings (key, value) VALUES ('a', '')`)
      assert.include(String(past.reason.cause), "read-only transaction")
      // Without a transaction there is no right to write: `yield* set("b")` does not compile.
      const needsTx: WriteAccess extends Effect.Services<ReturnType<typeof set>> ? true : false = true
      assert.isTrue(needsTx)
      assert.deepStrictEqual(yield* keys, [])
    }).pipe(Effect.provide(store))
  })
})

describe("a database that several processes read", () => {
  it.live("shows one moment to a reader, who needs no lease and changes nothing", function* () {
    const name = yield* database
    const holder = yield* built(name)
    const reader = yield* built(name, { access: "reader" })
    const { write } = Context.get(reader, Database.Database)
    const seen = write(Effect.andThen(keys, Effect.andThen(Effect.provide(written("a"), holder), keys)))
    assert.deepStrictEqual(yield* Effect.provide(seen, reader), [])
    assert.deepStrictEqual(yield* Effect.provide(keys, reader), ["a"])
    assert.include((yield* Effect.flip(Effect.provide(written("b"), reader))).message, "read-only transaction")
  })

  it.live("answers truth values as numbers, as SQLite does", function* () {
    const sql = Context.get(yield* built(yield* database), Sql)
    assert.deepStrictEqual(yield* sql`SELECT 1 < 2 AS yes, 1 > 2 AS no, NULL AND true AS unknown`, [
      { yes: 1, no: 0, unknown: null },
    ])
  })

  it.live("is told from a restored one", function* () {
    const name = yield* database
    const store = yield* Layer.build(Layer.provideMerge(Settings.layer, open(name)))
    const problem = Effect.provide(storeFileProblem(""), store)
    assert.isUndefined(yield* problem)
    assert.isUndefined(yield* problem)
    yield* asAdmin(name, "ALTER TABLE journal RENAME TO former", "CREATE TABLE journal (LIKE former)")
    assert.match((yield* problem) ?? "", /^the database was restored, or its server replaced/)
    yield* Effect.provide(rememberStoreFile(""), store)
    assert.isUndefined(yield* problem)
    yield* asAdmin(name, "DROP TABLE journal", "DROP OWNED BY cofferer CASCADE")
  })
})

describe("rows of many treasuries", () => {
  it.live("are seen and written by their own alone, through one pool", function* () {
    const name = yield* database
    const shared = yield* Layer.build(Connections.layer({ url: urlTo(name), connectionsMax: 2 }))
    const names = ["a", "b", "c", "d"]
    const stores = yield* Effect.forEach(names, (treasury) => Effect.provide(built(name, { treasury }), shared))
    const work = (store: (typeof stores)[number], i: number) =>
      Effect.provide(Effect.andThen(written(`${names[i]}1`), Effect.andThen(written(`${names[i]}2`), keys)), store)
    const seen = yield* Effect.forEach(stores, work, { concurrency: "unbounded" })
    assert.deepStrictEqual(
      seen,
      names.map((treasury) => [`${treasury}1`, `${treasury}2`]),
    )
    const stolen = Effect.flatMap(Sql, (sql) =>
      sql.withTransaction(sql.write`INSERT INTO settings (treasury, key, value) VALUES ('b', 'x', '')`),
    )
    assert.include(String((yield* Effect.flip(Effect.provide(stolen, stores[0]!))).reason.cause), "row-level security")
  })

  it.live("begin each key, and are apart in each table", function* () {
    const name = yield* database
    yield* built(name)
    const [open] = yield* asAdmin(
      name,
      `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND relname <> 'cofferer_schema' AND NOT (relrowsecurity AND relforcerowsecurity)`,
    )
    assert.deepStrictEqual(open, [])
    const [keys] = yield* asAdmin(
      name,
      `SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class c ON c.oid = indrelid
        WHERE c.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = indrelid AND attnum = indkey[0]
          AND attname = 'treasury')`,
    )
    assert.deepStrictEqual(keys, [])
  })
})

describe("a server that loses payments", () => {
  it.live("is refused at the start, with the way out", function* () {
    const name = yield* database
    const admin = new URL(serverUrl()).username
    assert.include(yield* refusal(name, { url: urlTo(name, admin) }), "NOSUPERUSER and NOBYPASSRLS")
    yield* asAdmin("postgres", `ALTER DATABASE ${name} SET synchronous_commit = off`)
    assert.include(yield* refusal(name), "set synchronous_commit = on")
    yield* asAdmin("postgres", `ALTER DATABASE ${name} RESET synchronous_commit`)
    yield* Effect.scoped(built(name))
    yield* asAdmin(name, "DROP OWNED BY cofferer CASCADE")
  })
})

describe("tables of another version", () => {
  const former = [
    "ALTER TABLE leases DROP COLUMN guests, DROP COLUMN former, DROP COLUMN former_until",
    "ALTER TABLE leases RENAME COLUMN transactions TO writes",
    `UPDATE cofferer_schema SET version = ${pgVersion - 1}`,
  ]

  it.live.each([
    [pgVersion + 1, "a newer version made the tables of its address", "run that version here as well"],
    [1, "an older version made the tables of its address", "or begin in an empty database"],
  ] as const)("of version %s are refused, with the way out", function* ([version, why, remedy]) {
    const name = yield* database
    yield* Effect.scoped(built(name))
    yield* asAdmin(name, `UPDATE cofferer_schema SET version = ${version}`)
    for (const access of ["holder", "reader", "guest"] as const) {
      const said = yield* refusal(name, { access })
      assert.include(said, why)
      assert.include(said, remedy)
    }
    yield* asAdmin(name, "DROP OWNED BY cofferer CASCADE")
  })

  it.live("are changed once no process of that version runs a treasury, which then cannot go on", function* () {
    const name = yield* database
    const running = yield* built(name)
    yield* built(name, { treasury: "another" })
    yield* asAdmin(name, ...former)
    yield* built(name, { access: "reader" })
    assert.match(yield* refusal(name, { treasury: "third" }), /runs treasuries by the older tables of.*stop every/)
    yield* asAdmin(name, "UPDATE leases SET until = 1")
    const both = [built(name, { treasury: "third" }), built(name, { treasury: "fourth" })]
    yield* Effect.all(both, { concurrency: "unbounded" })
    assert.include((yield* Effect.flip(Effect.provide(written("a"), running))).message, "another process has the lease")
    const taking = "INSERT INTO leases (holder, epoch, until, since, writes) SELECT '', 0, 0, 0, 0 WHERE false"
    const standby = yield* Effect.exit(asAdmin(name, taking))
    assert.isTrue(Exit.isFailure(standby), "one that stood by takes no lease by the statement of that version")
    yield* asAdmin(name, "DROP OWNED BY cofferer CASCADE")
  })
})

describe("a connection that breaks", () => {
  it.each(["EPIPE", "EBADF", "ECONNRESET"])("is known by any code of the operating system: %s", (code) => {
    const cause = Object.assign(new Error(`write ${code}`), { code })
    const error = new SqlError.SqlError({
      reason: new SqlError.ConnectionError({ cause, message: "query failed", operation: "query" }),
    })
    assert.isTrue(isTransient(error))
    assert.isTrue(isUnwritable(new StoreError({ operation: "a", cause: error })))
  })

  const throughProxy = Effect.gen(function* () {
    const name = yield* database
    const dir = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "cofferer-cut-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
    )
    const url = new URL(Redacted.value(urlTo(name)))
    const proxy = yield* cuttingProxy(url.searchParams.get("host")!, dir)
    url.searchParams.set("host", dir)
    return { name, proxy, store: yield* built(name, { url: Redacted.make(url.href) }) }
  })

  it.live.each([
    ["a COMMIT that is lost", "request", 2],
    ["the answer to a COMMIT that succeeded", "answer", 1],
  ] as const)("changes rows once: %s", function* ([, cut, runsExpected]: readonly [string, Cut, number]) {
    const { proxy, store } = yield* throughProxy
    let runs = 0
    let undone = 0
    const once = Effect.gen(function* () {
      runs++
      yield* set("a")
      if (runs === 1) yield* proxy.arm(cut)
    })
    yield* Effect.provide(
      Effect.gen(function* () {
        yield* (yield* Database.Database).write(
          once,
          Effect.sync(() => {
            undone++
          }),
        )
        assert.deepStrictEqual([runs, undone], [runsExpected, runsExpected - 1])
        assert.deepStrictEqual(yield* keys, ["a"])
        yield* written("b")
      }),
      store,
    )
  })

  it.live("settles a COMMIT without a session beside the one that is open", function* () {
    const name = yield* database
    const store = yield* built(name, { connectionsMax: 0 })
    yield* asAdmin(
      name,
      "CREATE SEQUENCE commits",
      `CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
        $$ BEGIN IF nextval('commits') = 1 THEN RAISE 'conflict' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$`,
      `CREATE CONSTRAINT TRIGGER conflict AFTER INSERT ON settings DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION conflict()`,
    )
    yield* Effect.addFinalizer(() =>
      Effect.ignore(asAdmin(name, "DROP FUNCTION conflict CASCADE", "DROP SEQUENCE commits")),
    )
    yield* soon("the end of the transaction", Effect.provide(written("a"), store))
    assert.deepStrictEqual(yield* Effect.provide(keys, store), ["a"])
  })

  it.live("runs a transaction again that the server ended, and a question", function* () {
    const { name, store } = yield* throughProxy
    let runs = 0
    const ended = asAdmin(
      name,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cofferer' AND datname = '${name}'`,
    )
    yield* Effect.provide(
      Effect.gen(function* () {
        yield* (yield* Database.Database).write(
          Effect.gen(function* () {
            yield* set("a")
            if (++runs === 1) yield* ended
            yield* keys
          }),
        )
        yield* ended
        assert.deepStrictEqual(yield* keys, ["a"])
        assert.strictEqual(runs, 2)
      }),
      store,
    )
  })
})
