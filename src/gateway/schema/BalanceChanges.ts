import { Effect, Schema, SchemaParser } from "effect"
import { parseBaseUnits } from "../../domain/Amount.ts"
import { accountTypeName, type BalanceChange } from "../../domain/Balance.ts"
import { isBlockTime } from "../../domain/chain.ts"
import { Amount, BlockTime, Connection, enumText, Id, idLengthMax, type PageInfo } from "./Numbers.ts"

/** The value of BalanceChangesAnswer. */
export interface BalanceChanges {
  readonly balances: {
    readonly edges: ReadonlyArray<{ readonly cursor: string; readonly node: BalanceChange }>
    readonly pageInfo: PageInfo
  }
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Fields that are absent or null have their default. */
const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : undefined

const isShort = (text: string): boolean => text.length <= idLengthMax

const idOf = (value: unknown): string | undefined => {
  const text = textOf(value)
  return text !== undefined && isShort(text) ? text : undefined
}

const flagOf = (value: unknown): boolean | undefined =>
  typeof value === "boolean" ? value : value === undefined || value === null ? false : undefined

const typeOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return isShort(value) ? value : undefined
  if (value === undefined || value === null) return accountTypeName(0)
  return Number.isSafeInteger(value) ? accountTypeName(value as number) : undefined
}

const digits = /^(0|[1-9][0-9]{0,18})$/

const timeOf = (value: unknown): bigint | undefined => {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0) ? BigInt(value) : undefined
  }
  if (typeof value !== "string" || !digits.test(value)) return undefined
  const time = BigInt(value)
  return isBlockTime(time) ? time : undefined
}

/** The rows of a block have one time: it is read once. */
const rowReader = () => {
  let lastText: unknown
  let lastTime: bigint | undefined
  return (node: unknown): BalanceChange | undefined => {
    if (!isFields(node)) return undefined
    const written = node["timestamp"]
    if (written !== lastText || typeof written !== "string") {
      lastTime = timeOf(written)
      lastText = written
    }
    const timestamp = lastTime
    const balance = typeof node["balance"] === "string" ? parseBaseUnits(node["balance"]) : undefined
    const party = idOf(node["partyId"])
    const asset = idOf(node["assetId"])
    const market = idOf(node["marketId"])
    const type = typeOf(node["accountType"])
    if (timestamp === undefined || balance === undefined || type === undefined) return undefined
    if (party === undefined || asset === undefined || market === undefined) return undefined
    return { timestamp, balance, party, asset, market, type }
  }
}

const pageInfoOf = (value: unknown): PageInfo | undefined => {
  if (!isFields(value)) return undefined
  const startCursor = textOf(value["startCursor"])
  const endCursor = textOf(value["endCursor"])
  const hasNextPage = flagOf(value["hasNextPage"])
  const hasPreviousPage = flagOf(value["hasPreviousPage"])
  if (startCursor === undefined || endCursor === undefined) return undefined
  if (hasNextPage === undefined || hasPreviousPage === undefined) return undefined
  return { startCursor, endCursor, hasNextPage, hasPreviousPage }
}

/**
 * Reads the answer as its schema does, at a third of the cost: this is the only listing that comes by the thousand in
 * each second. Undefined for all that the schema refuses: the schema then says why.
 */
export const readBalanceChanges = (answer: unknown): BalanceChanges | undefined => {
  const balances = isFields(answer) ? answer["balances"] : undefined
  if (!isFields(balances)) return undefined
  const pageInfo = pageInfoOf(balances["pageInfo"])
  const sent = balances["edges"] ?? []
  if (pageInfo === undefined || !Array.isArray(sent)) return undefined
  const readRow = rowReader()
  const edges: Array<{ readonly cursor: string; readonly node: BalanceChange }> = []
  for (const edge of sent as ReadonlyArray<unknown>) {
    if (!isFields(edge)) return undefined
    const cursor = textOf(edge["cursor"])
    const node = readRow(edge["node"])
    if (cursor === undefined || node === undefined) return undefined
    edges.push({ cursor, node })
  }
  return { balances: { edges, pageInfo } }
}

/** The type of an account by name; a number without a known name stays as text. */
export const AccountTypeText = enumText(accountTypeName)

/**
 * One row of history, as a BalanceChange. Time and balance must be there: no block has time 0 and no balance is empty
 * text. The other fields are absent where rows are not grouped by them; `marketId` is absent or "" without a market.
 */
export const BalanceRow = Schema.Struct({
  timestamp: BlockTime,
  balance: Amount,
  party: Id,
  asset: Id,
  market: Id,
  type: AccountTypeText,
}).pipe(Schema.encodeKeys({ party: "partyId", asset: "assetId", market: "marketId", type: "accountType" }))

/** The meaning of BalanceChangesAnswer. */
export const StrictBalanceChanges = Schema.Struct({ balances: Connection(BalanceRow) })

/** Answer of GET /api/v2/balance/changes. Decoded by hand for speed; the schema names the problem. */
export const BalanceChangesAnswer = Schema.declareConstructor<BalanceChanges, unknown>()([], () => {
  const strictly = SchemaParser.decodeUnknownEffect(StrictBalanceChanges)
  return (input, _, options) => {
    const read = readBalanceChanges(input)
    return read === undefined ? strictly(input, options) : Effect.succeed(read)
  }
})

/** One account and its balance now. The wire's names differ from those of the history: owner, asset, type. */
export const AccountRow = Schema.Struct({
  party: Id,
  balance: Amount,
  asset: Id,
  market: Id,
  type: AccountTypeText,
}).pipe(Schema.encodeKeys({ party: "owner", market: "marketId" }))
export type ReportedBalance = typeof AccountRow.Type

/** Answer of GET /api/v2/accounts. */
export const AccountsAnswer = Schema.Struct({ accounts: Connection(AccountRow) })
