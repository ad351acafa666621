import type { Recorded } from "../support/Recordings.ts"

interface Connection<N> {
  readonly edges: ReadonlyArray<{ readonly cursor: string; readonly node: N }>
  readonly pageInfo: object
}
type Texts<K extends string> = { readonly [key in K]: string }
type ChangeNode = Texts<"timestamp" | "balance" | "partyId" | "assetId" | "marketId" | "accountType">
type AccountNode = Texts<"owner" | "balance" | "asset" | "marketId" | "type">
type AssetNode = Texts<"id" | "status"> & {
  readonly details: Texts<"name" | "symbol" | "decimals" | "quantum"> & {
    readonly erc20?: object
    readonly builtinAsset?: object
  }
}
interface TransferNode {
  readonly transfer: Texts<"id" | "from" | "fromAccountType" | "to" | "toAccountType" | "asset" | "amount"> &
    Texts<"reference" | "status" | "timestamp"> & { readonly reason?: string }
  readonly fees: ReadonlyArray<Texts<"amount">>
}
type Head = Texts<"chainId" | "height" | "hash" | "spamPowHashFunction"> & {
  readonly spamPowDifficulty: number
  readonly spamPowNumberOfPastBlocks: number
  readonly spamPowNumberOfTxPerBlock: number
  readonly spamPowIncreasingDifficulty: boolean
}

/** Recorded answers a second time, without the schemas of the program: each holds one of these. */
interface Body extends Head {
  readonly balances: Connection<ChangeNode>
  readonly accounts: Connection<AccountNode>
  readonly assets: Connection<AssetNode>
  readonly asset: AssetNode
  readonly transferNode: TransferNode
  readonly transfers: Connection<TransferNode>
  readonly networkParameters: Connection<Texts<"key" | "value">>
}

const page = <N>(connection: Connection<N>, mark: unknown, node: (json: N) => unknown) => ({
  rows: connection.edges.map((edge) => ({ cursor: edge.cursor, node: node(edge.node) })),
  pageInfo: { ...connection.pageInfo },
  mark,
})

const change = (n: ChangeNode) => ({
  timestamp: BigInt(n.timestamp),
  balance: BigInt(n.balance),
  party: n.partyId,
  asset: n.assetId,
  market: n.marketId,
  type: n.accountType,
})

const account = (n: AccountNode) => ({
  party: n.owner,
  balance: BigInt(n.balance),
  asset: n.asset,
  market: n.marketId,
  type: n.type,
})

const asset = (n: AssetNode) => {
  const { details } = n
  const { erc20, builtinAsset } = details
  return {
    id: n.id,
    name: details.name,
    symbol: details.symbol,
    decimals: Number(details.decimals),
    quantum: BigInt(details.quantum),
    status: n.status,
    source: erc20 !== undefined ? { kind: "erc20", ...erc20 } : { kind: "builtin", ...builtinAsset },
  }
}

const transfer = (n: TransferNode) => {
  const t = n.transfer
  return {
    id: t.id,
    from: t.from,
    fromAccountType: t.fromAccountType,
    to: t.to,
    toAccountType: t.toAccountType,
    asset: t.asset,
    amount: BigInt(t.amount),
    reference: t.reference,
    status: t.status.replace("STATUS_", "").toLowerCase(),
    timestamp: BigInt(t.timestamp),
    ...("reason" in t ? { reason: t.reason } : {}),
    fees: n.fees.map((fee) => BigInt(fee.amount)).reduce((a, b) => a + b, 0n),
  }
}

const head = (n: Head) => ({
  chainId: n.chainId,
  height: BigInt(n.height),
  hash: n.hash,
  pow: {
    hashFunction: n.spamPowHashFunction,
    difficulty: n.spamPowDifficulty,
    pastBlocks: n.spamPowNumberOfPastBlocks,
    txPerBlock: n.spamPowNumberOfTxPerBlock,
    increasing: n.spamPowIncreasingDifficulty,
  },
})

const blockMark = ({ headers }: Recorded) =>
  headers["X-Block-Height"] === undefined
    ? undefined
    : { height: BigInt(headers["X-Block-Height"]), timestamp: BigInt(headers["X-Block-Timestamp"]!) }

/** What a recorded answer of status 200 says, in the program's words. */
export const plainReading = (operation: string, recorded: Recorded): unknown => {
  const json: Body = JSON.parse(recorded.text)
  const mark = blockMark(recorded)
  switch (operation) {
    case "balances":
      return page(json.balances, mark, change)
    case "assets":
      return page(json.assets, mark, asset)
    case "asset":
      return { value: { asset: asset(json.asset) }, mark }
    case "accounts":
      return page(json.accounts, mark, account)
    case "height":
      return head(json)
    case "transfer":
      return { found: transfer(json.transferNode), mark, gateway: "recorded", agreed: true }
    case "transfers": {
      const { rows: edges, pageInfo } = page(json.transfers, mark, transfer)
      return { value: { transfers: { edges, pageInfo } }, mark }
    }
    case "parameters":
      return new Map(json.networkParameters.edges.map(({ node }) => [node.key, node.value]))
    case "submit":
      return { value: { ...json, height: BigInt(json.height) }, mark }
    default:
      throw new Error(`no plain reading of ${operation}`)
  }
}
