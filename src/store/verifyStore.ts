import { Effect, Result } from "effect"
import { commandTags } from "../domain/Command.ts"
import { shortId } from "../domain/Hex.ts"
import { readReference } from "../domain/Reference.ts"
import { decodeInputData } from "../tx/InputData.ts"
import { entriesAfter, intentsAfter, type Kept, keptOf, lostSubject, type StoredEntry } from "./archive.ts"
import { uncovered } from "./coverage.ts"
import { Database } from "./Database.ts"
import { entryHash, genesis, Journal, type JournalHead } from "./Journal.ts"
import { permitProblem, signedOf } from "./proven.ts"
import { Witness } from "./Witness.ts"

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
  const beyond = chain.problem ?? rows.problem ?? (yield* lost) ?? (yield* (yield* Witness).problem) ?? null
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
    const page = yield* database.atomically(Effect.flatMap(intentsAfter(last, intentsMax), keptOf))
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
      return `attempt ${k} names entry ${seen.seq}, which is no permit of it`
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
  subject === undefined
    ? undefined
    : `payment ${shortId(subject).slice(0, 4)}: the journal knows it, the store does not`,
)
