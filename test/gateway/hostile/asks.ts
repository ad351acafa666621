import type { Effect } from "effect"
import type { GatewayError } from "../../../src/gateway/GatewayError.ts"
import { GatewayReader } from "../../../src/gateway/GatewayReader.ts"
import { GatewayWriter } from "../../../src/gateway/GatewayWriter.ts"
import type { Transport } from "../../../src/gateway/Transport.ts"
import { mark } from "../GatewayServer.ts"

/** What may stand in a field, as protobuf's JSON has it. */
export type Kind =
  | "amount"
  | "int64"
  | "height"
  | "time"
  | "uint32"
  | "uint"
  | "code"
  | "quantum"
  | "text"
  | "name"
  | "id"
  | "chainId"
  | "flag"
  | "enum"

export interface Field {
  /** Keys from the root of the answer, with dots. */
  readonly path: string
  readonly kind: Kind
  /** Its key in the value that the product makes of it. */
  readonly key: string
  /** What absence and null mean; undefined: it must be there. */
  readonly absent?: unknown
}

/** One operation of a gateway that the product reads. */
export interface Ask {
  readonly run: (transport: Transport) => Effect.Effect<unknown, GatewayError>
  /** A good answer. */
  readonly answer: object
  /** Its value, with other values in some fields. */
  readonly value: (fields: Readonly<Record<string, unknown>>) => unknown
  readonly fields: ReadonlyArray<Field>
}

export const key = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0"
const other = "c".repeat(64)
const id = "da389cd5f175cd475edb5ae958268382d75b81367e2aa10720a20dfa0ae278af"
export const time = 1_795_220_344_000_000_000n
const hour = 3_600_000_000_000n

const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: "c1", endCursor: "c1" }
/** The answer of a listing with one row. */
export const listing = (name: string, node: object) => ({ [name]: { edges: [{ node, cursor: "c1" }], pageInfo } })

const pageFields = (name: string): ReadonlyArray<Field> => [
  { path: `${name}.edges.0.cursor`, kind: "text", key: "cursor", absent: "" },
  { path: `${name}.pageInfo.hasNextPage`, kind: "flag", key: "hasNextPage", absent: false },
  { path: `${name}.pageInfo.hasPreviousPage`, kind: "flag", key: "hasPreviousPage", absent: false },
  { path: `${name}.pageInfo.startCursor`, kind: "text", key: "startCursor", absent: "" },
  { path: `${name}.pageInfo.endCursor`, kind: "text", key: "endCursor", absent: "" },
]

/** The value of a listing with one row; fields of the page are taken out of those of the row. */
const page =
  (row: object) =>
  (fields: Readonly<Record<string, unknown>>): unknown => {
    const { cursor = "c1", hasNextPage, hasPreviousPage, startCursor, endCursor, ...own } = fields
    const given = { hasNextPage, hasPreviousPage, startCursor, endCursor }
    const told = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    return { rows: [{ cursor, node: { ...row, ...own } }], pageInfo: { ...pageInfo, ...told }, mark }
  }

const fieldsOf = (at: string, fields: ReadonlyArray<readonly [string, Kind, string, unknown?]>): ReadonlyArray<Field> =>
  fields.map(([name, kind, own, absent]) => ({
    path: at === "" ? name : `${at}.${name}`,
    kind,
    key: own,
    ...(absent === undefined ? {} : { absent }),
  }))

const unspecified = "ACCOUNT_TYPE_UNSPECIFIED"

const balances: Ask = {
  run: (transport) => GatewayReader.make(transport).balanceChanges({ first: 1000 }),
  answer: listing("balances", {
    timestamp: String(time),
    balance: "25000000",
    partyId: key,
    assetId: other,
    marketId: "",
    accountType: "ACCOUNT_TYPE_GENERAL",
  }),
  value: page({
    timestamp: time,
    balance: 25_000_000n,
    party: key,
    asset: other,
    market: "",
    type: "ACCOUNT_TYPE_GENERAL",
  }),
  fields: [
    ...fieldsOf("balances.edges.0.node", [
      ["timestamp", "time", "timestamp"],
      ["balance", "amount", "balance"],
      ["partyId", "id", "party", ""],
      ["assetId", "id", "asset", ""],
      ["marketId", "id", "market", ""],
      ["accountType", "enum", "type", unspecified],
    ]),
    ...pageFields("balances"),
  ],
}

const accounts: Ask = {
  run: (transport) => GatewayReader.make(transport).accounts({ first: 1000 }),
  answer: listing("accounts", {
    owner: key,
    balance: "7",
    asset: other,
    marketId: "",
    type: "ACCOUNT_TYPE_GENERAL",
  }),
  value: page({ party: key, balance: 7n, asset: other, market: "", type: "ACCOUNT_TYPE_GENERAL" }),
  fields: [
    ...fieldsOf("accounts.edges.0.node", [
      ["owner", "id", "party", ""],
      ["balance", "amount", "balance"],
      ["asset", "id", "asset", ""],
      ["marketId", "id", "market", ""],
      ["type", "enum", "type", unspecified],
    ]),
    ...pageFields("accounts"),
  ],
}

const erc20 = { contractAddress: "0xab", lifetimeLimit: "5", withdrawThreshold: "1" }

const assets: Ask = {
  run: (transport) => GatewayReader.make(transport).assets({ first: 1000 }),
  answer: listing("assets", {
    id: other,
    details: { name: "Tether", symbol: "USDT", decimals: "6", quantum: "1000000", erc20 },
    status: "STATUS_ENABLED",
  }),
  value: page({
    id: other,
    name: "Tether",
    symbol: "USDT",
    decimals: 6,
    quantum: 1_000_000n,
    status: "STATUS_ENABLED",
    source: { kind: "erc20", ...erc20 },
  }),
  fields: [
    ...fieldsOf("assets.edges.0.node", [
      ["id", "name", "id"],
      ["details.name", "text", "name", ""],
      ["details.symbol", "text", "symbol", ""],
      ["details.decimals", "uint", "decimals", 0],
      ["details.quantum", "quantum", "quantum", 0n],
      ["status", "enum", "status", "STATUS_UNSPECIFIED"],
    ]),
    ...pageFields("assets"),
  ],
}

const head: Ask = {
  run: (transport) => GatewayReader.make(transport).head,
  answer: {
    height: "120",
    hash: id,
    spamPowHashFunction: "sha3_24_rounds",
    spamPowDifficulty: 15,
    spamPowNumberOfPastBlocks: 100,
    spamPowNumberOfTxPerBlock: 2,
    spamPowIncreasingDifficulty: false,
    chainId: "chain-1",
  },
  value: ({ height = 120n, chainId = "chain-1", ...pow }) => ({
    height,
    chainId,
    hash: id,
    pow: {
      hashFunction: "sha3_24_rounds",
      difficulty: 15,
      pastBlocks: 100,
      txPerBlock: 2,
      increasing: false,
      ...pow,
    },
  }),
  fields: fieldsOf("", [
    ["height", "height", "height"],
    ["chainId", "chainId", "chainId"],
    ["spamPowHashFunction", "text", "hashFunction", ""],
    ["spamPowDifficulty", "uint32", "difficulty", 0],
    ["spamPowNumberOfPastBlocks", "uint32", "pastBlocks", 0],
    ["spamPowNumberOfTxPerBlock", "uint32", "txPerBlock", 0],
    ["spamPowIncreasingDifficulty", "flag", "increasing", false],
  ]),
}

const sent = {
  id,
  from: key,
  fromAccountType: "ACCOUNT_TYPE_GENERAL",
  to: other,
  toAccountType: "ACCOUNT_TYPE_GENERAL",
  asset: other,
  reference: "r",
}
const wireTransfer = {
  transfer: { ...sent, amount: "5", status: "STATUS_DONE", timestamp: String(time), oneOff: { deliverOn: "0" } },
  fees: [{ transferId: id, amount: "3", epoch: "1" }],
}
const observed = { ...sent, amount: 5n, status: "done", timestamp: time, fees: 3n }

const transfer: Ask = {
  run: (transport) => GatewayReader.make(transport).transfer(id),
  answer: { transferNode: wireTransfer },
  value: (fields) => ({ found: { ...observed, ...fields }, mark, gateway: "g", agreed: true }),
  fields: [
    ...fieldsOf("transferNode.transfer", [
      ["from", "id", "from", ""],
      ["to", "id", "to", ""],
      ["fromAccountType", "enum", "fromAccountType", unspecified],
      ["toAccountType", "enum", "toAccountType", unspecified],
      ["asset", "id", "asset", ""],
      ["amount", "amount", "amount"],
      ["reference", "text", "reference", ""],
      ["timestamp", "time", "timestamp", 0n],
    ]),
    { path: "transferNode.fees.0.amount", kind: "amount", key: "fees" },
  ],
}

const transfers: Ask = {
  run: (transport) => GatewayReader.make(transport).transfersFrom(key),
  answer: listing("transfers", wireTransfer),
  value: ({ cursor = "c1", ...fields }) => ({
    transfers: [{ ...observed, ...fields }],
    complete: true,
    mark,
    cursor,
  }),
  fields: [
    ...fieldsOf("transfers.edges.0.node.transfer", [
      ["amount", "amount", "amount"],
      ["timestamp", "time", "timestamp", 0n],
      ["id", "name", "id"],
    ]),
  ],
}

const parameters: Ask = {
  run: (transport) => GatewayReader.make(transport).parameters,
  answer: listing("networkParameters", { key: "transfer.fee.factor", value: "0.001" }),
  value: ({ key: name = "transfer.fee.factor", value = "0.001" }) => new Map([[name, value]]),
  fields: fieldsOf("networkParameters.edges.0.node", [
    ["key", "name", "key"],
    ["value", "text", "value", ""],
  ]),
}

const ledger: Ask = {
  run: (transport) => GatewayReader.make(transport).sends(key, time, time + hour),
  answer: listing("ledgerEntries", {
    timestamp: String(time),
    quantity: "5",
    transferType: "TRANSFER_TYPE_TRANSFER_FUNDS_SEND",
    fromAccountPartyId: key,
    transferId: id,
  }),
  value: ({ transferId = id }) => ({
    counts: new Map([[transferId, 1]]),
    shown: new Set([transferId]),
    complete: true,
    mark,
  }),
  fields: fieldsOf("ledgerEntries.edges.0.node", [
    ["timestamp", "time", "unread"],
    ["quantity", "amount", "unread"],
    ["transferId", "id", "transferId", ""],
  ]),
}

const tx = {
  inputData: Uint8Array.of(8, 197),
  signature: "ab".repeat(64),
  pubKey: key,
  version: 3,
  pow: { tid: id, nonce: 7n },
}

const submit: Ask = {
  run: (transport) => GatewayWriter.make(transport).submit(tx),
  answer: { success: true, txHash: "AB".repeat(32), code: 0, data: "", log: "", height: "0" },
  value: (fields) => ({ success: true, txHash: "AB".repeat(32), code: 0, data: "", log: "", height: 0n, ...fields }),
  fields: fieldsOf("", [
    ["success", "flag", "success", false],
    ["txHash", "text", "txHash", ""],
    ["code", "code", "code", 0],
    ["data", "text", "data", ""],
    ["log", "text", "log", ""],
    ["height", "int64", "height", 0n],
  ]),
}

export const asks = { balances, accounts, assets, head, transfer, transfers, parameters, ledger, submit } as const
export type AskName = keyof typeof asks
export const askNames = Object.keys(asks) as ReadonlyArray<AskName>
