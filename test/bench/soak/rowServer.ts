import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assets, blockMillis, chainId, kinds, parties } from "./world.ts"

/**
 * A data node with a block each 250 ms that touches every account, in a process of its own: `rowServer.ts START`, Unix
 * milliseconds of block 1. Prints its port. It writes answers from prepared pieces, so that it is never what is slow.
 */
const start = Number(process.argv[2])
/** How long rows can be asked for. */
const keptBlocks = 1_200n

const cursor = (text: string): string => createHash("sha512").update(text).digest("base64").repeat(4).slice(0, 360)

const accounts = parties.flatMap((party) =>
  assets.flatMap((asset) =>
    kinds.map(({ type, market }, n) => {
      const tail = `"partyId":"${party}","assetId":"${asset}","marketId":"${market}","accountType":"${type}"}`
      return { party, asset, type, market, n: BigInt(n), tail: `${tail},"cursor":"${cursor(party + asset + n)}"}` }
    }),
  ),
)
type Account = (typeof accounts)[number]

const height = (): bigint => BigInt(Math.max(1, Math.floor((Date.now() - start) / blockMillis) + 1))
const timeOf = (block: bigint): bigint => (BigInt(start) + (block - 1n) * BigInt(blockMillis)) * 1_000_000n
const balanceOf = (account: Account, block: bigint): bigint => 1_000_000_000_000_000n + block * 7n + account.n

const isWanted = (query: URLSearchParams) => {
  const sets = (["partyIds", "accountTypes", "marketIds"] as const).map((key) => new Set(query.getAll(`filter.${key}`)))
  const [party, type, market] = sets as [Set<string>, Set<string>, Set<string>]
  const asset = query.get("filter.assetId") ?? ""
  const isIn = (set: ReadonlySet<string>, value: string) => set.size === 0 || set.has(value)
  return (a: Account) =>
    isIn(party, a.party) && isIn(type, a.type) && isIn(market, a.market) && (asset === "" || asset === a.asset)
}

/** The first block at or after a time. */
const blockAt = (time: bigint): bigint => {
  const step = BigInt(blockMillis) * 1_000_000n
  return (time - timeOf(1n) + step - 1n) / step + 1n
}

const larger = (a: bigint, b: bigint) => (a > b ? a : b)

const info = (more: boolean, end: string) =>
  `{"hasNextPage":${more},"hasPreviousPage":false,"startCursor":"","endCursor":"${end}"}`

const changes = (query: URLSearchParams, begun: bigint): string => {
  const first = Number(query.get("pagination.first") ?? 1_000)
  const wanted = accounts.filter(isWanted(query))
  const end = query.get("dateRange.endTimestamp")
  const rows: Array<string> = []
  const from = blockAt(BigInt(query.get("dateRange.startTimestamp") ?? 0))
  let more = false
  // The block begun is not committed: its rows come with the next.
  for (let block = larger(from, larger(1n, begun - keptBlocks)); block < begun && !more; block++) {
    const time = timeOf(block)
    if (end !== null && time >= BigInt(end)) break
    for (const account of wanted) {
      if (rows.length === first) {
        more = true
        break
      }
      rows.push(`{"node":{"timestamp":"${time}","balance":"${balanceOf(account, block)}",${account.tail}`)
    }
  }
  return `{"balances":{"edges":[${rows.join(",")}],"pageInfo":${info(more, "x")}}}`
}

const listing = (query: URLSearchParams, begun: bigint): string => {
  const from = Number(query.get("pagination.after") ?? 0)
  const until = from + Number(query.get("pagination.first") ?? 1_000)
  const wanted = accounts.filter(isWanted(query))
  const edges = wanted.slice(from, until).map((account) => {
    const { party, asset, market, type } = account
    const balance = String(balanceOf(account, begun - 1n))
    return JSON.stringify({ node: { owner: party, balance, asset, marketId: market, type }, cursor: "x" })
  })
  return `{"accounts":{"edges":[${edges.join(",")}],"pageInfo":${info(until < wanted.length, String(until))}}}`
}

const assetList = (): string => {
  const edges = assets.map((id, n) => ({
    cursor: id,
    node: {
      id,
      status: "STATUS_ENABLED",
      details: { name: `A${n}`, symbol: `A${n}`, decimals: "6", quantum: "1", builtinAsset: {} },
    },
  }))
  return `{"assets":{"edges":${JSON.stringify(edges)},"pageInfo":${info(false, "x")}}}`
}

const chain = (begun: bigint): string =>
  JSON.stringify({
    height: String(begun - 1n),
    hash: "ab".repeat(32),
    chainId,
    spamPowHashFunction: "sha3_24_rounds",
    spamPowDifficulty: 1,
    spamPowNumberOfPastBlocks: 100,
    spamPowNumberOfTxPerBlock: 2,
    spamPowIncreasingDifficulty: false,
  })

const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://node")
  const begun = height()
  const body =
    pathname === "/api/v2/balance/changes"
      ? changes(searchParams, begun)
      : pathname === "/api/v2/accounts"
        ? listing(searchParams, begun)
        : pathname === "/api/v2/assets"
          ? assetList()
          : pathname === "/blockchain/height"
            ? chain(begun)
            : undefined
  response.writeHead(body === undefined ? 501 : 200, {
    "content-type": "application/json",
    "x-block-height": String(begun),
    "x-block-timestamp": String(timeOf(begun)),
    "ratelimit-limit": "200",
    "ratelimit-remaining": "199",
    "ratelimit-reset": "1",
  })
  response.end(body ?? JSON.stringify({ code: 12, message: "no such operation", details: [] }))
})
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port))
