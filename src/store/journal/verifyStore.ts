import { Effect, Result } from "effect"
import { commandTags } from "../../domain/Command.ts"
import { shortId } from "../../domain/Hex.ts"
import { isFinalIntent } from "../../domain/Intent.ts"
import { readReference } from "../../domain/Reference.ts"
import { isApproval } from "../../tx/Approval.ts"
import { decodeInputData } from "../../tx/InputData.ts"
import { Database } from "../database/Database.ts"
import { entriesAfter, intentsAfter, type Kept, keptOf, lostSubject, type StoredEntry } from "./archive.ts"
import { entryHash, genesis, Journal, type JournalHead } from "./Journal.ts"
import { permitProblem, signedOf } from "./proven.ts"

type Body = Readonly<Record<string, unknown>>

interface ParsedEntry {
  readonly kind: string
  readonly body: Body
}

const parseEntry = ({ kind, body }: StoredEntry): ParsedEntry | undefined => {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === "object" && parsed !== null ? { kind, body: parsed as Body } : undefined
  } catch {
    return undefined
  }
}

/** As the journal writes it: bigints as digits, absent values as nothing. */
const written = (value: unknown): string => (value === undefined || value === null ? "" : String(value))

const key = (values: Body): string =>
  JSON.stringify(Object.keys(values).map((name) => [name, written(values[name])] as const))

/** The first row without an entry, or the first entry without a row: rows may look alike. */
const unpaired = (what: string, rows: ReadonlyArray<Body>, entries: ReadonlyArray<Body>): string | undefined => {
  const names = Object.keys(rows[0] ?? {})
  const left = new Map<string, number>()
  for (const body of entries) {
    const same = key(names.length === 0 ? {} : Object.fromEntries(names.map((name) => [name, body[name]])))
    left.set(same, (left.get(same) ?? 0) + 1)
  }
  for (const row of rows) {
    const same = key(row)
    const count = left.get(same) ?? 0
    const which = row["k"] === undefined ? what : `${what} of attempt ${written(row["k"])}`
    if (count === 0) return `${which} has no journal entry that says the same`
    left.set(same, count - 1)
  }
  const more = entries.length - rows.length
  return more > 0 ? `the journal tells of ${more} more: ${what}` : undefined
}

/**
 * Compares the rows of a payment with its journal entries, both ways. Returns the first difference as text; undefined
 * if there is none.
 */
const uncovered = (kept: Kept): string | undefined => {
  const all = kept.entries.map(parseEntry)
  const unread = kept.entries[all.indexOf(undefined)]
  if (unread !== undefined) return `entry ${unread.seq} cannot be read`
  const entries = all.flatMap((entry) => entry ?? [])
  const of = (kind: string, state?: string) =>
    entries.filter((e) => e.kind === kind && (state === undefined || e.body["state"] === state)).map((e) => e.body)
  return decided(kept, of("intent")) ?? approved(kept, of("approval")) ?? signed(kept, of) ?? sent(kept, of)
}

const differs = (what: string, row: Body, entry: Body | undefined): string | undefined => {
  if (entry === undefined) return `${what} has no journal entry`
  const name = Object.keys(row).find((each) => written(row[each]) !== written(entry[each]))
  return name === undefined
    ? undefined
    : `${what}: ${name} is "${written(row[name])}", the journal says "${written(entry[name])}"`
}

const decided = ({ intent }: Kept, entries: ReadonlyArray<Body>): string | undefined => {
  const { payment } = intent
  const first = {
    command: intent.command === "transfer" ? undefined : intent.command,
    rule: intent.rule,
    about: intent.subject,
    episode: intent.episode,
    submittedBy: intent.submittedBy,
    from: payment.fromKey,
    to: payment.toKey,
    asset: payment.assetId,
    amount: payment.amount,
  }
  const { state, detail, fee, settledAt } = intent
  const last = isFinalIntent(state) ? { state, detail, fee, settledAt } : { state }
  return differs("the decision", first, entries[0]) ?? differs(`the state ${state}`, last, entries.at(-1))
}

const approved = ({ approvals }: Kept, entries: ReadonlyArray<Body>): string | undefined => {
  const given = approvals.map(({ operator, key, text, signature }) => ({ operator, key, text, signature }))
  const forged = approvals.find(({ key, text, signature }) => !isApproval(key, text, signature))
  if (forged !== undefined) return `the approval of ${forged.operator} is not signed with their key`
  return unpaired("an approval", given, entries)
}

type Entries = (kind: string, state?: string) => ReadonlyArray<Body>

const signed = ({ attempts, spends }: Kept, of: Entries): string | undefined => {
  const made = attempts.map((a) => ({
    k: a.k,
    chainId: a.chainId,
    party: a.party,
    nonce: a.nonce,
    anchorHeight: a.anchorHeight,
    anchorHash: a.anchorHash,
    inputData: Buffer.from(a.inputData).toString("hex"),
    signature: a.signature,
    transferId: a.transferId,
  }))
  const given = spends.map(({ k, digest, signature, amount }) => ({ k, digest, signature, amount }))
  const problem =
    unpaired("the signed command", made, of("attempt", "signed")) ?? unpaired("a signature", given, of("signature"))
  if (problem !== undefined) return problem
  for (const { k, state, hashBare, hashPrefixed } of attempts) {
    const last = of("attempt").findLast((body) => body["k"] === k)
    const moved = differs(`attempt ${k}`, { state }, last)
    if (moved !== undefined) return moved
    if (hashBare === undefined) continue
    const work = of("work").findLast((body) => body["k"] === k)
    const solved = differs(`the work of attempt ${k}`, { hashBare, hashPrefixed }, work)
    if (solved !== undefined) return solved
  }
  return undefined
}

const sent = ({ sends, evidence }: Kept, of: Entries): string | undefined => {
  const begun = sends.map(({ k, n, gateway, framing, txHash }) => ({ k, n, gateway, framing, txHash }))
  const ended = sends
    .filter((s) => s.endedAt !== null)
    .map(({ k, n, gateway, outcome, code, data }) => ({ k, n, gateway, outcome, code, data }))
  const seen = evidence.map(({ k, kind, gateway, height, detail }) => ({ k, kind, gateway, height, detail }))
  return (
    unpaired("a send that began", begun, of("attempt", "sending")) ??
    unpaired("an answer to a send", ended, of("send")) ??
    unpaired("evidence", seen, of("evidence"))
  )
}

export interface Verified {
  /** In words, with its place; null where the journal is whole. */
  readonly problem: string | null
  readonly entries: number
  readonly head: string
  readonly intents: number
}

/** Entries and payments in one step; between steps the loops of a daemon have their turn. */
const entriesMax = 500
const intentsMax = 50

/** A time that was changed may be none. */
const timeText = (millis: number): string =>
  Math.abs(millis) <= 8.64e15 ? new Date(millis).toISOString() : `${millis} ms`

/** Why an entry does not follow the one before it; undefined where it does. */
export const brokenLink = (last: JournalHead, entry: StoredEntry): string | undefined => {
  const what = `entry ${entry.seq} (${entry.kind}, ${timeText(entry.at)})`
  if (entry.seq !== last.seq + 1) return `entry ${last.seq + 1} is missing: ${what} follows ${last.seq}`
  if (entry.prev !== last.hash) return `${what} does not follow the hash of entry ${last.seq}`
  return entry.hash === entryHash(entry) ? undefined : `${what} was changed: its hash is another`
}

/**
 * Recomputes the journal from its first entry, and holds every payment, signature, send, evidence and end against it;
 * then the heads that signed commands and the watermark file have seen.
 */
export const verifyStore = Effect.fn("Archive.verify")(function* () {
  const chain = yield* verifyChain()
  const rows = chain.problem === null ? yield* verifyRows() : { problem: null, intents: 0 }
  const beyond = chain.problem ?? rows.problem ?? (yield* lost) ?? (yield* (yield* Journal).headProblem) ?? null
  return { ...chain, ...rows, problem: beyond } satisfies Verified
})

/** Recomputes the journal from its first entry to its last. */
export const verifyChain = Effect.fnUntraced(function* () {
  let last = genesis
  for (;;) {
    const page = yield* entriesAfter(last.seq, entriesMax)
    for (const entry of page) {
      const problem = brokenLink(last, entry)
      if (problem !== undefined) return { problem, entries: last.seq, head: last.hash }
      last = { seq: entry.seq, hash: entry.hash }
    }
    if (page.length < entriesMax) return { problem: null, entries: last.seq, head: last.hash }
    yield* Effect.yieldNow
  }
})

const verifyRows = Effect.fnUntraced(function* () {
  const database = yield* Database
  let last: Kept["intent"] | undefined
  for (let intents = 0; ; ) {
    // One transaction: rows and entries of the same moment.
    const page = yield* database.write(Effect.flatMap(intentsAfter(last, intentsMax), keptOf))
    for (const kept of page) {
      const problem = uncovered(kept) ?? (yield* misremembered(kept))
      if (problem !== undefined)
        return { problem: `payment ${shortId(kept.intent.id).slice(0, 4)}: ${problem}`, intents }
      intents++
    }
    last = page.at(-1)?.intent
    if (last === undefined) return { problem: null, intents }
    yield* Effect.yieldNow
  }
})

/**
 * Every signed command is of its payment's kind; a transfer carries the hash of its permit; what is permitted is what
 * was signed.
 */
const misremembered = Effect.fnUntraced(function* ({ intent, attempts, entries }: Kept) {
  const journal = yield* Journal
  for (const { k, inputData, chainId, party, signature } of attempts) {
    const data = Result.getOrUndefined(decodeInputData(inputData))
    if (data?.command._tag !== commandTags[intent.command]) return `the command of attempt ${k} cannot be read`
    const seen = data.command._tag === "Transfer" ? readReference(data.command.reference) : undefined
    const signed = signedOf({ k, chainId, party, signature, inputData: Buffer.from(inputData).toString("hex") })
    if (seen !== undefined) {
      const hash = seen.seq === 0 ? genesis.hash : yield* journal.hashAt(seen.seq)
      if (hash !== seen.hash) {
        const was = `attempt ${k} was signed when entry ${seen.seq} had the hash ${seen.hash.slice(0, 16)}`
        return `${was}, now ${hash?.slice(0, 16) ?? "none"}`
      }
    }
    const permit = seen === undefined ? permitBefore(entries, k) : entries.find(({ seq }) => seq === seen.seq)
    if (seen !== undefined && permit === undefined)
      return `attempt ${k} names entry ${seen.seq}, which is not a permit of it`
    const problem = permit && signed && permitProblem(permit, signed, entries)
    if (problem !== undefined) return `attempt ${k}: ${problem}`
  }
  return undefined
})

/** The permit of an attempt whose bytes name none: the last one before its signature. */
const permitBefore = (entries: ReadonlyArray<StoredEntry>, k: number): StoredEntry | undefined => {
  const of = (kind: string) => (entry: StoredEntry) => entry.kind === kind && JSON.parse(entry.body)["k"] === k
  const signature = entries.find(of("signature"))
  return entries.findLast((entry) => of("permit")(entry) && entry.seq < (signature?.seq ?? 0))
}

const lost = Effect.map(lostSubject, (subject) =>
  subject === undefined ? undefined : `payment ${shortId(subject).slice(0, 4)}: the journal has it, the store does not`,
)
