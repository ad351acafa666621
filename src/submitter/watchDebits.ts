import { Clock, Effect, Option, Schema } from "effect"
import { general } from "../domain/AccountType.ts"
import { LedgerHistory } from "../gateway/LedgerHistory.ts"
import { clockGap } from "../rules/clockGap.ts"
import { Database } from "../store/Database.ts"
import { Debits } from "../store/Debits.ts"
import { type AccountBalance, Observations } from "../store/Observations.ts"
import { Settings } from "../store/Settings.ts"
import { Looks } from "./Looks.ts"
import { type Accounted, type Book, type Debit, type Reckoning, reckon } from "./reckon.ts"
import { reckonAgain } from "./reckonAgain.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"
import { fallsOf, foreignAmong, type Proof, tellDebits } from "./tellDebits.ts"

/** An unexplained debit is looked into so long after it was first seen: what explains it may come later. */
const settleMillis = 1_500
/** So long the gateway has to show what it was. */
const patienceMillis = 60_000
/** Behind a payment without an end the reckoning waits so long. */
const openNanosMax = 3_600_000_000_000n
/** Payments that ended so long before the first row may be in it. */
const earlierMillis = 600_000

/** Where a key's money may go and stay its own. Only general accounts and rewards: then it never traded. */
const untraded: ReadonlySet<string> = new Set([general, "ACCOUNT_TYPE_VESTING_REWARDS", "ACCOUNT_TYPE_VESTED_REWARDS"])

const Stored = Schema.fromJsonString(
  Schema.Struct({
    from: Schema.BigIntFromString,
    until: Schema.BigIntFromString,
    held: Schema.Array(Schema.Tuple([Schema.String, Schema.BigIntFromString, Schema.BigIntFromString])),
    used: Schema.Array(Schema.Tuple([Schema.String, Schema.Int])),
  }),
)
const decode = Schema.decodeUnknownOption(Stored)
const encode = Schema.encodeSync(Stored)

const keyOf = (party: string): string => `debits/${party}`

const load = Effect.fnUntraced(function* (party: string) {
  const text = yield* (yield* Settings).get(keyOf(party))
  const known = Option.map(decode(text), ({ from, until, held, used }): Accounted => {
    const accounts = held.map(([asset, balance, since]) => [asset, { balance, since }] as const)
    return { from, until, held: new Map(accounts), used: new Map(used) }
  })
  return Option.getOrUndefined(known)
})

/** A watch that begins later than now began while a clock was wrong: it begins now. */
const begunBy = Effect.fnUntraced(function* (party: string, known: Accounted, now: number) {
  const watermark = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  const clock = BigInt(now) * 1_000_000n
  const latest = clock > watermark ? clock : watermark
  if (known.from <= latest) return known
  const begun = { ...known, from: latest }
  yield* save(party, begun)
  return begun
})

const save = Effect.fnUntraced(function* (party: string, { from, until, held, used }: Accounted) {
  const accounts = [...held].map(([asset, { balance, since }]) => [asset, balance, since] as const)
  yield* (yield* Settings).set(keyOf(party), encode({ from, until, held: accounts, used: [...used] }))
})

/**
 * A key that is seen for the first time: what was before is not ours to explain. Clock and newest block agree before
 * it begins, so that nothing is taken for the past that is not.
 */
const begin = Effect.fnUntraced(function* (party: string, accounts: ReadonlyArray<AccountBalance>, now: number) {
  const own = accounts.filter((account) => account.type === general && account.market === "")
  const until = own.reduce((newest, { timestamp }) => (timestamp > newest ? timestamp : newest), 0n)
  const watermark = (yield* (yield* Observations).watermark)?.timestamp ?? 0n
  const { maxAgeMillis } = yield* SubmitterOptions
  if (clockGap(now, Number(watermark / 1_000_000n), maxAgeMillis) !== undefined) return
  const clock = BigInt(now) * 1_000_000n
  const held = new Map(own.map(({ asset, balance, timestamp }) => [asset, { balance, since: timestamp }]))
  yield* save(party, { from: clock > watermark ? clock : watermark, until, held, used: new Map() })
})

/**
 * Accounts for all that leaves the key's general accounts, given the latest balances of all. What no payment of the
 * journal explains is looked up in the ledger's movements: a transfer or a withdrawal that the journal does not know
 * halts. Where a gateway tells no movements, the fall itself halts, once it was shown twice, of a key that never
 * had money anywhere but in general accounts: what trading costs is explained by nothing that such a gateway tells.
 */
export const watchDebits = Effect.fn("Reconcile.debits")(function* (party: string, all: ReadonlyArray<AccountBalance>) {
  const now = yield* Clock.currentTimeMillis
  const accounts = all.filter((account) => account.party === party)
  const newest = accounts.reduce((time, { timestamp }) => (timestamp > time ? timestamp : time), 0n)
  const stored = yield* load(party)
  if (stored === undefined) return yield* begin(party, accounts, now)
  const known = yield* begunBy(party, stored, now)
  if (newest <= known.until) return
  const debits = yield* Debits
  const rows = yield* debits.rows(party, known.until)
  const since = rows[0]?.timestamp ?? 0n
  const payments = yield* debits.payments(party, Number(since / 1_000_000n) - earlierMillis)
  const gaps = yield* debits.gaps(since - openNanosMax)
  const book = { rows, payments, gaps }
  const upTo = (end: bigint) => reckon(known, { ...book, rows: rows.filter(({ timestamp }) => timestamp < end) })
  const whole = upTo(newest + 1n)
  const isTraded = accounts.some(({ type }) => !untraded.has(type))
  if (whole.debits.length > 0) return yield* lookInto({ party, isTraded, now, known, book, whole })
  yield* isOver(party)
  const { openAt } = whole
  const reached = openAt === undefined || newest - openAt > openNanosMax ? whole : upTo(openAt)
  if (reached.accounted.until > known.until) yield* save(party, reached.accounted)
})

interface Doubt {
  readonly party: string
  readonly isTraded: boolean
  readonly now: number
  readonly known: Accounted
  readonly book: Book
  readonly whole: Reckoning
}

const lookInto = Effect.fnUntraced(function* (doubt: Doubt) {
  const { party, isTraded, now, whole } = doubt
  const looks = yield* Looks
  yield* looks.doubt(party, true)
  const age = now - (yield* looks.since(keyOf(party), now))
  if (age < settleMillis) return
  const entries = yield* entriesOf(party, whole.debits)
  if (entries === undefined && isTraded) {
    yield* save(party, whole.accounted)
    return yield* isOver(party)
  }
  const { proof, accounted } =
    entries === undefined
      ? yield* shownAgain(doubt)
      : { proof: yield* foreignAmong(party, whole.debits, entries), accounted: whole.accounted }
  if (!proof.complete && proof.found.length === 0) {
    if (age < patienceMillis) return
    yield* Effect.logWarning("what left an account could not be explained", { party })
  }
  const database = yield* Database
  yield* database.atomically(
    Effect.gen(function* () {
      yield* tellDebits(party, proof.found)
      yield* save(party, accounted)
    }),
  )
  yield* isOver(party)
})

/** One reading of rows is no proof: what counts is what a second one comes to. */
const shownAgain = Effect.fnUntraced(function* ({ party, known, book, whole }: Doubt) {
  const { reckoning, complete } = yield* reckonAgain(party, known, book, whole)
  const proof: Proof = { found: fallsOf(party, reckoning.debits), complete }
  return { proof, accounted: complete ? reckoning.accounted : whole.accounted }
})

const isOver = Effect.fnUntraced(function* (party: string) {
  const looks = yield* Looks
  yield* looks.doubt(party, false)
  yield* looks.forget("", keyOf(party))
})

/** What the ledger itself moved out of the key's accounts since the first debit; undefined: it tells nothing. */
const entriesOf = Effect.fnUntraced(function* (party: string, debits: ReadonlyArray<Debit>) {
  const history = yield* LedgerHistory
  return yield* history
    .debits(party, debits[0]!.timestamp, debits.at(-1)!.timestamp)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
})
