import { Clock, Effect } from "effect"
import { formatAmount, plainAmount } from "../domain/Amount.ts"
import { type AccountKey, accountKeyText, accountKind } from "../domain/Balance.ts"
import { nanosOf } from "../domain/Time.ts"
import { shellWord } from "../domain/text.ts"
import { ifSupported } from "../gateway/GatewayError.ts"
import { type Gateway, Gateways } from "../gateway/Gateways.ts"
import { Health } from "../gateway/Health.ts"
import type { ReportedBalance } from "../gateway/schema/BalanceChanges.ts"
import { walkPages } from "../gateway/walkPages.ts"
import { assetById, type Party, type PinnedAsset, partyByKey, partyName } from "../rules/Account.ts"
import { uncompared } from "../store/alerts/makeTrouble.ts"
import { raise, raiseOver } from "../store/alerts/raise.ts"
import { type BalanceDifference, type Drift, Drifts } from "../store/balances/Drifts.ts"
import { Observations } from "../store/balances/Observations.ts"
import type { AccountBalance } from "../store/balances/storeRows.ts"
import { Database } from "../store/database/Database.ts"
import { Signals } from "../store/database/Signals.ts"
import { logEvent } from "../telemetry/Logging.ts"
import {
  endOf,
  finalAt,
  isAhead,
  isWatched,
  newestOf,
  partiesOf,
  type Reader,
  type WatchedTreasury,
} from "./askWindow.ts"

/** Balances as the gateway itself lists them. */
export interface AccountListing {
  /** By `accountName`. */
  readonly accounts: ReadonlyMap<string, AccountKey & { readonly balance: bigint }>
  /** Holds every row before this block time, and may hold later ones. Unix nanoseconds. */
  readonly since: bigint
  /** Holds no row of this block time or later. */
  readonly end: bigint
}

type ListedAccounts =
  | { readonly _tag: "Listed"; readonly listing: AccountListing }
  /** It came to no end, listed one account twice, or names a block of the future. */
  | { readonly _tag: "Unusable"; readonly detail: string }
  /** The gateway has no such operation. */
  | { readonly _tag: "Unsupported" }

/** The largest page that networks give: one page is one moment. */
const pageRows = 5_000

/** All accounts of the parties with their balances. */
export const listAccounts = Effect.fn("Reconciliation.list")(function* (
  reader: Reader,
  parties: ReadonlyArray<string>,
) {
  const now = nanosOf(yield* Clock.currentTimeMillis)
  const pages = walkPages((after) => reader.accounts({ partyIds: parties, first: pageRows, after }))
  const walk = yield* ifSupported(pages)
  if (walk === undefined) return { _tag: "Unsupported" } satisfies ListedAccounts
  const unusable = (detail: string): ListedAccounts => ({ _tag: "Unusable", detail })
  if (!walk.complete) return unusable("the listing of accounts does not end")
  if (isAhead(newestOf(walk, now), now)) return unusable("the gateway is ahead of our clock")
  const watched = isWatched(parties)
  const accounts = new Map<string, ReportedBalance>()
  for (const row of walk.rows) {
    if (!watched({ ...row, timestamp: 0n })) continue
    const name = accountKeyText(row)
    if (accounts.has(name)) return unusable("the listing has one account twice")
    accounts.set(name, row)
  }
  const listing = { accounts, since: finalAt(walk, now), end: endOf(walk, now) }
  return { _tag: "Listed", listing } satisfies ListedAccounts
})

/** Gateways whose balances were compared with our rows so far, by result. */
interface Compared {
  /** Gateway whose listing is compared now. */
  asked: string | undefined
  readonly agreeing: Set<string>
  readonly differing: Set<string>
  /** Gave no listing that can be compared: they count for neither side. */
  readonly silent: Set<string>
}

export const nothingCompared = (): Compared => ({
  asked: undefined,
  agreeing: new Set(),
  differing: new Set(),
  silent: new Set(),
})

/** The next gateway to query: the best one that was not queried yet. Undefined if none is left. */
export const nextToCompare = Effect.fnUntraced(function* (compared: Compared) {
  const { all } = yield* Gateways
  const [only, ...others] = all
  const next = others.length === 0 ? only : yield* bestUnasked(compared, all)
  compared.asked = next?.name
  return next
})

const bestUnasked = Effect.fnUntraced(function* (
  { agreeing, differing, silent }: Compared,
  all: ReadonlyArray<Gateway>,
) {
  const health = yield* Health
  const unheard = new Set((yield* health.all).filter(({ state }) => state === "quarantined").map(({ name }) => name))
  const isLeft = (name: string) => ![unheard, agreeing, differing, silent].some((names) => names.has(name))
  const name = (yield* health.ranked).find(isLeft)
  return all.find((gateway) => gateway.name === name)
})

/** Result of the comparison so far. */
type Judged =
  /** A quorum shows the balances of our rows. */
  | "agreed"
  /** Enough gateways differ to put our rows in doubt. */
  | "drift"
  /** Another gateway must be queried. */
  | "more"

export const judged = (
  { agreeing, differing }: Compared,
  { gateways, quorum }: { readonly gateways: number; readonly quorum: number },
): Judged =>
  agreeing.size >= quorum ? "agreed" : differing.size > 0 && gateways - differing.size < quorum ? "drift" : "more"

/** Adds one comparison. A gateway that differs from a quorum is quarantined. */
export const judgeCompared = Effect.fnUntraced(function* (compared: Compared, differs: boolean) {
  const { all, quorum } = yield* Gateways
  const { asked, agreeing, differing } = compared
  if (asked !== undefined) (differs ? differing : agreeing).add(asked)
  const verdict = judged(compared, { gateways: all.length, quorum })
  if (verdict === "agreed") {
    const health = yield* Health
    const others = [...agreeing].join(" and ")
    for (const name of differing) yield* health.quarantine(name, `its balances are not those of ${others}`)
  }
  return verdict
})

/** Names of the treasury's parties and assets. */
interface Names {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
}

/** "hot/USDT", with the kind of account where it is no general one. */
export const subjectOf = (names: Names, { party, asset, type }: BalanceDifference): string => {
  const name = partyName(names.parties, party)
  const symbol = assetById(names.assets, asset)?.symbol ?? asset.slice(0, 8)
  const kind = accountKind(type)
  return kind === "general" ? `${name}/${symbol}` : `${name}/${symbol} ${kind}`
}

/** Both balances in units of the asset. */
const sidesOf = ({ assets }: Names, { asset, stored, reported }: BalanceDifference) => {
  const pin = assetById(assets, asset)
  const units = (n: bigint) => plainAmount(n, pin?.decimals ?? 0)
  return { asset: pin?.symbol ?? asset, storedBalance: units(stored), gatewayBalance: units(reported) }
}

const wordsOf = ({ assets }: Names, { asset, stored, reported }: BalanceDifference): string => {
  const decimals = assetById(assets, asset)?.decimals ?? 0
  return `mismatch: our history ${formatAmount(stored, decimals)}, gateway ${formatAmount(reported, decimals)}`
}

/** Remedy of a mismatch that does not end by itself. A gateway may name an asset as it likes. */
const remedyOf = (names: Names, { party, asset }: BalanceDifference): string => {
  const named = [partyByKey(names.parties, party)?.name ?? party, assetById(names.assets, asset)?.symbol ?? asset].map(
    shellWord,
  )
  return `cofferer balances rebase ${named.join(" ")} --reason TEXT`
}

const factsOf = (names: Names, drift: Drift) => ({
  seq: drift.seq,
  account: subjectOf(names, drift),
  words: wordsOf(names, drift),
  command: remedyOf(names, drift),
  stored: String(drift.stored),
  reported: String(drift.reported),
})

/** Accounts of a listing compared with our rows. */
interface Differences {
  /** Names of accounts with equal balances on both sides. */
  readonly agreeing: ReadonlySet<string>
  readonly differing: ReadonlyArray<BalanceDifference>
  /** Moved meanwhile: they cannot be compared without their balances before. */
  readonly moving: ReadonlyArray<AccountKey>
}

/**
 * Compares a listing with the newest rows of accounts, and for those that moved with all rows from `listing.since` on
 * and the balances before it, where they are known. Our rows must be complete beyond that time: a listing made while
 * a block came may show any balance that the account had since.
 */
const compareAccounts = (
  listing: AccountListing,
  latest: ReadonlyArray<AccountBalance>,
  rowsSince: ReadonlyArray<AccountBalance>,
  before: ReadonlyMap<string, bigint> = new Map(),
): Differences => {
  const later = new Map<string, Array<bigint>>()
  for (const row of rowsSince) {
    const name = accountKeyText(row)
    const known = later.get(name)
    if (known === undefined) later.set(name, [row.balance])
    else known.push(row.balance)
  }
  const agreeing = new Set<string>()
  const differing: Array<BalanceDifference> = []
  const moving: Array<AccountKey> = []
  const judge = (key: AccountKey, stored: AccountBalance | undefined, reported: bigint) => {
    const name = accountKeyText(key)
    const balance = stored?.balance ?? 0n
    const isMoved = stored !== undefined && stored.timestamp >= listing.since
    const first = isMoved ? before.get(name) : balance
    if (first === reported || later.get(name)?.includes(reported) === true) agreeing.add(name)
    else if (first === undefined) moving.push(key)
    else {
      const { party, asset, market, type } = key
      differing.push({ party, asset, market, type, stored: balance, reported })
    }
  }
  const known = new Set<string>()
  for (const account of latest) {
    const name = accountKeyText(account)
    known.add(name)
    judge(account, account, listing.accounts.get(name)?.balance ?? 0n)
  }
  for (const [name, account] of listing.accounts) if (!known.has(name)) judge(account, undefined, account.balance)
  return { agreeing, differing, moving }
}

/** After an answer that is of no use. */
export const retryMillis = 5_000
/** Milliseconds before the next gateway of a quorum is queried. */
export const moreMillis = 500

/** State kept between two steps of the comparison. Rebuilt after a restart. */
export interface Comparison {
  dueAt: number
  isBehind: boolean
  /** Listing that is being compared. */
  listing: (AccountListing & { readonly at: number }) | undefined
  /** Names of accounts that differed in the previous comparison; undefined: there was none. */
  before: ReadonlySet<string> | undefined
  /** Comparisons brought to an end. */
  count: number
  /** With several gateways a comparison is one with as many of them as must agree. */
  compared: Compared
}

export const newComparison = (): Comparison => ({
  dueAt: 0,
  isBehind: false,
  listing: undefined,
  before: undefined,
  count: 0,
  compared: nothingCompared(),
})

/** This gateway's answer was useless. If there are others, the next one is queried soon: no gateway delays them all. */
export const skip = Effect.fnUntraced(function* (memory: Comparison, now: number, reason: string) {
  memory.listing = undefined
  memory.dueAt = now + retryMillis
  yield* (yield* uncompared).note(reason)
  if ((yield* Gateways).all.length === 1) {
    memory.compared = nothingCompared()
    return
  }
  const { asked, silent } = memory.compared
  if (asked !== undefined) silent.add(asked)
  memory.before = undefined
  memory.dueAt = now + moreMillis
})

/** Gives up a listing whose block the rows do not reach in time. */
export const giveUp = Effect.fnUntraced(function* (memory: Comparison, now: number) {
  yield* skip(memory, now, "the rows do not reach the block of the gateway's listing")
  memory.before = undefined
})

/** While something differs it is compared this often at least. */
const driftMillisMax = 30_000

/** Ends a comparison: its result and its alerts become durable together. */
export const endComparison = Effect.fnUntraced(function* (
  treasury: WatchedTreasury,
  memory: Comparison,
  seen: Parameters<Drifts["Service"]["note"]>[0],
) {
  const drifts = yield* Drifts
  const database = yield* Database
  const signals = yield* Signals
  const { begun, ended } = yield* database.write(
    Effect.gen(function* () {
      const changed = yield* drifts.note(seen)
      // One that a person's rebase began has no alert yet; all others are raised once.
      const names = new Set(seen.differing.map(accountKeyText))
      const differing = (yield* drifts.all).filter((drift) => names.has(accountKeyText(drift)))
      for (const drift of differing) yield* raise("mismatch", factsOf(treasury, drift))
      for (const drift of changed.ended) yield* raiseOver("mismatch", factsOf(treasury, drift))
      return changed
    }),
  )
  for (const drift of begun)
    yield* logEvent("balance mismatch", { account: subjectOf(treasury, drift), ...sidesOf(treasury, drift) })
  for (const drift of ended) yield* logEvent("balance mismatch ended", { account: subjectOf(treasury, drift) })
  yield* (yield* uncompared).end
  yield* drifts.check
  yield* signals.wake("engine")
  memory.before = undefined
  memory.listing = undefined
  memory.compared = nothingCompared()
  memory.count++
  const isCalm = (yield* drifts.all).length === 0
  const wait = isCalm ? treasury.network.reconcileMillis : Math.min(driftMillisMax, treasury.network.reconcileMillis)
  memory.dueAt = (yield* Clock.currentTimeMillis) + wait
})

/** Rows since a listing that are kept in memory to compare it; an older listing is read again. */
const rowsMax = 100_000
/** Accounts whose balance before a listing is looked up; more are left to the next comparison. */
const movingMax = 200

/** Compares a listing with the rows as they are now; undefined where the rows since are too many. */
export const compareNow = Effect.fnUntraced(function* (treasury: WatchedTreasury, listing: AccountListing) {
  const observations = yield* Observations
  const parties = new Set<string>(partiesOf(treasury))
  const accounts = (yield* observations.accounts).filter(({ party }) => parties.has(party))
  const end = accounts.reduce((newest, { timestamp }) => (timestamp > newest ? timestamp : newest), listing.since)
  const drifts = yield* Drifts
  const rows = yield* drifts.rowsBetween(listing.since, end + 1n, rowsMax)
  if (rows === undefined) return undefined
  const named = new Set([...accounts.map(accountKeyText), ...listing.accounts.keys()])
  const unnamed = (yield* drifts.all).map(accountKeyText).filter((name) => !named.has(name))
  const withUnnamed = (comparison: Differences): Differences =>
    // An account that neither side names any more was named by a wrong answer.
    unnamed.length === 0 ? comparison : { ...comparison, agreeing: new Set([...comparison.agreeing, ...unnamed]) }
  const first = compareAccounts(listing, accounts, rows)
  if (first.moving.length === 0) return withUnnamed(first)
  const before = new Map<string, bigint>()
  for (const account of first.moving.slice(0, movingMax)) {
    const balance = yield* drifts.balanceBefore(account, listing.since)
    if (balance !== undefined) before.set(accountKeyText(account), balance)
  }
  return withUnnamed(compareAccounts(listing, accounts, rows, before))
})
