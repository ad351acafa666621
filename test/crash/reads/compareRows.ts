import { DatabaseSync } from "node:sqlite"

/** A row of balance history: time, asset, party, market and type, and what the account held. */
interface Row {
  readonly key: string
  readonly balance: string
}

/** What a store holds of the ledger's rows. */
export interface RowVerdict {
  /** Rows of the ledger. */
  readonly rows: number
  /** Rows that the store does not hold. */
  readonly missing: number
  /** Rows that it holds more often than once. */
  readonly duplicate: number
  /** Rows that the ledger does not have, or has with another balance. */
  readonly wrong: number
  /** The first few of them in words. */
  readonly examples: ReadonlyArray<string>
}

const examplesMax = 5

/** Compares rows of a store with those of the ledger. */
export const compareRows = (ledger: ReadonlyArray<Row>, stored: ReadonlyArray<Row>): RowVerdict => {
  const truth = new Map(ledger.map(({ key, balance }) => [key, balance]))
  const seen = new Set<string>()
  const examples: Array<string> = []
  const note = (word: string, { key, balance }: Row) => {
    if (examples.length < examplesMax) examples.push(`${word}: ${key} ${balance}`)
  }
  let duplicate = 0
  let wrong = 0
  for (const row of stored) {
    if (seen.has(row.key)) {
      duplicate++
      note("duplicate", row)
    } else if (truth.get(row.key) !== row.balance) {
      wrong++
      note("wrong", row)
    }
    seen.add(row.key)
  }
  const lost = ledger.filter(({ key }) => !seen.has(key))
  for (const row of lost) note("missing", row)
  return { rows: truth.size, missing: lost.length, duplicate, wrong, examples }
}

/** What is compared: rows of these parties after a block time, Unix nanoseconds. */
export interface Extent {
  readonly parties: ReadonlySet<string>
  readonly after: bigint
}

interface Written {
  readonly party: string
  readonly asset: string
  readonly market: string
  readonly type: string
  readonly time: bigint
  readonly balance: string
}

type Found = Record<string, unknown>

const rowsOf = (
  file: string,
  sql: string,
  { parties, after }: Extent,
  read: (found: Found) => ReadonlyArray<Written>,
) => {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const statement = db.prepare(sql)
    statement.setReadBigInts(true)
    return statement
      .all()
      .flatMap(read)
      .filter(({ party, time }) => parties.has(party) && time > after)
      .map(
        ({ time, asset, party, market, type, balance }): Row => ({
          key: [time, asset, party, market, type].join(" "),
          balance,
        }),
      )
  } finally {
    db.close()
  }
}

interface Big {
  readonly $big: string
}

/** The rows in the database of a network that has ended. */
export const rowsOfLedger = (file: string, extent: Extent): ReadonlyArray<Row> =>
  rowsOf(file, "SELECT body FROM deltas", extent, ({ body }) => {
    const { rows }: { rows: ReadonlyArray<{ account: Written; time: Big; balance: Big }> } = JSON.parse(String(body))
    return rows.map(({ account, time, balance }) => ({
      ...account,
      time: BigInt(time.$big),
      balance: balance.$big,
    }))
  })

/** The rows in the database of a daemon that has ended. */
export const rowsOfStore = (file: string, extent: Extent): ReadonlyArray<Row> =>
  rowsOf(file, "SELECT timestamp AS time, asset, party, market, type, balance FROM balance_rows", extent, (row) => {
    const text = (key: string) => String(row[key])
    const account = { asset: text("asset"), party: text("party"), market: text("market"), type: text("type") }
    return [{ ...account, time: BigInt(text("time")), balance: text("balance") }]
  })
