import { DatabaseSync } from "node:sqlite"
import { isFinalIntent } from "../../src/domain/Intent.ts"
import { type Blocked, fee, outage, scarce, smallest, upgrades } from "./runYear.ts"
import type { Year } from "./Year.ts"
import {
  dayMillis,
  firstDay,
  keepDays,
  type Planned,
  payers,
  plannedOf,
  type YearPlan,
  yearDays,
  zurich,
} from "./YearWorld.ts"

/** The lines under which the store stays: bytes of the file in all, for each payment, and for each day. */
export const growth = { begin: 450_000, perPayment: 14_200, perDay: 200 }
/** Rows that a payment leaves for ever, at most, by table. */
const rowsPerPayment = { intents: 1, attempts: 1, spends: 1, executions: 1, sends: 1.2, evidence: 3.2, journal: 17 }
/** Entries of the journal besides those of payments: each start has a few. */
const otherEntries = 40
/** From the look at which a payout is due to its decision. */
const promptMillis = 120_000

export interface Payment {
  readonly id: string
  readonly rule: string
  readonly episode: number
  readonly state: string
  readonly created_at: number
  readonly transfer_id: string | null
}

/** From the beginning of an upgrade until all is as before it. */
const awayMillis = 3_600_000
export const timeText = (millis: number): string => new Date(millis).toISOString().slice(0, 16)

export const rowsOf = <Row>(db: DatabaseSync, sql: string, ...values: ReadonlyArray<number>): ReadonlyArray<Row> =>
  db.prepare(sql).all(...values) as unknown as Array<Row>
const countOf = (db: DatabaseSync, sql: string, ...values: ReadonlyArray<number>): number =>
  rowsOf<{ n: number }>(db, sql, ...values)[0]?.n ?? 0

export const paymentsOf = (db: DatabaseSync): ReadonlyArray<Payment> =>
  rowsOf<Payment>(
    db,
    "SELECT id, rule, episode, i.state, i.created_at, transfer_id FROM intents AS i LEFT JOIN attempts ON intent_id = id",
  )

/** What must hold once the year is over; `file` is the store that the ended daemon left. */
export const judgeYear = (year: Year, plan: YearPlan, file: string): ReadonlyArray<string> => {
  const db = new DatabaseSync(file)
  try {
    const payments = paymentsOf(db)
    return [
      ...year.wrong,
      ...judgePayments(year, payments),
      ...plannedOf(plan).flatMap((planned) => judgePayouts(year, planned, payments)),
      ...judgeEpochs(year),
      ...judgeHolds(year, db),
      ...judgeStore(db, payments.length),
    ]
  } finally {
    db.close()
  }
}

/** Each was signed once, is in one block, and nothing else is. */
export const judgePayments = (year: Year, payments: ReadonlyArray<Payment>): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const executed = year.network.chain.included.filter(({ party }) => payers.has(party))
  const times = new Map<string, number>()
  for (const { transferId, code } of executed) {
    times.set(transferId, (times.get(transferId) ?? 0) + 1)
    if (code !== 0) wrong.push(`a transaction failed in its block with code ${code}`)
  }
  for (const { id, state, transfer_id: transfer } of payments) {
    const name = `payment ${id.slice(0, 8)} (${state})`
    if (!isFinalIntent(state as Parameters<typeof isFinalIntent>[0])) wrong.push(`${name} never came to an end`)
    if (state !== "confirmed") wrong.push(`${name} was not made`)
    const n = times.get(transfer ?? "") ?? 0
    if (n !== 1) wrong.push(`${name} executed ${n} times`)
  }
  if (executed.length !== payments.length) wrong.push(`${executed.length} executed, ${payments.length} were decided`)
  return wrong
}

const isIn = ({ from, until, rules }: Blocked, rule: string, at: number): boolean =>
  rules.has(rule) && at >= from && at < until

/** Each planned time that has a look before the next one is paid once, at that look. */
const judgePayouts = (
  year: Year,
  { rule, time, isOn }: Planned,
  payments: ReadonlyArray<Payment>,
): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const own = payments.filter((payment) => payment.rule === rule)
  const looks = year.looks.filter((at) => ![fee, outage, smallest].some((block) => isIn(block, rule, at)))
  const days = Array.from({ length: yearDays + 1 }, (_, day) => new Date(firstDay + day * dayMillis).toISOString())
  const times = days
    .map((day) => day.slice(0, 10))
    .filter(isOn)
    .map((date) => zurich(date, time))
  const wanted = times.filter((at, i) => {
    const look = looks.find((one) => one >= at)
    return look !== undefined && look < (times[i + 1] ?? Number.POSITIVE_INFINITY)
  })
  const paid = own.map(({ episode }) => episode * 1_000).toSorted((a, b) => a - b)
  const text = (all: ReadonlyArray<number>) => all.map(timeText).join(" ")
  const missing = wanted.filter((at) => !paid.includes(at))
  const beyond = paid.filter((at, i) => !wanted.includes(at) || paid.indexOf(at) < i)
  if (missing.length > 0) wrong.push(`${rule} was not paid for ${text(missing)}`)
  if (beyond.length > 0) wrong.push(`${rule} was paid for ${text(beyond)} as well`)
  for (const { episode, created_at: at } of own) {
    const due = looks.find((look) => look >= episode * 1_000) ?? 0
    if (at - due > promptMillis && !isIn(scarce, rule, due))
      wrong.push(`${rule} of ${text([episode * 1_000])} came late, at ${text([at])}`)
  }
  return wrong
}

/** One epoch a day, and in none of them more than its limit. */
const judgeEpochs = ({ epochs, network }: Year): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  if (epochs.length < 365) wrong.push(`there were ${epochs.length} epochs`)
  for (const [i, { seq, firstBlock, limit }] of epochs.entries()) {
    const end = epochs[i + 1]?.firstBlock ?? Number.POSITIVE_INFINITY
    for (const party of payers) {
      const sent = network.chain.included.filter(
        (tx) => tx.party === party && tx.height >= firstBlock && tx.height < end,
      )
      if (sent.length > limit) wrong.push(`${sent.length} transfers in epoch ${seq}, which lets ${limit} through`)
    }
  }
  return wrong
}

/** What the network voted was seen without a halt, and people heard of what they asked for and of limits used alone. */
const judgeHolds = ({ holds }: Year, db: DatabaseSync): ReadonlyArray<string> => {
  const wanted = ["keep quota", "small too_small", "night fee", "keep fee"]
  const halts = rowsOf<{ reason: string; detail: string }>(db, "SELECT reason, detail FROM halts")
  const heard = rowsOf<{ kind: string; subject: string; detail: string; at: number }>(
    db,
    "SELECT kind, subject, detail, at FROM alerts WHERE NOT (kind = 'rule' AND subject = 'low') AND dedup NOT LIKE 'limit/%'",
  )
  // Rounds come once a day here: an account that is out of band at two of them counts as out of band for the day.
  const isAway = (at: number) => upgrades.some((from) => at >= from && at < from + awayMillis)
  const alerts = heard.filter(
    ({ kind, subject, at }) =>
      !((kind === "balances" || subject === "not compared") && isAway(at)) && subject !== "out of band",
  )
  return [
    ...wanted.filter((hold) => !holds.has(hold)).map((hold) => `nothing was held: ${hold}`),
    ...halts.map(({ reason, detail }) => `halted: ${reason}: ${detail}`),
    ...alerts.map(
      ({ kind, subject, detail, at }) => `people heard of ${kind} ${subject} at ${timeText(at)}: ${detail}`,
    ),
  ]
}

/** What is forgotten is gone, what is kept is there, and it is no more than the lines allow. */
const judgeStore = (db: DatabaseSync, payments: number): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const line = (what: string, found: number, most: number) => {
    if (found > most) wrong.push(`${what}: ${found}, at most ${most} are allowed`)
  }
  const cutoff = firstDay + (yearDays - keepDays - 2) * dayMillis
  // The newest older one of each account stays: the first movement after it is seen by comparison.
  const older = (table: string, key: ReadonlyArray<string>) =>
    countOf(
      db,
      `SELECT count(*) AS n FROM ${table} AS old WHERE EXISTS (SELECT 1 FROM ${table} AS newer
        WHERE newer.timestamp > old.timestamp AND newer.timestamp / 1000000 < ?
          AND ${key.map((column) => `newer.${column} = old.${column}`).join(" AND ")})`,
      cutoff,
    )
  line("old balance rows", older("changes", ["account"]), 0)
  line("old opening balances", older("openings", ["asset", "party", "market", "type"]), 0)
  line("old decisions", countOf(db, "SELECT count(*) AS n FROM decisions WHERE at < ?", cutoff), 0)
  const oldest = countOf(db, "SELECT min(timestamp) / 1000000 AS n FROM changes WHERE timestamp / 1000000 >= ?", cutoff)
  if (oldest > cutoff + 5 * dayMillis) wrong.push("balance rows are forgotten too early")
  if (countOf(db, "SELECT count(*) AS n FROM balances") < 5) wrong.push("balances are forgotten")
  for (const [table, rows] of Object.entries(rowsPerPayment)) {
    const more = table === "journal" ? otherEntries : 0
    line(`rows of ${table}`, countOf(db, `SELECT count(*) AS n FROM ${table}`), Math.ceil(rows * payments) + more)
  }
  line("rows of settings", countOf(db, "SELECT count(*) AS n FROM settings"), 30)
  const bytes = countOf(db, "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size")
  line("bytes of the store", bytes, growth.begin + growth.perPayment * payments + growth.perDay * yearDays)
  return wrong
}
