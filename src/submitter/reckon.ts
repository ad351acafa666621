import type { GeneralRow, KnownPayment } from "../store/Debits.ts"

/** A general account that fell by more than payments explain. Amounts are base units, times Unix nanoseconds. */
export interface Debit {
  readonly asset: string
  readonly timestamp: bigint
  /** What the account held after it. */
  readonly balance: bigint
  /** What no payment explains of it. */
  readonly amount: bigint
}

/** How far a key's general accounts have been accounted for. */
export interface Accounted {
  /** Blocks up to here are not judged: the key was not watched. */
  readonly from: bigint
  /** Rows up to here are accounted for. */
  readonly until: bigint
  /** By asset: what was there then, and since when. */
  readonly held: ReadonlyMap<string, { readonly balance: bigint; readonly since: bigint }>
  /** How often each of the newest payments has explained a debit. */
  readonly used: ReadonlyMap<string, number>
}

/** What rows and payments come to. */
export interface Reckoning {
  readonly accounted: Accounted
  readonly debits: ReadonlyArray<Debit>
  /** Time of the first debit that a payment without an end explains; undefined where there is none. */
  readonly openAt: bigint | undefined
}

/** What a reckoning goes by: rows of general accounts and payments of one key, and times whose rows are lost. */
export interface Book {
  readonly rows: ReadonlyArray<GeneralRow>
  readonly payments: ReadonlyArray<KnownPayment>
  readonly gaps: ReadonlyArray<{ readonly since: bigint; readonly until: bigint }>
}

/** How far our clock and the ledger's are apart, at most. */
const apartNanos = 60_000_000_000n
/** Longer than the window of any payment that was sent. */
const openMillis = 900_000
/** Payments remembered as used: more than end between two looks. */
const usedMax = 500

const toMicros = (nanos: bigint): bigint => nanos - (nanos % 1_000n)
const keyOf = (asset: string, time: bigint): string => `${asset} ${time}`

/** Whether a payment may be in a block of this time although it names none, or another than any row has. */
export const mayBe = ({ createdAt, updatedAt, settledAt, times }: KnownPayment, time: bigint): boolean => {
  const latest = settledAt ?? BigInt(updatedAt + openMillis) * 1_000_000n
  return time >= BigInt(createdAt) * 1_000_000n - apartNanos && (times > 1 || time <= latest + apartNanos)
}

/**
 * Goes through rows, oldest first, and takes from each fall of a balance what payments explain: first those of that
 * very block, then any others of about that time, each as often as it executed. What comes in hides what goes out in
 * the same block, so a payment explains a smaller fall as well.
 */
export const reckon = (before: Accounted, { rows, payments, gaps }: Book): Reckoning => {
  const held = new Map(before.held)
  const used = new Map(before.used)
  const debits: Array<Debit> = []
  const places = new Set(rows.map(({ asset, timestamp }) => keyOf(asset, toMicros(timestamp))))
  const isTied = ({ asset, settledAt }: KnownPayment) =>
    settledAt !== undefined && places.has(keyOf(asset, toMicros(settledAt)))
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
    if (isOpening || was === undefined || timestamp <= before.from) continue
    if (gaps.some((gap) => gap.until > was.since && gap.since < timestamp)) continue
    let left = was.balance - balance
    const own = payments.filter((payment) => payment.asset === asset)
    for (const payment of own) {
      const isHere = isTied(payment) && toMicros(payment.settledAt!) === toMicros(timestamp)
      if (isHere) left -= take(payment, timestamp)
    }
    let loose = dearestFirst(
      own.filter((payment) => (!isTied(payment) || payment.times > 1) && mayBe(payment, timestamp)),
    )
    while (left > 0n && loose.length > 0) {
      const payment = bestFor(loose, left)
      loose = loose.filter((one) => one !== payment)
      left -= take(payment, timestamp)
    }
    if (left > 0n) debits.push({ asset, timestamp, balance, amount: left })
  }
  for (const id of used.keys()) {
    if (used.size <= usedMax) break
    used.delete(id)
  }
  return { accounted: { from: before.from, until, held, used }, debits, openAt }
}

const dearestFirst = (payments: ReadonlyArray<KnownPayment>): ReadonlyArray<KnownPayment> =>
  payments.toSorted((a, b) => (a.cost > b.cost ? -1 : a.cost < b.cost ? 1 : 0))

/**
 * Of payments, dearest first, the cheapest that explains all that is left, else the dearest: so of several in one block
 * none is used up that another block needs.
 */
const bestFor = (payments: ReadonlyArray<KnownPayment>, left: bigint): KnownPayment =>
  payments.findLast(({ cost }) => cost >= left) ?? payments[0]!
