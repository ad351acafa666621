import type { Told } from "../support/wire.ts"
import { type FieldKind, falseValues, gone } from "./falseValues.ts"

type Json = Record<string, unknown>
const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** One lie about one field, wherever it stands in the answers of one operation. */
export interface Falsehood {
  /** Such as "height spamPowDifficulty: 2^32-1". */
  readonly name: string
  /** The operation whose answers it falsifies. */
  readonly operation: Operation
  /** Whether it is about answers to this request. */
  readonly concerns: (asked: { readonly method: string; readonly path: string }) => boolean
  /** The answer with the lie in it; the same answer where it has no such field. */
  readonly tell: (told: Told) => Told
}

/** What is asked for: path and method, without the query. */
const operations = {
  height: /^GET \/blockchain\/height$/,
  statistics: /^GET \/statistics$/,
  epoch: /^GET \/api\/v2\/epoch$/,
  spam: /^GET \/statistics\/spam\//,
  parameters: /^GET \/api\/v2\/network\/parameters$/,
  assets: /^GET \/api\/v2\/assets$/,
  accounts: /^GET \/api\/v2\/accounts$/,
  balanceChanges: /^GET \/api\/v2\/balance\/changes$/,
  transfer: /^GET \/api\/v2\/transfer\//,
  transfers: /^GET \/api\/v2\/transfers$/,
  withdrawal: /^GET \/api\/v2\/withdrawal\//,
  withdrawals: /^GET \/api\/v2\/withdrawals$/,
  ledger: /^GET \/api\/v2\/ledgerentry\/history$/,
  submit: /^POST \/transaction$/,
} as const
export type Operation = keyof typeof operations

/** What the money path reads of each answer. */
const fields: Readonly<Record<Operation, Readonly<Record<string, FieldKind>>>> = {
  height: {
    height: "height",
    hash: "hash",
    spamPowHashFunction: "word",
    spamPowDifficulty: "count",
    spamPowNumberOfPastBlocks: "count",
    spamPowNumberOfTxPerBlock: "count",
    spamPowIncreasingDifficulty: "flag",
    chainId: "word",
  },
  statistics: { epochSeq: "height", epochStartTime: "instant", epochExpiryTime: "instant" },
  epoch: { seq: "height", startTime: "time", expiryTime: "time" },
  spam: { epochSeq: "height", countForEpoch: "height", maxForEpoch: "height" },
  parameters: { key: "word", value: "amount", hasNextPage: "flag" },
  assets: { id: "id", decimals: "count", quantum: "amount", status: "word", symbol: "word", hasNextPage: "flag" },
  accounts: { owner: "id", balance: "amount", asset: "id", type: "word", hasNextPage: "flag" },
  balanceChanges: {
    timestamp: "time",
    balance: "amount",
    partyId: "id",
    assetId: "id",
    accountType: "word",
    hasNextPage: "flag",
    endCursor: "word",
  },
  transfer: { id: "id", status: "word", amount: "amount", from: "id", to: "id", asset: "id", timestamp: "time" },
  transfers: {
    id: "id",
    status: "word",
    amount: "amount",
    from: "id",
    to: "id",
    asset: "id",
    reference: "word",
    timestamp: "time",
    hasNextPage: "flag",
  },
  withdrawal: { id: "id", status: "word", amount: "amount", partyId: "id", createdTimestamp: "time" },
  withdrawals: { id: "id", status: "word", amount: "amount", partyId: "id", createdTimestamp: "time" },
  ledger: {
    timestamp: "time",
    quantity: "amount",
    transferType: "word",
    fromAccountPartyId: "id",
    assetId: "id",
    transferId: "id",
  },
  submit: { success: "flag", txHash: "hash", code: "code", data: "word", height: "height" },
}

/** Statuses of transfers that are words of the wire, and each a lie where another is true. */
const statuses = ["PENDING", "DONE", "REJECTED", "STOPPED", "CANCELLED"].map((word) => `STATUS_${word}`)

/** Fields of one answer whose values are told in each other's place. */
const swaps: ReadonlyArray<readonly [Operation, string, string]> = [
  ["height", "spamPowDifficulty", "spamPowNumberOfPastBlocks"],
  ["height", "spamPowNumberOfPastBlocks", "spamPowNumberOfTxPerBlock"],
  ["height", "height", "spamPowNumberOfPastBlocks"],
  ["height", "hash", "chainId"],
  ["spam", "countForEpoch", "maxForEpoch"],
  ["statistics", "epochStartTime", "epochExpiryTime"],
  ["accounts", "owner", "asset"],
  ["balanceChanges", "partyId", "assetId"],
  ["balanceChanges", "timestamp", "balance"],
  ["transfer", "from", "to"],
  ["transfers", "from", "to"],
  ["transfers", "id", "reference"],
  ["submit", "code", "height"],
]

/** Rows of a listing, as they are told. */
const rowLies: Readonly<Record<string, (rows: ReadonlyArray<unknown>) => ReadonlyArray<unknown>>> = {
  "no rows": () => [],
  "without the first row": (rows) => rows.slice(1),
  "without the last row": (rows) => rows.slice(0, -1),
  "each row twice": (rows) => rows.flatMap((row) => [row, row]),
  "rows backwards": (rows) => rows.toReversed(),
  "a row that is null": (rows) => [...rows, null],
}
const listings: ReadonlyArray<Operation> = [
  "parameters",
  "assets",
  "accounts",
  "balanceChanges",
  "transfers",
  "withdrawals",
  "ledger",
]
/** In each listing, the values of this field move on by a row: each row has its neighbour's. */
const shifted: ReadonlyArray<readonly [Operation, string]> = [
  ["parameters", "value"],
  ["assets", "id"],
  ["accounts", "balance"],
  ["accounts", "owner"],
  ["balanceChanges", "balance"],
  ["balanceChanges", "partyId"],
  ["transfers", "id"],
  ["transfers", "status"],
]

/** Changes every record of an answer. */
const eachRecord = (value: unknown, change: (record: Json) => Json): unknown => {
  if (Array.isArray(value)) return value.map((one) => eachRecord(one, change))
  if (!isRecord(value)) return value
  const inner = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, eachRecord(one, change)]))
  return change(inner)
}

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const concernsOf =
  (operation: Operation): Falsehood["concerns"] =>
  ({ method, path }) =>
    operations[operation].test(`${method} ${path}`)

const aboutBody = (operation: Operation, what: string, change: (json: unknown) => unknown): Falsehood => ({
  name: `${operation} ${what}`,
  operation,
  concerns: concernsOf(operation),
  tell: (told) => {
    const json = told.status === 200 ? parsed(told.body) : undefined
    if (json === undefined) return told
    const body = JSON.stringify(change(json))
    return body === JSON.stringify(json) ? told : { ...told, body }
  },
})

const aboutField = (operation: Operation, key: string, { name, of }: { name: string; of: (old: unknown) => unknown }) =>
  aboutBody(operation, `${key}: ${name}`, (json) =>
    eachRecord(json, (record) => {
      if (!(key in record)) return record
      const { [key]: old, ...rest } = record
      const value = of(old)
      return value === gone ? rest : { ...rest, [key]: value }
    }),
  )

const swapped = ([operation, a, b]: (typeof swaps)[number]) =>
  aboutBody(operation, `${a} and ${b} swapped`, (json) =>
    eachRecord(json, (record) => (a in record && b in record ? { ...record, [a]: record[b], [b]: record[a] } : record)),
  )

const aboutRows = (operation: Operation, what: string, of: (rows: ReadonlyArray<unknown>) => ReadonlyArray<unknown>) =>
  aboutBody(operation, what, (json) =>
    eachRecord(json, (record) => (Array.isArray(record["edges"]) ? { ...record, edges: of(record["edges"]) } : record)),
  )

const shift = ([operation, key]: (typeof shifted)[number]) =>
  aboutRows(operation, `${key}: shifted by a row`, (rows) => {
    const nodes = rows.map((row) => (isRecord(row) && isRecord(row["node"]) ? row["node"] : {}))
    const before = (i: number) => nodes[(i + nodes.length - 1) % nodes.length]?.[key]
    return rows.map((row, i) => (isRecord(row) ? { ...row, node: { ...nodes[i], [key]: before(i) } } : row))
  })

/** The headers by which a data node tells its block, on answers of any status. */
const headers: Readonly<Record<string, FieldKind>> = { "X-Block-Height": "height", "X-Block-Timestamp": "time" }

const aboutHeader = (operation: Operation, key: string, kind: FieldKind): ReadonlyArray<Falsehood> =>
  falseValues(kind)
    .filter(({ of }) => isOfHeader(of("1")))
    .map(({ name, of }) => ({
      name: `${operation} ${key}: ${name}`,
      operation,
      concerns: concernsOf(operation),
      tell: (told) => {
        const { [key]: old, ...rest } = told.headers
        if (old === undefined) return told
        const value = of(old)
        if (String(value) === old) return told
        return { ...told, headers: value === gone ? rest : { ...rest, [key]: String(value) } }
      },
    }))

/** Headers are text or not there. */
const isOfHeader = (value: unknown): boolean => value === gone || typeof value === "string" || typeof value === "number"

/** Instead of the whole answer. */
const wholes: Readonly<Record<string, Pick<Told, "status" | "body">>> = {
  "not found": { status: 404, body: JSON.stringify({ code: 5, message: "NotFound error", details: [] }) },
  "an error": { status: 500, body: JSON.stringify({ code: 13, message: "Internal error", details: [] }) },
  "an empty object": { status: 200, body: "{}" },
  "a list": { status: 200, body: "[]" },
  null: { status: 200, body: "null" },
  "no body": { status: 200, body: "" },
  "deeply nested": { status: 200, body: `${"[".repeat(20_000)}${"]".repeat(20_000)}` },
}

const aboutWhole = (operation: Operation): ReadonlyArray<Falsehood> =>
  Object.entries(wholes).map(([what, whole]) => ({
    name: `${operation} answer: ${what}`,
    operation,
    concerns: concernsOf(operation),
    tell: (told) => ({ ...told, ...whole }),
  }))

const isListing = (operation: Operation): boolean => listings.includes(operation)

/** Every lie about every field that the money path reads. */
export const falsehoods: ReadonlyArray<Falsehood> = (Object.keys(operations) as ReadonlyArray<Operation>).flatMap(
  (operation) => [
    ...Object.entries(fields[operation]).flatMap(([key, kind]) =>
      falseValues(kind).map((value) => aboutField(operation, key, value)),
    ),
    ...(operation === "transfer" || operation === "transfers"
      ? statuses.map((word) => aboutField(operation, "status", { name: word, of: () => word }))
      : []),
    ...swaps.filter(([of]) => of === operation).map(swapped),
    ...shifted.filter(([of]) => of === operation).map(shift),
    ...(isListing(operation)
      ? Object.entries(rowLies).map(([what, of]) => aboutRows(operation, `rows: ${what}`, of))
      : []),
    ...(isListing(operation) || operation === "transfer" || operation === "withdrawal"
      ? Object.entries(headers).flatMap(([key, kind]) => aboutHeader(operation, key, kind))
      : []),
    ...aboutWhole(operation),
  ],
)
