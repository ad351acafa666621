import { randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { Clock, Effect } from "effect"
import { type IntentState, isFinalIntent } from "../../domain/Intent.ts"
import { verifyChain } from "../journal/verifyStore.ts"
import { overTuples } from "./columns.ts"
import { type Mark, markOf, movedKey, movedQuery } from "./moved.ts"
import { isPostgres, Sql } from "./Sql.ts"
import { StoreError } from "./StoreError.ts"
import { movedFrom, storeFileKey } from "./StoreFile.ts"
import { definitions } from "./schema.ts"

/** A store of a treasury, open for writing, and the name of its place. */
interface MovedStore {
  readonly sql: Sql
  readonly place: string
}

interface Table {
  readonly name: string
  readonly columns: ReadonlyArray<string>
  /** Primary key, in its order. */
  readonly key: ReadonlyArray<string>
  /** True if the database numbers the rows. */
  readonly isNumbered: boolean
}

const pageRows = 512

const refused = (cause: string) => new StoreError({ operation: "move", cause })

/** Tables in the order in which they refer to each other, with the columns that SQLite has. */
const tablesOf = (sqlite: Sql) =>
  Effect.forEach(
    definitions.filter((text) => text.startsWith("CREATE TABLE")),
    Effect.fnUntraced(function* (text) {
      const name = /^CREATE TABLE (\w+)/.exec(text)![1]!
      const columns = yield* sqlite<{ name: string; pk: number }>`SELECT name, pk FROM pragma_table_info(${name})`
      const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
      return {
        name,
        columns: columns.map((column) => `"${column.name}"`),
        key: key.map((column) => `"${column.name}"`),
        isNumbered: text.includes("AUTOINCREMENT"),
      } satisfies Table
    }),
  )

type Row = ReadonlyArray<unknown>

/** The rows of a table in the order of its key, behind that of the last row of the page before. */
const readPage = (sql: Sql, { name, columns, key }: Table, last: Row | undefined) => {
  const mark = isPostgres(sql) ? (i: number) => `$${i + 1}` : () => "?"
  const behind = last === undefined ? "" : `WHERE (${key}) > (${key.map((_, i) => mark(i))})`
  const after = last === undefined ? [] : key.map((column) => last[columns.indexOf(column)])
  return sql.readValues(`SELECT ${columns} FROM ${name} ${behind} ORDER BY ${key} LIMIT ${pageRows}`, after)
}

const comparable = (rows: ReadonlyArray<Row>) =>
  rows.map((row) => row.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value)))

/** Copies a table and compares each row with what the other store then returns. Returns the number of rows. */
const copyTable = Effect.fnUntraced(function* (from: Sql, to: Sql, table: Table) {
  const { name, columns } = table
  const insert = overTuples(
    to,
    to.writeValues,
    columns.length,
    (tuples) => `INSERT INTO ${name} (${columns}) VALUES ${tuples}`,
  )
  let last: Row | undefined
  for (let count = 0; ; ) {
    const rows = yield* readPage(from, table, last)
    yield* insert(rows.flat())
    const stored = yield* readPage(to, table, last)
    if (!isDeepStrictEqual(comparable(rows), comparable(stored)))
      return yield* refused(`rows of ${name} were not stored as they were read; nothing was moved`)
    count += rows.length
    last = rows.at(-1)
    if (rows.length < pageRows) return count
    yield* Effect.yieldNow
  }
})

/** Finds a name that the treasury had before: PostgreSQL shows each name its own rows alone. */
const formerQuery = (sql: Sql) =>
  `SELECT treasury FROM journal WHERE treasury <> ${isPostgres(sql) ? "$1" : "?"} LIMIT 1`

/** Continues a table's numbers, so that none of a deleted row is used again. PostgreSQL's treasuries share them. */
const continueNumbers = Effect.fnUntraced(function* (from: Sql, to: Sql, { name, key: [column = ""] }: Table) {
  const sequence = `pg_get_serial_sequence('${name}', '${column.replaceAll('"', "")}')::regclass`
  const [[used] = []] = isPostgres(from)
    ? yield* from.readValues(`SELECT pg_sequence_last_value(${sequence})`, [])
    : yield* from.readValues("SELECT seq FROM sqlite_sequence WHERE name = ?", [name])
  if (used === undefined || used === null) return
  if (isPostgres(to)) {
    // Never set back: another treasury may take a number at the same time.
    yield* to.writeValues(
      `SELECT count(nextval(${sequence})) FROM generate_series(nextval(${sequence}), ${Number(used)})`,
      [],
    )
  } else {
    yield* to.writeValues("DELETE FROM sqlite_sequence WHERE name = ?", [name])
    yield* to.writeValues("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [name, used])
  }
})

const markIn = ({ sql }: MovedStore) => Effect.map(sql.readValues(movedQuery, []), markOf)

const writeMark = ({ sql }: MovedStore, { id, text }: Mark) => setting(sql, movedKey, `${id} ${text}`)

const setting = (sql: Sql, key: string, value: string) =>
  sql.write`INSERT INTO settings ${sql.insert({ key, value })} ON CONFLICT (key) DO UPDATE SET value = excluded.value`

const firstUsed = Effect.fnUntraced(function* ({ sql }: MovedStore, tables: ReadonlyArray<Table>) {
  for (const { name } of tables) {
    const unless = name === "settings" ? `WHERE key <> '${movedKey}'` : ""
    if ((yield* sql.readValues(`SELECT 1 FROM ${name} ${unless} LIMIT 1`, [])).length > 0) return name
  }
  return undefined
})

/**
 * Copies a treasury to an empty store of the other kind, compares every row, and marks the source: from then on no
 * process opens it to write. The source is marked before the copy is durable, and the copy is marked until it is: at no
 * moment can both be run. Whatever interrupts it, the same again ends it. The copy begins as a restored one does.
 */
export const moveStore = Effect.fn("Store.move")(
  function* (treasury: string, from: MovedStore, to: MovedStore) {
    const tables = yield* tablesOf(isPostgres(from.sql) ? to.sql : from.sql)
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    const [done, begun] = [yield* markIn(from), yield* markIn(to)]
    if (done !== undefined && done.id !== begun?.id) return yield* refused(done.text)
    const used = yield* firstUsed(to, tables)
    if (used !== undefined) return yield* refused(`${to.place} is not empty: ${used} has rows; move it away first`)
    // Before the transaction: a long journal takes so long that PostgreSQL would end an idle one.
    const journal = yield* Effect.provideService(verifyChain(), Sql, from.sql)
    if (journal.problem !== null) return yield* refused(`the journal is broken, nothing was moved: ${journal.problem}`)
    if (journal.entries === 0) return yield* refused(`${from.place} has no journal of this treasury: nothing to move`)
    const [[former] = []] = yield* from.sql.readValues(formerQuery(from.sql), [treasury])
    if (former !== undefined) {
      const remedy = 'begin in the empty database, where "cofferer adopt" takes its payments for known'
      return yield* refused(`the journal has entries of ${former}: a renamed treasury is not moved; ${remedy}`)
    }
    const id = done?.id ?? randomBytes(8).toString("hex")
    const unfinished = `a move from ${from.place} began at ${at} and has not ended; "cofferer migrate" ends it`
    yield* to.sql.withTransaction(writeMark(to, { id, text: unfinished }))
    const change = isPostgres(to.sql) ? 'set "database" to that' : 'remove "database"'
    const moved = `this treasury was moved to ${to.place} at ${at}; ${change} in its file, and start it there`
    const move = Effect.gen(function* () {
      yield* from.sql.write`DELETE FROM settings WHERE key = ${movedKey}`
      yield* to.sql.write`DELETE FROM settings WHERE key = ${movedKey}`
      let rows = 0
      for (const table of tables) {
        rows += yield* copyTable(from.sql, to.sql, table)
        if (table.isNumbered) yield* continueNumbers(from.sql, to.sql, table)
      }
      // The HALT file stays in its data directory: without it, such a halt would end at the start.
      yield* to.sql.write`UPDATE halts SET reason = 'operator' WHERE reason = 'halt_file' AND ended_at IS NULL`
      yield* setting(to.sql, storeFileKey, `${movedFrom}${from.place} at ${at}`)
      yield* writeMark(from, { id, text: moved })
      const states = yield* to.sql<{ state: IntentState; count: number }>`SELECT state, count(*) AS count
      FROM intents GROUP BY state`
      const open = states.reduce((sum, { state, count }) => (isFinalIntent(state) ? sum : sum + count), 0)
      // Without statistics PostgreSQL reads whole tables for one row. Last, since ANALYZE locks out that of others.
      if (isPostgres(to.sql)) for (const { name } of tables) yield* to.sql.writeValues(`ANALYZE ${name}`, [])
      return { tables: tables.length, rows, entries: journal.entries, head: journal.head, open }
    })
    return yield* to.sql.withTransaction(from.sql.withTransaction(move))
  },
  Effect.catchTag("SqlError", (cause) => Effect.fail(new StoreError({ operation: "move", cause }))),
)
