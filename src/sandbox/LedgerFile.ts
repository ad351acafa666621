import { Array as Arr, Effect, Result, Schema, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import * as NodeSqlite from "../store/NodeSqlite.ts"
import type { BlockDelta } from "./Blocks.ts"
import { type Chain, emptyChain, type Included } from "./Chain.ts"
import { checkStatic } from "./checkStatic.ts"
import { codes } from "./checkTx.ts"
import { MomentText, momentOf } from "./faults/Moment.ts"
import { type Account, type Movement, restoreAccount } from "./Ledger.ts"
import { addPending, remember } from "./Mempool.ts"
import { recordSeen } from "./ReplayGuard.ts"
import { SandboxError } from "./SandboxError.ts"
import { hashesMax, type Scenario } from "./Scenario.ts"
import {
  IncludedText,
  restoreState,
  StateText,
  StoredAccount,
  StoredMovement,
  StoredStatus,
  stateOf,
  TransferText,
  WithdrawalText,
} from "./Stored.ts"
import type { Tx } from "./Tx.ts"

/** The ledger on disk: a commit per block, one for all that was accepted together. What was told survives a kill. */
export interface LedgerFile {
  /** The chain as the file has it, or an empty one where the file is new. */
  readonly load: Effect.Effect<Chain, SandboxError>
  readonly saveBlock: (chain: Chain, delta: BlockDelta) => Effect.Effect<void, SandboxError>
  /** The first write of a chain that begins with a given state. */
  readonly saveWhole: (chain: Chain, delta: BlockDelta) => Effect.Effect<void, SandboxError>
  /** Durable when it returns, in one commit. Twice the same transaction keeps the first. */
  readonly saveAccepted: (txs: ReadonlyArray<Tx>) => Effect.Effect<void, SandboxError>
  /** Faults and epoch counts, outside of a block. */
  readonly saveState: (chain: Chain) => Effect.Effect<void, SandboxError>
}

const tables = [
  "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS blocks (height INTEGER PRIMARY KEY, hash TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS moments (height INTEGER PRIMARY KEY, body TEXT NOT NULL)",
  `CREATE TABLE IF NOT EXISTS accounts (id TEXT PRIMARY KEY, asset TEXT NOT NULL, party TEXT NOT NULL,
     market TEXT NOT NULL, type TEXT NOT NULL, balance TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS changes (time INTEGER NOT NULL, account TEXT NOT NULL, balance TEXT NOT NULL,
     PRIMARY KEY (time, account)) WITHOUT ROWID`,
  "CREATE TABLE IF NOT EXISTS assets (id TEXT PRIMARY KEY, status TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS transfers (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS withdrawals (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
  `CREATE TABLE IF NOT EXISTS movements (seq INTEGER PRIMARY KEY, time INTEGER NOT NULL,
     blockTime INTEGER NOT NULL, type TEXT NOT NULL, amount TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
     sourceBalance TEXT NOT NULL, targetBalance TEXT NOT NULL, transfer TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS included (height INTEGER NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL,
     bytes BLOB NOT NULL, PRIMARY KEY (height, position))`,
  `CREATE TABLE IF NOT EXISTS seen (seq INTEGER PRIMARY KEY, height INTEGER NOT NULL, hash TEXT NOT NULL,
     party TEXT NOT NULL, nonce TEXT NOT NULL, tid TEXT NOT NULL, zeros INTEGER NOT NULL)`,
  "CREATE TABLE IF NOT EXISTS mempool (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL)",
]

/** Rows of one statement: far below SQLite's limit of bound values. */
const chunkSize = 500

const failed = (operation: string) =>
  Effect.mapError(
    (cause: unknown) =>
      new SandboxError({
        operation,
        reason: { _tag: "FileFailed", cause: cause instanceof Error ? cause.message : String(cause) },
      }),
  )

/** Opens (or makes) the file; ":memory:" keeps nothing. Fails on a file of another seed or chain. */
export const openLedgerFile = (
  filename: string,
  scenario: Scenario,
): Effect.Effect<LedgerFile, SandboxError, Scope.Scope> =>
  Effect.gen(function* () {
    const sql = yield* NodeSqlite.make({ filename }).pipe(Effect.provide(Reactivity.layer))
    for (const table of tables) yield* sql.unsafe(table)
    const identity = `chain ${scenario.chainId}, seed ${scenario.seed}, format 3`
    const found = yield* getMeta(sql, "identity")
    if (found === undefined) yield* setMeta(sql, "identity", identity)
    else if (found !== identity) {
      const reason = { _tag: "OtherLedger" as const, file: filename, found, wanted: identity }
      return yield* new SandboxError({ operation: "open", reason })
    }
    return {
      load: load(sql, scenario).pipe(failed("load")),
      saveBlock: (chain: Chain, delta: BlockDelta) =>
        saveBlock(sql, chain, delta).pipe(sql.withTransaction, failed("block")),
      saveWhole: (chain: Chain, delta: BlockDelta) =>
        saveWhole(sql, chain, delta).pipe(sql.withTransaction, failed("state")),
      saveAccepted: (txs: ReadonlyArray<Tx>) => saveAccepted(sql, txs).pipe(sql.withTransaction, failed("submit")),
      saveState: (chain: Chain) => saveState(sql, chain).pipe(failed("state")),
    }
  }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(error).pipe(failed("open"))))

type Sql = SqlClient.SqlClient

const getMeta = (sql: Sql, key: string): Effect.Effect<string | undefined, SqlError.SqlError> =>
  Effect.map(sql<{ value: string }>`SELECT value FROM meta WHERE key = ${key}`, (rows) => rows[0]?.value)

const setMeta = (sql: Sql, key: string, value: string) =>
  sql`INSERT INTO meta ${sql.insert({ key, value })} ON CONFLICT (key) DO UPDATE SET value = excluded.value`

const saveState = (sql: Sql, chain: Chain) =>
  Effect.flatMap(Schema.encodeEffect(StateText)(stateOf(chain)), (text) => setMeta(sql, "state", text))

const saveAccepted = Effect.fnUntraced(function* (sql: Sql, txs: ReadonlyArray<Tx>) {
  for (const some of Arr.chunksOf(txs, chunkSize)) {
    const rows = Arr.map(some, ({ hash, bytes }) => ({ hash, bytes }))
    yield* sql`INSERT INTO mempool ${sql.insert(rows)} ON CONFLICT (hash) DO NOTHING`
  }
})

const saveBlock = Effect.fnUntraced(function* (sql: Sql, chain: Chain, delta: BlockDelta) {
  yield* saveState(sql, chain)
  yield* sql`INSERT INTO blocks ${sql.insert({ height: chain.height, hash: chain.hash })} ON CONFLICT DO NOTHING`
  const moment = { height: chain.height, body: yield* Schema.encodeEffect(MomentText)(momentOf(chain)) }
  yield* sql`INSERT INTO moments ${sql.insert(moment)} ON CONFLICT DO NOTHING`
  yield* sql`DELETE FROM blocks WHERE height <= ${chain.height - hashesMax}`
  yield* sql`DELETE FROM moments WHERE height <= ${chain.height - hashesMax}`
  for (const rows of Arr.chunksOf(delta.rows, chunkSize)) {
    const accounts = Arr.map(rows, ({ account }) => ({ ...account, balance: account.balance.toString() }))
    yield* sql`INSERT INTO accounts ${sql.insert(accounts)} ON CONFLICT (id) DO UPDATE SET balance = excluded.balance`
    const changes = Arr.map(rows, (r) => ({ time: r.time, account: r.account.id, balance: r.balance.toString() }))
    yield* sql`INSERT INTO changes ${sql.insert(changes)}`
  }
  for (const movements of Arr.chunksOf(delta.movements, chunkSize)) {
    yield* sql`INSERT INTO movements ${sql.insert(Arr.map(movements, rowOf))}`
  }
  for (const { id, status } of delta.assets) {
    yield* sql`INSERT INTO assets ${sql.insert({ id, status })} ON CONFLICT (id) DO UPDATE SET status = excluded.status`
  }
  for (const transfer of delta.transfers) {
    const row = { id: transfer.id, body: yield* Schema.encodeEffect(TransferText)(transfer) }
    yield* sql`INSERT INTO transfers ${sql.insert(row)} ON CONFLICT (id) DO UPDATE SET body = excluded.body`
  }
  for (const withdrawal of delta.withdrawals) {
    const row = { id: withdrawal.id, body: yield* Schema.encodeEffect(WithdrawalText)(withdrawal) }
    yield* sql`INSERT INTO withdrawals ${sql.insert(row)} ON CONFLICT (id) DO UPDATE SET body = excluded.body`
  }
  for (const entry of delta.included) {
    const body = yield* Schema.encodeEffect(IncludedText)(entry)
    const row = { height: entry.height, position: entry.index, body, bytes: entry.bytes }
    yield* sql`INSERT INTO included ${sql.insert(row)}`
  }
  for (const seen of Arr.chunksOf(delta.seen, chunkSize)) {
    yield* sql`INSERT INTO seen ${sql.insert(Arr.map(seen, (s) => ({ ...s, nonce: s.nonce.toString() })))}`
  }
  yield* sql`DELETE FROM seen WHERE height <= ${delta.prunedTo}`
  for (const gone of Arr.chunksOf(delta.gone, chunkSize)) yield* sql`DELETE FROM mempool WHERE ${sql.in("hash", gone)}`
})

/** Writes a chain that no block of this file made. */
const saveWhole = Effect.fnUntraced(function* (sql: Sql, chain: Chain, delta: BlockDelta) {
  for (const hashes of Arr.chunksOf([...chain.hashes], chunkSize)) {
    yield* sql`INSERT INTO blocks ${sql.insert(Arr.map(hashes, ([height, hash]) => ({ height, hash })))}`
  }
  for (const accounts of Arr.chunksOf([...chain.ledger.accounts.values()], chunkSize)) {
    const rows = Arr.map(accounts, (account) => ({ ...account, balance: account.balance.toString() }))
    yield* sql`INSERT INTO accounts ${sql.insert(rows)}`
  }
  yield* saveBlock(sql, chain, delta)
})

const load = Effect.fnUntraced(function* (sql: Sql, scenario: Scenario) {
  const chain = emptyChain(scenario)
  const state = yield* getMeta(sql, "state")
  if (state === undefined) return chain
  restoreState(chain, yield* Schema.decodeEffect(StateText)(state))
  const blocks = yield* sql<{ height: number; hash: string }>`SELECT height, hash FROM blocks ORDER BY height`
  for (const { height, hash } of blocks) chain.hashes.set(height, hash)
  for (const { body } of yield* sql<{ body: string }>`SELECT body FROM moments ORDER BY height`) {
    const moment = yield* Schema.decodeEffect(MomentText)(body)
    chain.faults.past.push(moment)
    chain.guard.prunedTo = moment.prunedTo
  }
  yield* loadLedger(sql, chain)
  for (const row of yield* sql`SELECT id, status FROM assets`) {
    const { id, status } = yield* Schema.decodeUnknownEffect(StoredStatus)(row)
    const listed = scenario.assets.find((asset) => asset.id === id)
    if (listed !== undefined) chain.assets.set(id, { ...listed, status })
  }
  for (const { body } of yield* sql<{ body: string }>`SELECT body FROM transfers ORDER BY seq`) {
    const transfer = yield* Schema.decodeEffect(TransferText)(body)
    chain.transfers.set(transfer.id, transfer)
    if (transfer.open) chain.openTransfers.add(transfer.id)
  }
  for (const { body } of yield* sql<{ body: string }>`SELECT body FROM withdrawals ORDER BY seq`) {
    const withdrawal = yield* Schema.decodeEffect(WithdrawalText)(body)
    chain.withdrawals.set(withdrawal.id, withdrawal)
  }
  yield* loadTransactions(sql, chain)
  return chain
})

const loadLedger = Effect.fnUntraced(function* (sql: Sql, chain: Chain) {
  const accounts = new Map<string, Account>()
  for (const row of yield* sql`SELECT id, asset, party, market, type, balance FROM accounts`) {
    const account = { ...(yield* Schema.decodeUnknownEffect(StoredAccount)(row)) }
    accounts.set(account.id, account)
    restoreAccount(chain.ledger, account)
  }
  const changes = sql<{ time: bigint | number; account: string; balance: string }>`
    SELECT time, account, balance FROM changes ORDER BY time, account`
  for (const { time, account, balance } of yield* changes) {
    const owner = accounts.get(account)
    if (owner !== undefined) chain.ledger.rows.push({ time: BigInt(time), account: owner, balance: BigInt(balance) })
  }
  const movements = sql`
    SELECT time, blockTime, type, amount, source, target, sourceBalance, targetBalance, transfer
    FROM movements ORDER BY seq`
  for (const row of yield* movements) {
    const stored = yield* Schema.decodeUnknownEffect(StoredMovement)(row)
    const from = accounts.get(stored.source)
    const to = accounts.get(stored.target)
    if (from === undefined || to === undefined) continue
    const { type, amount, sourceBalance: fromBalance, targetBalance: toBalance, transfer: transferId } = stored
    chain.ledger.movements.push({
      time: BigInt(stored.time),
      blockTime: BigInt(stored.blockTime),
      type,
      amount,
      from,
      to,
      fromBalance,
      toBalance,
      transferId,
    })
  }
})

const rowOf = (movement: Movement) => ({
  time: movement.time,
  blockTime: movement.blockTime,
  type: movement.type,
  amount: movement.amount.toString(),
  source: movement.from.id,
  target: movement.to.id,
  sourceBalance: movement.fromBalance.toString(),
  targetBalance: movement.toBalance.toString(),
  transfer: movement.transferId,
})

const loadTransactions = Effect.fnUntraced(function* (sql: Sql, chain: Chain) {
  const { guard, mempool } = chain
  const included = sql<{ body: string; bytes: Uint8Array }>`SELECT body, bytes FROM included ORDER BY height, position`
  for (const { body, bytes } of yield* included) {
    const entry: Included = { ...(yield* Schema.decodeEffect(IncludedText)(body)), bytes }
    chain.included.push(entry)
    if (entry.code === codes.ok) remember(mempool, entry.hash)
  }
  type SeenRow = { height: number; hash: string; party: string; nonce: string; tid: string; zeros: number }
  for (const row of yield* sql<SeenRow>`SELECT height, hash, party, nonce, tid, zeros FROM seen ORDER BY seq`) {
    recordSeen(guard, { ...row, nonce: BigInt(row.nonce) })
  }
  for (const { bytes } of yield* sql<{ bytes: Uint8Array }>`SELECT bytes FROM mempool ORDER BY seq`) {
    const tx = checkStatic(bytes, { profile: chain.profile, chainId: chain.scenario.chainId })
    if (Result.isSuccess(tx)) addPending(mempool, tx.success)
  }
})
