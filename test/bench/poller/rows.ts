import { createHash } from "node:crypto"

/** One block's rows as a data node writes them, and where the block stands. */
export interface PageBytes {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly rows: number
  /** Unix nanoseconds of the block begun: every row of the page is below it. */
  readonly begun: bigint
  readonly height: bigint
}

const hex64 = (text: string): string => createHash("sha256").update(text).digest("hex")
const names = (word: string, count: number) => Array.from({ length: count }, (_, n) => hex64(`${word} ${n}`))

export const parties = names("party", 250)
const assets = names("asset", 4)
const markets = ["", ...names("market", 2)]
const types = ["ACCOUNT_TYPE_GENERAL", "ACCOUNT_TYPE_MARGIN", "ACCOUNT_TYPE_BOND"]
/** Block time in nanoseconds. */
const block = 250_000_000n
const genesis = 1_795_220_000_000_000_000n

/** Each row is of another account than its neighbours, as in a block that settles many trades. */
const rowOf = (n: number, timestamp: bigint) => {
  const kind = Math.floor(n / 1_000) % types.length
  return {
    timestamp: String(timestamp),
    balance: String(1_000_000_000_000_000_000n + BigInt(n) * 1_000_003n),
    partyId: parties[n % parties.length]!,
    assetId: assets[Math.floor(n / parties.length) % assets.length]!,
    marketId: kind === 1 ? markets[1 + (n % 2)]! : "",
    accountType: types[kind]!,
  }
}

const cursorOf = (row: ReturnType<typeof rowOf>): string =>
  Buffer.from(
    JSON.stringify({
      vega_time: new Date(Number(BigInt(row.timestamp) / 1_000_000n)).toISOString(),
      AccountID: null,
      PartyID: row.partyId,
      AssetID: row.assetId,
      MarketID: row.marketId,
      AccountType: 4,
    }),
  ).toString("base64")

/** The rows of one block, in as many bytes as a data node needs for them. */
export const pageBytes = (height: number, rows: number): PageBytes => {
  const timestamp = genesis + BigInt(height) * block
  const edges = Array.from({ length: rows }, (_, i) => {
    const node = rowOf(height * rows + i, timestamp)
    return { node, cursor: cursorOf(node) }
  })
  const pageInfo = {
    hasNextPage: false,
    hasPreviousPage: false,
    startCursor: edges[0]?.cursor ?? "",
    endCursor: edges.at(-1)?.cursor ?? "",
  }
  const bytes = new TextEncoder().encode(JSON.stringify({ balances: { edges, pageInfo } }))
  return { bytes, rows, begun: timestamp + block, height: BigInt(height) }
}
