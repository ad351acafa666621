import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { Array as Arr, Effect, Result, Schema, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import * as NodeSqlite from "../store/database/NodeSqlite.ts"
import type { BlockDelta } from "./Blocks.ts"
import { type Chain, emptyChain, type PastState } from "./Chain.ts"
import { checkStatic, codes } from "./checkTx.ts"
import { pastStateOf } from "./faults/asOf.ts"
import { type Account, restoreAccount } from "./Ledger.ts"
import { addPending, remember, type Tx } from "./Mempool.ts"
import { recordTx } from "./ReplayGuard.ts"
import type { Scenario } from "./Scenario.ts"
import { hashesMax } from "./ScenarioText.ts"

/** The sandbox cannot start or go on. After a failure of its files it answers nothing more. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  message: Schema.String,
  /** True if another process listens on the configured port. */
  isPortBusy: Schema.optionalKey(Schema.Boolean),
}) {}

/** The ledger file or a key file cannot be read or written. */
export const filesFailed = (operation: string, cause: unknown): SandboxError => {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new SandboxError({ message: `the sandbox's files failed during ${operation}: ${why}` })
}

/** The ledger on disk. Each block is one commit, and so is each batch of submissions: reported data survives a kill. */
export interface LedgerFile {
  /** The stored chain; an empty one if the file is new. */
  readonly load: Effect.Effect<Chain, SandboxError>
  readonly saveBlock: (chain: Chain, delta: BlockDelta) => Effect.Effect<void, SandboxError>
  /** Durable when it returns, in one commit. Of two equal transactions the first is kept. */
  readonly saveAccepted: (txs: ReadonlyArray<Tx>) => Effect.Effect<void, SandboxError>
  /** Saves faults and epoch counts that changed between two blocks. */
  readonly saveState: (chain: Chain) => Effect.Effect<void, SandboxError>
}

const tables = [
  "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS moments (height INTEGER PRIMARY KEY, body TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS deltas (height INTEGER PRIMARY KEY, body TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS mempool (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL)",
]

/** Rows of one statement: far below SQLite's limit of bound values. */
const chunkSize = 500

/** JSON in which whole numbers of any size survive. */
const print = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? { $big: inner.toString() } : inner))

/** Reads what `print` wrote. The file has rows of this file's own format only, so their type is not checked. */
const parse = <A>(text: string): A =>
  JSON.parse(text, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && "$big" in inner ? BigInt(String(inner.$big)) : inner,
  )

/** The part of a block's changes that the chain's state does not contain. */
const deltaOf = ({ rows, movements, seen, transfers, withdrawals, assets, included }: BlockDelta) => ({
  ...{ rows, movements, seen, transfers, withdrawals, assets },
  included: included.map((entry) => ({ ...entry, bytes: bytesToHex(entry.bytes) })),
})

/** State of the chain that is small enough to be written whole with each block. */
const stateOf = ({ height, time, hash, genesisTime, ruleSets, epoch, faults }: Chain) => {
  const { doomed, past: _, ...rest } = faults
  return {
    ...{ height, time, hash, genesisTime, ruleSets },
    epoch: { ...epoch, transfers: [...epoch.transfers] },
    faults: { ...rest, doomed: [...doomed] },
  }
}

const restoreState = (chain: Chain, { epoch, faults, ruleSets, ...rest }: ReturnType<typeof stateOf>): void => {
  const { transfers, ...begun } = epoch
  const { doomed, ...armed } = faults
  Object.assign(chain, rest)
  Object.assign(chain.epoch, begun)
  Object.assign(chain.faults, armed)
  for (const [party, count] of transfers) chain.epoch.transfers.set(party, count)
  for (const hash of doomed) chain.faults.doomed.add(hash)
  chain.ruleSets.splice(0, chain.ruleSets.length, ...ruleSets)
}

const failed = (operation: string) => Effect.mapError((cause: unknown) => filesFailed(operation, cause))

/** For a network that lives in memory alone. */
export const noLedgerFile = (scenario: Scenario): LedgerFile => ({
  load: Effect.sync(() => emptyChain(scenario)),
  saveBlock: () => Effect.void,
  saveAccepted: () => Effect.void,
  saveState: () => Effect.void,
})

/** Opens (or makes) the file. Fails on a file of another seed or chain. */
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
      const message = `${filename} is of ${found}, not of ${identity}; use that one, or another data directory`
      return yield* new SandboxError({ message })
    }
    return {
      load: load(sql, scenario).pipe(failed("load")),
      saveBlock: (chain: Chain, delta: BlockDelta) =>
        saveBlock(sql, chain, delta).pipe(sql.withTransaction, failed("block")),
      saveAccepted: (txs: ReadonlyArray<Tx>) => saveAccepted(sql, txs).pipe(sql.withTransaction, failed("submit")),
      saveState: (chain: Chain) => setMeta(sql, "state", print(stateOf(chain))).pipe(failed("state")),
    }
  }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(error).pipe(failed("open"))))

type Sql = SqlClient.SqlClient

const getMeta = (sql: Sql, key: string): Effect.Effect<string | undefined, SqlError.SqlError> =>
  Effect.map(sql<{ value: string }>`SELECT value FROM meta WHERE key = ${key}`, (rows) => rows[0]?.value)

const setMeta = (sql: Sql, key: string, value: string) =>
  sql`INSERT INTO meta ${sql.insert({ key, value })} ON CONFLICT (key) DO UPDATE SET value = excluded.value`

const saveAccepted = Effect.fnUntraced(function* (sql: Sql, txs: ReadonlyArray<Tx>) {
  for (const some of Arr.chunksOf(txs, chunkSize)) {
    const rows = Arr.map(some, ({ hash, bytes }) => ({ hash, bytes }))
    yield* sql`INSERT INTO mempool ${sql.insert(rows)} ON CONFLICT (hash) DO NOTHING`
  }
})

const saveBlock = Effect.fnUntraced(function* (sql: Sql, chain: Chain, delta: BlockDelta) {
  const { height } = chain
  yield* setMeta(sql, "state", print(stateOf(chain)))
  yield* sql`INSERT INTO moments ${sql.insert({ height, body: print(pastStateOf(chain)) })}`
  yield* sql`DELETE FROM moments WHERE height <= ${height - hashesMax}`
  const stored = deltaOf(delta)
  if (Object.values(stored).some(({ length }) => length > 0)) {
    yield* sql`INSERT INTO deltas ${sql.insert({ height, body: print(stored) })}`
  }
  for (const gone of Arr.chunksOf(delta.gone, chunkSize)) yield* sql`DELETE FROM mempool WHERE ${sql.in("hash", gone)}`
})

const load = Effect.fnUntraced(function* (sql: Sql, scenario: Scenario) {
  const chain = emptyChain(scenario)
  const state = yield* getMeta(sql, "state")
  if (state === undefined) return chain
  restoreState(chain, parse(state))
  for (const { body } of yield* sql<{ body: string }>`SELECT body FROM moments ORDER BY height`) {
    const moment = parse<PastState>(body)
    chain.faults.past.push(moment)
    chain.hashes.set(moment.height, moment.hash)
    chain.guard.prunedTo = moment.prunedTo
  }
  const accounts = new Map<string, Account>()
  for (const { body } of yield* sql<{ body: string }>`SELECT body FROM deltas ORDER BY height`) {
    redo(chain, accounts, parse(body))
  }
  for (const { bytes } of yield* sql<{ bytes: Uint8Array }>`SELECT bytes FROM mempool ORDER BY seq`) {
    const tx = checkStatic(bytes, { profile: chain.profile, chainId: scenario.chainId })
    if (Result.isSuccess(tx)) addPending(chain.mempool, tx.success)
  }
  return chain
})

const redo = (chain: Chain, accounts: Map<string, Account>, delta: ReturnType<typeof deltaOf>): void => {
  const accountOf = (written: Account): Account => {
    const known = accounts.get(written.id)
    if (known !== undefined) return known
    accounts.set(written.id, written)
    restoreAccount(chain.ledger, written)
    return written
  }
  for (const row of delta.rows) {
    const account = accountOf(row.account)
    account.balance = row.balance
    chain.ledger.rows.push({ ...row, account })
  }
  for (const movement of delta.movements) {
    chain.ledger.movements.push({ ...movement, from: accountOf(movement.from), to: accountOf(movement.to) })
  }
  for (const { id, status } of delta.assets) {
    const listed = chain.scenario.assets.find((asset) => asset.id === id)
    if (listed !== undefined) chain.assets.set(id, { ...listed, status })
  }
  for (const transfer of delta.transfers) {
    chain.transfers.set(transfer.id, transfer)
    if (transfer.open) chain.openTransfers.add(transfer.id)
    else chain.openTransfers.delete(transfer.id)
  }
  for (const withdrawal of delta.withdrawals) chain.withdrawals.set(withdrawal.id, withdrawal)
  for (const { bytes, ...entry } of delta.included) {
    chain.included.push({ ...entry, bytes: hexToBytes(bytes) })
    if (entry.code === codes.ok) remember(chain.mempool, entry.hash)
  }
  for (const seen of delta.seen) if (seen.height > chain.guard.prunedTo) recordTx(chain.guard, seen)
}
