import type { DatabaseSync } from "node:sqlite"
import { type IntentState, isFinalIntent } from "../../src/domain/Intent.ts"
import type { Chain, Included } from "../../src/sandbox/Chain.ts"
import type { StoredEntry } from "../../src/store/archive.ts"
import { genesis } from "../../src/store/Journal.ts"
import { brokenLink } from "../../src/store/verifyStore.ts"
import { decodeTransaction, transferId, txHash } from "../../src/tx/Transaction.ts"
import { cancelCommand } from "./Orders.ts"
import type { Gateways } from "./Plan.ts"
import { perDay, perTransfer, receivers, reserve } from "./Replica.ts"

interface IntentRow {
  readonly id: string
  readonly state: IntentState
  readonly detail: string
  readonly command: string
  readonly to_key: string
}

interface AttemptRow {
  readonly intent_id: string
  readonly transfer_id: string
  readonly state: string
}

/** What is wrong with a submission at the moment at which it leaves; undefined where nothing is. */
export const problemOfSubmission = (db: DatabaseSync | undefined, bytes: Uint8Array): string | undefined => {
  if (db === undefined || !db.isOpen) return "bytes leave a process without a store"
  if (db.isTransaction) return "bytes leave while a transaction is open"
  const hash = txHash(bytes)
  const found = db
    .prepare(
      "SELECT a.state AS state, (SELECT count(*) FROM sends s WHERE s.intent_id = a.intent_id AND s.k = a.k AND s.outcome IS NULL) AS begun FROM attempts a WHERE a.hash_bare = ? OR a.hash_prefixed = ?",
    )
    .get(hash, hash) as { state: string; begun: number } | undefined
  if (found === undefined) return "bytes leave that are not on disk"
  return Number(found.begun) === 0 ? "bytes leave before their send is on disk" : undefined
}

/** One signature's effect in one block. */
interface Execution {
  /** Of the transfer; the same where the same signature executed again. */
  readonly id: string
  readonly height: number
  readonly command: string
}

const executionOf = ({ bytes, height, command }: Included): Execution => ({
  id: transferId(decodeTransaction(bytes)?.signature?.value ?? ""),
  height,
  command,
})

export interface Evidence {
  readonly db: DatabaseSync
  readonly chain: Chain
  readonly gateways: Gateways
  /** "id height" of executions that a third party brought about: the network itself has that hole. */
  readonly replayed: ReadonlySet<string>
  /** Standing orders that a person ended: a cancellation of theirs is confirmed by that. */
  readonly endedByHand: ReadonlySet<string>
}

const all = <Row>(db: DatabaseSync, sql: string): ReadonlyArray<Row> => db.prepare(sql).all() as unknown as Array<Row>

/** Ends that people must hear of, and what waits for them. */
const called: ReadonlySet<IntentState> = new Set(["manual", "failed", "abandoned", "denied"])

/** Everything that must hold once a run has come to rest: what the journal says against what the ledger did. */
export const judge = ({ db, chain, gateways, replayed, endedByHand }: Evidence): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const intents = all<IntentRow>(db, "SELECT id, state, detail, command, to_key FROM intents")
  const attempts = all<AttemptRow>(db, "SELECT intent_id, transfer_id, state FROM attempts")
  const intentOf = new Map(attempts.map((row) => [row.transfer_id, row.intent_id]))
  const ours = chain.included.filter(({ party, code }) => party === reserve && code === 0).map(executionOf)
  const executed = new Map<string, number>()
  const replays = new Set<string>()
  for (const { id, height } of ours) {
    const intent = intentOf.get(id)
    if (intent === undefined) {
      wrong.push(`transfer ${id.slice(0, 8)} executed, and no attempt knows it`)
      continue
    }
    if (replayed.has(`${id} ${height}`)) replays.add(intent)
    else executed.set(intent, (executed.get(intent) ?? 0) + 1)
  }
  if (gateways === "honest") {
    for (const { id, state, detail, command, to_key: to } of intents) {
      const times = executed.get(id) ?? 0
      const name = `intent ${id.slice(0, 8)} (${state}: ${detail})`
      if (times > 1) wrong.push(`${name} executed ${times} times`)
      const isMoot = replays.has(id) || (command === "cancel" && endedByHand.has(to))
      if (state === "confirmed" && times === 0 && !isMoot) wrong.push(`${name} never executed`)
      if (isFinalIntent(state) && state !== "confirmed" && times > 0) wrong.push(`${name} executed all the same`)
      if (!isFinalIntent(state) && state !== "manual") wrong.push(`${name} never came to an end`)
    }
  }
  if (gateways === "honest") {
    // Nobody else has the key, so each of these is a false alarm.
    for (const { id } of all<{ id: string }>(db, "SELECT id FROM strangers WHERE known_as IS NULL")) {
      wrong.push(`${id.slice(0, 40)} was taken for a payment made elsewhere`)
    }
  }
  const alerted = new Set(all<{ dedup: string }>(db, "SELECT dedup FROM alerts").map(({ dedup }) => dedup))
  for (const { id, state } of intents) {
    if (called.has(state) && !alerted.has(`${state}/${id}`))
      wrong.push(`intent ${id.slice(0, 8)} is ${state} without an alert`)
  }
  return [
    ...wrong,
    ...judgeJournal(db),
    ...judgeOutflow(
      chain,
      ours.filter(({ id, height }) => !replayed.has(`${id} ${height}`)),
    ),
  ]
}

/** The journal is whole from its first entry to its last, whatever died in between. */
const judgeJournal = (db: DatabaseSync): ReadonlyArray<string> => {
  let last = genesis
  for (const row of all<StoredEntry>(db, "SELECT * FROM journal ORDER BY seq")) {
    const problem = brokenLink(last, row)
    if (problem !== undefined) return [`the journal is broken: ${problem}`]
    last = { seq: row.seq, hash: row.hash }
  }
  return last.seq > 0 ? [] : ["the journal is empty"]
}

/** Whether a halt for second executions was in force, with its page, when this one was noted. */
const haltedAt = `SELECT count(*) AS n FROM halts h JOIN alerts a ON a.dedup = 'halt/duplicate_execution/' || h.seq
  WHERE h.reason = 'duplicate_execution' AND a.severity = 'page' AND h.at <= ? AND coalesce(h.ended_at, ?) >= ?`

/** When a payment counted as executed, virtual milliseconds. */
const confirmedSql = `SELECT min(at) AS at FROM journal
  WHERE subject = ? AND kind = 'intent' AND json_extract(body, '$.state') = 'confirmed'`

/**
 * Each payment that a third party made the network execute again must be noted in time, with a halt and a page. A
 * second execution is one once the first counts: that takes \`ShownMillis\` more where it did not count yet.
 */
export const judgeReplays = ({
  db,
  chain,
  replayed,
  secondUntil,
}: Omit<Evidence, "gateways" | "endedByHand"> & {
  /** The last moment at which a second execution in this block counts as seen in time, by when the first counted. */
  readonly secondUntil: (height: number, firstCountedAt: number | null) => number
}): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const seenAt = db.prepare("SELECT seen_at FROM duplicates WHERE intent_id = ? ORDER BY n LIMIT 1")
  const confirmedAt = db.prepare(confirmedSql)
  const boundOf = (intent: string, second: number): number =>
    secondUntil(second, (confirmedAt.get(intent) as { readonly at: number | null }).at)
  const done = chain.included.filter(({ party, code }) => party === reserve && code === 0).map(executionOf)
  const attempts = all<AttemptRow>(db, "SELECT intent_id, transfer_id, state FROM attempts")
  for (const { intent_id: intent, transfer_id: id, state } of attempts) {
    const heights = done.filter((execution) => execution.id === id).map(({ height }) => height)
    const isDenied = state === "failed" || state === "expired"
    const second = heights.slice(isDenied ? 0 : 1).find((height) => replayed.has(`${id} ${height}`))
    if (second === undefined) continue
    const name = `the execution of ${id.slice(0, 8)} (${state}) in block ${second}`
    const seen = seenAt.get(intent) as { seen_at: number } | undefined
    if (seen === undefined) wrong.push(`${name} was never noted`)
    else if (seen.seen_at > boundOf(intent, second)) {
      wrong.push(`${name} was noted ${seen.seen_at - boundOf(intent, second)} ms late`)
    } else {
      const at = seen.seen_at
      const { n } = db.prepare(haltedAt).get(at, at, at) as { n: number }
      if (n === 0) wrong.push(`${name} was noted without a halt and its page`)
    }
  }
  return wrong
}

/** Whatever gateways say: nobody gets money who may not, and never more than the policy allows. */
const judgeOutflow = (chain: Chain, ours: ReadonlyArray<Execution>): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  let sum = 0n
  for (const entry of ours) {
    if (entry.command === cancelCommand) continue
    const paid = chain.transfers.get(entry.id)
    if (paid === undefined) {
      wrong.push(`the key signed another command than a transfer: ${entry.command}`)
      continue
    }
    if (!receivers.has(paid.to)) wrong.push(`money went to ${paid.to}`)
    if (paid.amount > perTransfer) wrong.push(`one transfer moved ${paid.amount}`)
    sum += paid.amount
  }
  if (sum > perDay) wrong.push(`${sum} left within a day, ${perDay} are allowed`)
  return wrong
}
