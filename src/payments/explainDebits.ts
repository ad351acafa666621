import { withdrawn } from "../domain/Balance.ts"
import { nanosOf } from "../domain/Time.ts"
import { inMicros } from "./movements.ts"

/** Balance of a general account after a block, or at a new start of its balances. Times are Unix nanoseconds. */
export interface GeneralRow {
  readonly asset: string
  readonly balance: bigint
  readonly timestamp: bigint
  /** Balances started again here: the step to it is no debit. */
  readonly isOpening: boolean
}

/** One payment of the journal, as far as it can explain that a balance fell. */
export interface KnownPayment {
  readonly id: string
  readonly asset: string
  /** Highest debit in base units, fee included. */
  readonly cost: bigint
  /** How often it executed, or may have. */
  readonly times: number
  /** It has not come to its end: whether it executed is not known. */
  readonly isOpen: boolean
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly settledAt: bigint | undefined
}

/** How far a key's general accounts have been judged. Amounts are base units, times Unix nanoseconds. */
export interface DebitBaseline {
  /** Rows up to here are judged, and never again. */
  readonly until: bigint
  /** By asset: what was there then, and since when. */
  readonly held: ReadonlyMap<string, { readonly balance: bigint; readonly since: bigint }>
  /** How often each of the newest payments has explained a debit. */
  readonly used: ReadonlyMap<string, number>
}

/** Rows of one key's general accounts, oldest first, and where they are not all. */
export interface Balances {
  /** By asset: what was there before the rows, where that is not what was judged. */
  readonly held?: DebitBaseline["held"]
  readonly rows: ReadonlyArray<GeneralRow>
  /** Times whose rows are lost. */
  readonly gaps: ReadonlyArray<{ readonly since: bigint; readonly until: bigint }>
  /** Nothing from here on is complete yet. */
  readonly end: bigint
}

/** Debits of the key's accounts made by the ledger itself. */
export interface Movements {
  readonly entries: ReadonlyArray<{
    readonly asset: string
    readonly quantity: bigint
    /** Time of the block, and a microsecond more for each entry before it in the block. */
    readonly timestamp: bigint
    readonly type: string
    /** "" if there is none. */
    readonly transferId: string
  }>
  /** Withdrawals that are listed as done: movements of withdrawals bear no id. */
  readonly withdrawals: ReadonlyArray<Place & { readonly id: string; readonly amount: bigint }>
  /** Ids among these that an attempt or a finding has. */
  readonly known: ReadonlySet<string>
}

/** Money that left a general account, and that no payment of the journal explains. */
export interface Unexplained {
  /** That of the transfer or the withdrawal, where there is one. */
  readonly id: string
  readonly kind: "transfer" | "withdrawal" | "fall"
  readonly asset: string
  readonly amount: bigint
  readonly timestamp: bigint
}

interface Explained {
  readonly unexplained: ReadonlyArray<Unexplained>
  /** Transfers of the journal that moved money where none was left to explain it: they may have executed once more. */
  readonly again: ReadonlyArray<string>
  readonly baseline: DebitBaseline
}

/** How far our clock and the ledger's are apart, at most. */
const apartNanos = 60_000_000_000n
/** Longer than the window of any payment that was sent. */
const openMillis = 900_000
/** Longest wait behind the newest row for incomplete data or a payment without an end; then rows are judged. */
const waitNanosMax = 3_600_000_000_000n
/** Payments remembered as used: more than end between two audits. */
const usedMax = 500
/** An entry is written at its block's time and a microsecond more for each before it in the block. */
const entryNanosMax = 1_000_000_000n

const keyOf = (asset: string, time: bigint): string => `${asset} ${time}`

/**
 * Debits of a key's general accounts without an explanation. First, payments explain falls of balances. If some are
 * left, the ledger's movements identify them: those unknown to the journal are unexplained, all else is the cost of
 * trading. Without movements (undefined) the remaining falls are unexplained. The final judgement ends where data is
 * incomplete, and before a payment whose end is not known.
 */
export const explainDebits = (
  before: DebitBaseline,
  {
    movements,
    payments,
    balances,
  }: { movements?: Movements; payments: ReadonlyArray<KnownPayment>; balances: Balances },
): Explained => {
  const { rows, end } = balances
  const whole = explainByPayments(before, payments, balances)
  const { openAt = end } = whole
  const overdue = (rows.at(-1)?.timestamp ?? 0n) - waitNanosMax
  const complete = openAt < end ? openAt : end
  const limit = complete > overdue ? complete : overdue
  const judged = { ...balances, rows: rows.filter(({ timestamp }) => timestamp < limit) }
  const { baseline } = explainByPayments(before, payments, judged)
  const [first] = whole.falls
  if (first === undefined) return { unexplained: [], again: [], baseline }
  if (movements === undefined) return { unexplained: whole.falls, again: [], baseline }
  const named = namesOf(movements, first.timestamp)
  const { known } = movements
  const again = named.filter(({ id, ...entry }) => known.has(id) && whole.falls.some((fall) => isIn(entry, fall)))
  const unknown = new Map(named.flatMap((one) => (known.has(one.id) ? [] : [[one.id, one]])))
  return { unexplained: [...unknown.values()], again: [...new Set(again.map(({ id }) => id))], baseline }
}

type Place = Pick<Unexplained, "asset" | "timestamp">

const isIn = ({ asset, timestamp }: Place, fall: Place): boolean => {
  const after = timestamp - fall.timestamp
  return asset === fall.asset && after > -1_000n && after < entryNanosMax
}

/** Each movement since a time with its id: of withdrawals that of the listed one that fits best and no other has. */
const namesOf = ({ entries, withdrawals }: Movements, since: bigint): ReadonlyArray<Unexplained> => {
  const left = new Set(withdrawals)
  return entries
    .filter(({ timestamp }) => timestamp >= since)
    .map(({ asset, quantity: amount, timestamp, type, transferId }) => {
      if (type !== withdrawn && transferId !== "") return { id: transferId, kind: "transfer", asset, amount, timestamp }
      const [own] = [...left]
        .filter((one) => one.amount === amount && isIn({ asset, timestamp }, one))
        .toSorted((a, b) => (a.timestamp > b.timestamp ? -1 : 1))
      if (own !== undefined) left.delete(own)
      const kind = type === withdrawn ? "withdrawal" : "fall"
      return { id: own?.id ?? `debit ${timestamp}`, kind, asset, amount, timestamp }
    })
}

/** True if a payment may be in a block of this time although it names none, or one that no row has. */
const mayBe = ({ createdAt, updatedAt, settledAt, times }: KnownPayment, time: bigint): boolean => {
  const latest = settledAt ?? nanosOf(updatedAt + openMillis)
  return time >= nanosOf(createdAt) - apartNanos && (times > 1 || time <= latest + apartNanos)
}

/**
 * Goes through rows, oldest first, and takes from each fall of a balance what payments explain: first those of that
 * very block, then any others of about that time, each as often as it executed. What comes in hides what goes out in
 * the same block, so a payment explains a smaller fall as well.
 */
const explainByPayments = (before: DebitBaseline, payments: ReadonlyArray<KnownPayment>, balances: Balances) => {
  const { rows, gaps } = balances
  const held = new Map([...before.held, ...(balances.held ?? [])])
  const used = new Map(before.used)
  const falls: Array<Unexplained> = []
  const places = new Set(rows.map(({ asset, timestamp }) => keyOf(asset, inMicros(timestamp))))
  const placeOf = ({ asset, settledAt }: KnownPayment): string | undefined => {
    const place = settledAt === undefined ? "" : keyOf(asset, inMicros(settledAt))
    return places.has(place) ? place : undefined
  }
  let until = before.until
  let openAt: bigint | undefined
  const take = (payment: KnownPayment, time: bigint): bigint => {
    const count = used.get(payment.id) ?? 0
    if (count >= payment.times) return 0n
    used.delete(payment.id)
    used.set(payment.id, count + 1)
    if (payment.isOpen) openAt ??= time
    return payment.cost
  }
  for (const { asset, balance, timestamp, isOpening } of rows) {
    const was = held.get(asset)
    held.set(asset, { balance, since: timestamp })
    until = timestamp > until ? timestamp : until
    if (isOpening || was === undefined) continue
    if (gaps.some((gap) => gap.until > was.since && gap.since < timestamp)) continue
    let left = was.balance - balance
    const own = payments.filter((payment) => payment.asset === asset)
    const here = keyOf(asset, inMicros(timestamp))
    for (const payment of own) if (placeOf(payment) === here) left -= take(payment, timestamp)
    const loose = own
      .filter((payment) => (placeOf(payment) === undefined || payment.times > 1) && mayBe(payment, timestamp))
      .toSorted((a, b) => (a.cost > b.cost ? -1 : a.cost < b.cost ? 1 : 0))
    while (left > 0n && loose.length > 0) left -= take(takeBest(loose, left), timestamp)
    if (left > 0n) falls.push({ id: `debit ${timestamp} ${asset}`, kind: "fall", asset, amount: left, timestamp })
  }
  for (const id of [...used.keys()].slice(0, -usedMax)) used.delete(id)
  return { baseline: { until, held, used }, falls, openAt }
}

/**
 * Takes the cheapest payment that explains all that is left, else the dearest (they are sorted by cost): so of several
 * in one block none is used up that another block needs.
 */
const takeBest = (payments: Array<KnownPayment>, left: bigint): KnownPayment => {
  const enough = payments.findLastIndex(({ cost }) => cost >= left)
  return payments.splice(Math.max(0, enough), 1)[0]!
}
