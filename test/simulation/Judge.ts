import type { DatabaseSync } from "node:sqlite"
import { type AttemptState, isFinalAttempt } from "../../src/domain/Attempt.ts"
import { type IntentState, isFinalIntent } from "../../src/domain/Intent.ts"
import { readReference } from "../../src/domain/Reference.ts"
import type { Chain, Included } from "../../src/sandbox/Chain.ts"
import type { StoredEntry } from "../../src/store/journal/archive.ts"
import { genesis } from "../../src/store/journal/Journal.ts"
import { brokenLink } from "../../src/store/journal/verifyStore.ts"
import { decodeTransaction, transferId, txHash } from "../../src/tx/Transaction.ts"
import type { Bounds, Line } from "./Bounds.ts"
import type { Docket } from "./Docket.ts"
import type { Gateways } from "./Plan.ts"

interface IntentRow {
  readonly id: string
  readonly state: IntentState
  readonly detail: string
  readonly command: string
  readonly to_key: string
  readonly amount: string
  readonly fee: string | null
}

interface AttemptRow {
  readonly intent_id: string
  readonly transfer_id: string
  readonly state: string
}

/** What is wrong with a submission at the moment at which it leaves; undefined where nothing is. */
export const problemOfSubmission = (db: DatabaseSync | undefined, bytes: Uint8Array): string | undefined => {
  if (db === undefined || !db.isOpen) return "disk: bytes leave a process without a store"
  if (db.isTransaction) return "disk: bytes leave while a transaction is open"
  const hash = txHash(bytes)
  const found = db
    .prepare(
      "SELECT a.state AS state, (SELECT count(*) FROM sends s WHERE s.intent_id = a.intent_id AND s.k = a.k AND s.outcome IS NULL) AS begun FROM attempts a WHERE a.hash_bare = ? OR a.hash_prefixed = ?",
    )
    .get(hash, hash) as { state: AttemptState; begun: number } | undefined
  if (found === undefined) return "disk: bytes leave that are not on disk"
  if (Number(found.begun) === 0) return "disk: bytes leave before their send is on disk"
  return isFinalAttempt(found.state) ? `ended: bytes leave whose attempt is ${found.state}` : undefined
}

/** One signature's effect in one block. */
export interface Execution {
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
  readonly docket: Docket
  readonly bounds: Bounds
  /** "id height" of executions that a third party brought about: the network itself has that hole. */
  readonly replayed: ReadonlySet<string>
  /** Transfers that our key made elsewhere. */
  readonly foreign?: ReadonlySet<string>
  /** Executions that a store which was put back had lost, and which people imported. */
  readonly imported?: ReadonlySet<string>
}

const all = <Row>(db: DatabaseSync, sql: string): ReadonlyArray<Row> => db.prepare(sql).all() as unknown as Array<Row>

/** Ends that people must hear of, and what waits for them. */
const called: ReadonlySet<IntentState> = new Set(["manual", "failed", "abandoned", "denied"])

/** A payment that a store which was put back may know nothing of. */
export interface LostPayment {
  readonly intentId: string
  readonly transferId: string
  /** Whether it was planned, or handed in by people: then it is owed once. */
  readonly isOwed: bigint
  /** Last block in which it may execute, where it was out when the store was lost; else 0. */
  readonly deadline: bigint
}

/**
 * What was planned, or handed in by people, is owed once: by the store that was lost and the one after it together. And
 * while what the lost one had sent may execute, nothing new is signed.
 */
export const judgeLost = (
  { db, chain, docket }: Pick<Evidence, "db" | "chain" | "docket">,
  lost: ReadonlyArray<LostPayment>,
): void => {
  const asked = db.prepare("SELECT intent_id, transfer_id, anchor_height FROM attempts")
  asked.setReadBigInts(true)
  const ids = new Set(lost.map(({ transferId }) => transferId))
  const later = asked.all().filter((one) => !ids.has(String(one["transfer_id"])))
  const isExecuted = (id: unknown) => chain.transfers.get(String(id))?.status === "STATUS_DONE"
  for (const { intentId, transferId, isOwed, deadline } of lost) {
    const name = `payment ${intentId.slice(0, 8)}`
    if (isOwed === 1n && isExecuted(transferId)) {
      docket.chance("once")
      if (later.some((one) => one["intent_id"] === intentId && isExecuted(one["transfer_id"])))
        docket.wrong("once", `${name} executed by a store that was lost, and again after it`)
    }
    if (deadline === 0n) continue
    docket.chance("once")
    const early = later.find((one) => BigInt(String(one["anchor_height"])) < deadline)
    if (early !== undefined) {
      const other = String(early["intent_id"]).slice(0, 8)
      docket.wrong("once", `${other} is signed while ${name} of a store that was lost may execute until ${deadline}`)
    }
  }
}

/** What executed of keys that pay for us. */
export const executionsOf = (chain: Chain, { payers }: Bounds): ReadonlyArray<Execution> =>
  chain.included.filter(({ party, code }) => payers.has(party) && code === 0).map(executionOf)

/** Everything that must hold once a run has come to rest: what the journal says against what the ledger did. */
export const judge = (evidence: Evidence): void => {
  const { db, chain, gateways, docket, bounds, replayed, foreign, imported } = evidence
  const intents = all<IntentRow>(db, "SELECT id, state, detail, command, to_key, amount, fee FROM intents")
  const attempts = all<AttemptRow>(db, "SELECT intent_id, transfer_id, state FROM attempts")
  const intentOf = new Map(attempts.map((row) => [row.transfer_id, row.intent_id]))
  const ours = executionsOf(chain, bounds).filter(({ id }) => foreign?.has(id) !== true)
  docket.chance("known", ours.length)
  const executed = new Map<string, Array<Execution>>()
  const replays = new Set<string>()
  for (const execution of ours) {
    const { id, height } = execution
    // One that a lost store has made is settled by the tag that the ledger lists, without an attempt.
    const intent = intentOf.get(id) ?? intents.find(({ detail }) => detail.includes(`as transfer ${id}`))?.id
    if (intent === undefined) {
      if (imported?.has(id) !== true)
        docket.wrong("known", `transfer ${id.slice(0, 8)} executed, and no attempt knows it`)
      continue
    }
    if (replayed.has(`${id} ${height}`)) replays.add(intent)
    else executed.set(intent, [...(executed.get(intent) ?? []), execution])
  }
  if (gateways === "honest") {
    judgeTags(evidence, ours)
    for (const intent of intents) judgeEnd(evidence, intent, executed.get(intent.id) ?? [], replays.has(intent.id))
    // Where no transfers are listed, what a lost store paid is known by its debits alone.
    const areDebitsLost = (imported?.size ?? 0) > 0
    // Nobody else has the key, so each of these is a false alarm.
    for (const { id } of all<{ id: string }>(db, "SELECT id FROM listed_transfers WHERE known_as IS NULL")) {
      if (foreign?.has(id) !== true && !(areDebitsLost && id.startsWith("debit ")))
        docket.wrong("foreign", `${id.slice(0, 40)} was taken for a payment made elsewhere`)
    }
    judgeForeign(evidence)
    docket.chance("foreign", ours.length)
  }
  const alerted = new Set(all<{ dedup: string }>(db, "SELECT dedup FROM alerts").map(({ dedup }) => dedup))
  for (const { id, state } of intents) {
    if (!called.has(state)) continue
    docket.chance("alert")
    if (!alerted.has(`${state}/${id}`)) docket.wrong("alert", `intent ${id.slice(0, 8)} is ${state} without an alert`)
  }
  judgeJournal(db, docket)
  judgeOutflow(
    chain,
    ours.filter(({ id, height }) => !replayed.has(`${id} ${height}`)),
    bounds,
    docket,
  )
}

/** No payment executes twice in any life of its store, where the network lists what was paid. */
const judgeTags = ({ chain, docket }: Evidence, ours: ReadonlyArray<Execution>): void => {
  if (chain.profile.surface !== "full") return
  const ids = new Map<string, Set<string>>()
  for (const { id } of ours) {
    const tag = readReference(chain.transfers.get(id)?.reference ?? "")?.tag
    if (tag !== undefined) ids.set(tag, (ids.get(tag) ?? new Set()).add(id))
  }
  docket.chance("once", ids.size)
  for (const [tag, { size }] of ids) if (size > 1) docket.wrong("once", `${size} transfers executed under tag ${tag}`)
}

/** Each payment that our key made elsewhere was noted with a halt, where the network lists transfers. */
const judgeForeign = ({ db, chain, docket, foreign = new Set() }: Evidence): void => {
  if (chain.profile.surface !== "full") return
  const halts = Number(db.prepare("SELECT count(*) AS n FROM halts WHERE reason = 'foreign_payment'").get()?.["n"])
  for (const id of foreign) {
    if (chain.transfers.get(id)?.status !== "STATUS_DONE") continue
    docket.chance("foreign")
    const name = `${id.slice(0, 8)} was paid elsewhere`
    const noted = db.prepare("SELECT 1 FROM listed_transfers WHERE id LIKE ?").get(`%${id}%`)
    if (noted === undefined) docket.wrong("foreign", `${name}, and was never noted`)
    else if (halts === 0) docket.wrong("foreign", `${name}, and nothing halted`)
  }
}

/** How one payment ended by the store and by the ledger, where gateways do not lie. */
const judgeEnd = (
  { db, chain, docket, replayed, foreign = new Set() }: Evidence,
  { id, state, detail, command, to_key: to, amount, fee }: IntentRow,
  executed: ReadonlyArray<Execution>,
  isReplayed: boolean,
): void => {
  const times = executed.length
  const name = `intent ${id.slice(0, 8)} (${state}: ${detail})`
  docket.chance("end")
  if (times > 0) docket.chance("once")
  if (isFinalIntent(state)) docket.chance("truth")
  if (times > 1) docket.wrong("once", `${name} executed ${times} times`)
  if (state === "confirmed" && times === 0 && !isReplayed) docket.wrong("truth", `${name} never executed`)
  if (isFinalIntent(state) && state !== "confirmed" && times > 0) docket.wrong("truth", `${name} executed all the same`)
  // What a third party made the network take twice is not there for what is still to be paid; what the key paid
  // elsewhere counts in limits, which end with the day, and adopted debits of a lost store in those of every receiver.
  const isShort =
    state === "reserved" &&
    ((replayed.size > 0 && / are needed$/.test(detail)) ||
      ((foreign.size > 0 || hasAdoptedDebits(db)) && / in 24 h are used; /.test(detail)))
  if (!isFinalIntent(state) && state !== "manual" && !isShort) docket.wrong("end", `${name} never came to an end`)
  const [first] = executed
  const paid = first === undefined ? undefined : chain.transfers.get(first.id)
  // Somebody else may have let it fail a second time, which is what the ledger shows of it then.
  if (paid?.status !== "STATUS_DONE" || command !== "transfer" || isReplayed) return
  if (String(paid.amount) !== amount || paid.to !== to)
    docket.wrong("truth", `${name} of ${amount} executed with ${paid.amount} to ${paid.to.slice(0, 8)}`)
  const charged = paid.fees.reduce((sum, one) => sum + one.amount, 0n)
  if (state === "confirmed" && fee !== null && BigInt(fee) !== charged)
    docket.wrong("truth", `${name} has the fee ${fee}, the ledger took ${charged}`)
}

/** True if people adopted debits whose receiver no listing shows. */
const hasAdoptedDebits = (db: DatabaseSync): boolean =>
  db.prepare("SELECT 1 FROM listed_transfers WHERE id LIKE 'debit %' AND known_as = 'adopted'").get() !== undefined

/** The journal is whole from its first entry to its last, whatever died in between. */
const judgeJournal = (db: DatabaseSync, docket: Docket): void => {
  let last = genesis
  for (const row of all<StoredEntry>(db, "SELECT * FROM journal ORDER BY seq")) {
    const problem = brokenLink(last, row)
    docket.chance("journal")
    if (problem !== undefined) {
      docket.wrong("journal", `it is broken: ${problem}`)
      return
    }
    last = { seq: row.seq, hash: row.hash }
  }
  if (last.seq === 0) docket.wrong("journal", "it is empty")
}

/** Whether a halt for second executions was in force, with its page, when this one was noted. */
const haltedAt = `SELECT count(*) AS n FROM halts h JOIN alerts a ON a.dedup = 'halt/duplicate_execution/' || h.seq
  WHERE h.reason = 'duplicate_execution' AND a.severity = 'page' AND h.at <= ? AND coalesce(h.ended_at, ?) >= ?`

/**
 * Each payment that a third party made the network execute again must be noted in time, with a halt and a page.
 */
export const judgeReplays = ({
  db,
  chain,
  docket,
  bounds,
  replayed,
  isTimed,
  seenUntil,
}: Pick<Evidence, "db" | "chain" | "docket" | "bounds" | "replayed"> & {
  /** By a clock that was wrong nothing is late. */
  readonly isTimed: boolean
  /** The last moment at which a second execution in this block counts as seen in time. */
  readonly seenUntil: (height: number) => number
}): void => {
  const seenAt = db.prepare("SELECT seen_at FROM duplicates WHERE intent_id = ? ORDER BY n LIMIT 1")
  const done = executionsOf(chain, bounds)
  const attempts = all<AttemptRow>(db, "SELECT intent_id, transfer_id, state FROM attempts")
  for (const { intent_id: intent, transfer_id: id, state } of attempts) {
    const heights = done.filter((execution) => execution.id === id).map(({ height }) => height)
    const isDenied = state === "failed" || state === "expired"
    const second = heights.slice(isDenied ? 0 : 1).find((height) => replayed.has(`${id} ${height}`))
    if (second === undefined) continue
    docket.chance("replay")
    const name = `the execution of ${id.slice(0, 8)} (${state}) in block ${second}`
    const seen = seenAt.get(intent) as { seen_at: number } | undefined
    if (seen === undefined) docket.wrong("replay", `${name} was never noted`)
    else if (seen.seen_at > seenUntil(second)) {
      if (isTimed) docket.wrong("replay", `${name} was noted ${seen.seen_at - seenUntil(second)} ms late`)
    } else {
      const at = seen.seen_at
      const { n } = db.prepare(haltedAt).get(at, at, at) as { n: number }
      if (n === 0 && isTimed) docket.wrong("replay", `${name} was noted without a halt and its page`)
    }
  }
}

/** Nothing is noted as executed twice that the ledger executed once, where gateways do not lie. */
export const judgeFalseReplays = ({
  db,
  chain,
  docket,
  bounds,
  imported = new Set(),
}: Pick<Evidence, "db" | "chain" | "docket" | "bounds" | "imported">): void => {
  const times = new Map<string, number>()
  for (const { id } of executionsOf(chain, bounds)) times.set(id, (times.get(id) ?? 0) + 1)
  const attempts = db.prepare("SELECT transfer_id, state FROM attempts WHERE intent_id = ?")
  const noted = all<{ intent_id: string; detail: string }>(db, "SELECT intent_id, detail FROM duplicates")
  /** Where no transfers are listed, the balances show an equal payment of a lost store as a second execution. */
  const hasTwin = (transfer: string) => {
    const own = chain.transfers.get(transfer)
    if (chain.profile.surface === "full" || own === undefined) return false
    return [...imported].some((id) => {
      const one = id === transfer ? undefined : chain.transfers.get(id)
      return one?.from === own.from && one.asset === own.asset && one.amount === own.amount
    })
  }
  for (const { intent_id: id, detail } of noted) {
    docket.chance("replay")
    const own = attempts.all(id) as unknown as ReadonlyArray<Pick<AttemptRow, "transfer_id" | "state">>
    const isTrue = own.some(({ transfer_id: transfer, state }) => {
      const isDenied = state === "failed" || state === "expired"
      return (times.get(transfer) ?? 0) > (isDenied ? 0 : 1) || hasTwin(transfer)
    })
    if (!isTrue) docket.wrong("replay", `${id.slice(0, 8)} executed once, and it is noted: ${detail}`)
  }
}

/** Whatever gateways say: nobody gets money who may not, and never more than the policy allows. */
const judgeOutflow = (chain: Chain, ours: ReadonlyArray<Execution>, { lines }: Bounds, docket: Docket): void => {
  const sums = new Map<Line, bigint>()
  for (const entry of ours) {
    docket.chance("policy")
    const paid = chain.transfers.get(entry.id)
    const taken = chain.withdrawals.get(entry.id)
    const [from, to, amount] =
      paid !== undefined
        ? [paid.from, paid.to, paid.amount]
        : taken !== undefined
          ? [taken.party, taken.receiver.toLowerCase(), taken.amount]
          : ["", "", 0n]
    if (from === "") {
      docket.wrong("policy", `the key signed another command than a transfer: ${entry.command}`)
      continue
    }
    const line = lines.find((one) => one.from === from && one.to.has(to))
    if (line === undefined) {
      docket.wrong("policy", `money went to ${to}`)
      continue
    }
    if (amount > line.perTransfer) docket.wrong("policy", `one transfer moved ${amount}`)
    sums.set(line, (sums.get(line) ?? 0n) + amount)
  }
  for (const [{ perDay }, sum] of sums)
    if (sum > perDay) docket.wrong("policy", `${sum} left within a day, ${perDay} are allowed`)
}
