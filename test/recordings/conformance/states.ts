import { readFileSync } from "node:fs"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import { readTransaction } from "../../../src/sandbox/http/Submit.ts"
import { txHash } from "../../../src/tx/Transaction.ts"
import type { NetworkState } from "./NetworkState.ts"

/**
 * States of the recorded network at three moments, put together from its own answers: what a page told is taken as it
 * stands, and what commands changed meanwhile is taken back.
 */

// biome-ignore lint/suspicious/noExplicitAny: recorded answers are taken as they stand
type Json = Record<string, any>

const data = <A = Json>(file: string): ReadonlyArray<A> =>
  JSON.parse(readFileSync(new URL(`../data/${file}.json`, import.meta.url), "utf8"))

const submissions = data("submissions")
const commands = data("commands")
const pages = data("pages")
const commandPages = data("command-pages")

export const alice = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0"
export const bob = "988eae323a07f12363c17025c23ee58ea32ac3912398e16bb0b56969f57adc52"
export const carol = "ff5caca031c9d6f235b327c9d9904886ea3c66be2688fc767dbbf1ddfb52a287"
const usdt = "bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba"
const general = "ACCOUNT_TYPE_GENERAL"

const page = (file: ReadonlyArray<Json>, name: string): Json => {
  const found = file.find((entry) => entry["name"] === name)
  if (found === undefined) throw new Error(`no page "${name}"`)
  return found["body"]
}

const nodesOf = (listing: Json): ReadonlyArray<Json> => listing["edges"].map((edge: Json) => edge["node"])

const bigOf = (text: unknown): bigint => BigInt(String(text))

const parameters = Object.fromEntries(
  nodesOf(page(commandPages, "network parameters")["networkParameters"]).map((node) => [node["key"], node["value"]]),
)

const assetsOf = (listing: Json): NonNullable<NetworkState["assets"]> =>
  nodesOf(listing).map(({ id, details, status }) => ({
    id,
    name: details["name"],
    symbol: details["symbol"],
    decimals: Number(details["decimals"]),
    quantum: bigOf(details["quantum"]),
    source:
      details["erc20"] === undefined
        ? { kind: "builtin" as const, maxFaucetAmountMint: details["builtinAsset"]["maxFaucetAmountMint"] }
        : { kind: "erc20" as const, chainId: "1440", ...details["erc20"] },
    status,
  }))

/** Block hashes that the recorder saw, by height; those that it did not see are made of the height alone. */
const hashesOf = (heads: ReadonlyArray<Json>, upTo: number): Record<string, string> => {
  const hashes: Record<string, string> = {}
  for (let height = Math.max(1, upTo - 110); height <= upTo; height++) {
    hashes[height] = height.toString(16).padStart(64, "0")
  }
  for (const head of heads) hashes[head["height"]] = head["hash"]
  return hashes
}

const submittedHeads = [
  submissions[0]!["response"]["body"],
  ...submissions.flatMap((entry) => (entry["meta"]?.["height"] === undefined ? [] : [entry["meta"]["height"]])),
]

/** One deposit of each built-in asset for each of three parties: what the network began with. */
const firstBalances = [alice, bob, carol].flatMap((party) =>
  page(pages, "balances oldest first")["balances"]["edges"].map(({ node }: Json) => ({
    asset: node["assetId"],
    party,
    market: "",
    type: general,
    balance: bigOf(node["balance"]),
  })),
) as NonNullable<NetworkState["accounts"]>

const genesisTime = 1_795_219_454_404_433_713n

/** Before the first submission. */
export const beforeSubmissions = (): NetworkState => ({
  chainId: "vega-ref-tm",
  height: 25,
  time: 1_795_219_469_239_988_525n,
  genesisTime,
  parameters,
  epoch: { seq: 1, startTime: genesisTime, firstBlock: 1 },
  hashes: hashesOf(submittedHeads, 25),
  assets: assetsOf(page(pages, "assets")["assets"]),
  accounts: firstBalances,
})

/** When the pages were read: after the submissions, with the history that any page shows. */
export const atPages = (): NetworkState => {
  const nodes = pages.flatMap((entry) => {
    const listing = entry["body"]["balances"]
    return listing === undefined ? [] : nodesOf(listing)
  })
  const changes = new Map(
    nodes.map((node) => [
      [node["timestamp"], node["partyId"], node["assetId"], node["accountType"]].join(),
      {
        time: bigOf(node["timestamp"]),
        asset: node["assetId"],
        party: node["partyId"],
        market: node["marketId"],
        type: node["accountType"],
        balance: bigOf(node["balance"]),
      },
    ]),
  )
  const newest = new Map(
    [...changes.values()]
      .sort((a, b) => (a.time < b.time ? -1 : 1))
      .map((change) => [[change.party, change.asset, change.type].join(), change]),
  )
  const time = bigOf(pages[0]!["headers"]["X-Block-Timestamp"])
  const spam = page(pages, "core spam statistics")["statistics"]
  const states: ReadonlyArray<Json> = spam["pow"]["blockStates"]
  const heads = states.map((state) => ({ height: state["blockHeight"], hash: state["blockHash"] }))
  return {
    ...beforeSubmissions(),
    height: 78,
    time: time + 48n,
    hashes: hashesOf([...submittedHeads, ...heads], 78),
    epoch: {
      seq: 1,
      startTime: genesisTime,
      firstBlock: 1,
      transfers: { [alice]: Number(spam["transfers"]["countForEpoch"]) },
    },
    changes: [...changes.values()],
    accounts: [...newest.values()].map(({ time: _, ...account }) => account),
    transactions: includedSubmissions(),
  }
}

/** The bytes of a submission; of one the recorder kept the request alone. */
const bytesOf = (entry: Json): Uint8Array => {
  if (typeof entry["tx_bytes"] === "string") return hexToBytes(entry["tx_bytes"])
  const request = entry["response"]["request"]
  return typeof request?.["tx"] === "object"
    ? (Effect.runSync(Effect.orDie(readTransaction(JSON.stringify(request)))) ?? new Uint8Array())
    : new Uint8Array()
}

/** Transactions that stand in a block: where the recorder found them, or the explorer's listing shows them. */
const includedSubmissions = (): NonNullable<NetworkState["transactions"]> => {
  const shown: ReadonlyArray<Json> = page(pages, "explorer newest")["transactions"]
  const seen = new Set<string>()
  return submissions
    .flatMap((entry) => {
      const bytes = bytesOf(entry)
      const hash = txHash(bytes)
      const listed = shown.find((tx) => tx["hash"].toLowerCase() === hash)
      if (listed === undefined || seen.has(hash)) return []
      seen.add(hash)
      return [
        {
          bytes: bytesToHex(bytes),
          height: Number(listed["block"]),
          index: Number(listed["index"]),
          // The explorer cuts times to seconds.
          time: BigInt(Date.parse(listed["createdAt"])) * 1_000_000n,
          code: Number(listed["code"]),
          error: String(listed["error"] ?? ""),
        },
      ]
    })
    .sort((a, b) => a.height - b.height)
}

const paid = { oneOff: 5_000_000n, delayed: 6_000_000n, withdrawn: 100_000_000n, toTreasury: 8_000_000n }
const fee = (amount: bigint): bigint => amount / 1_000n

/** What the commands changed, by owner and type of a USDT account. */
const effects = new Map<string, bigint>([
  [`${alice} ${general}`, -paid.oneOff - fee(paid.oneOff) - paid.delayed - fee(paid.delayed)],
  [`${bob} ${general}`, paid.oneOff + paid.delayed],
  [`${carol} ${general}`, -paid.withdrawn - paid.toTreasury - fee(paid.toTreasury)],
  ["network ACCOUNT_TYPE_FEES_INFRASTRUCTURE", fee(paid.oneOff) + fee(paid.delayed) + fee(paid.toTreasury)],
  ["network ACCOUNT_TYPE_NETWORK_TREASURY", paid.toTreasury],
])

const commandIds = new Set(commands.map((entry) => String(entry["transferId"])))

/** Before the first of the commands. */
export const beforeCommands = (): NetworkState => {
  const epoch = page(commandPages, "epoch")["epoch"]
  const accounts = nodesOf(page(commandPages, "accounts all")["accounts"]).map((node) => {
    const effect = node["asset"] === usdt ? (effects.get(`${node["owner"]} ${node["type"]}`) ?? 0n) : 0n
    return {
      asset: node["asset"],
      party: node["owner"],
      market: node["marketId"],
      type: node["type"],
      balance: bigOf(node["balance"]) - effect,
    }
  })
  return {
    chainId: "vega-ref-tm",
    height: 1662,
    time: 1_795_221_045_700_000_000n,
    genesisTime: 1_795_220_200_000_000_000n,
    parameters,
    epoch: {
      seq: Number(epoch["seq"]) - 1,
      startTime: bigOf(epoch["timestamps"]["startTime"]) - 60_300_000_000n,
      firstBlock: 1_577,
    },
    hashes: hashesOf(
      commands.map((entry) => entry["height"]),
      1_662,
    ),
    assets: assetsOf(page(commandPages, "assets")["assets"]),
    accounts,
    movements: nodesOf(page(commandPages, "ledger entries")["ledgerEntries"])
      .filter((node) => bigOf(node["timestamp"]) < 1_795_221_045_700_000_000n)
      .map((node) => ({
        time: bigOf(node["timestamp"]),
        blockTime: bigOf(node["timestamp"]),
        type: node["transferType"],
        amount: bigOf(node["quantity"]),
        from: nameOf(node, "from"),
        to: nameOf(node, "to"),
        fromBalance: bigOf(node["fromAccountBalance"]),
        toBalance: bigOf(node["toAccountBalance"]),
        transferId: node["transferId"],
      }))
      .flatMap(andOneMore((movement) => ({ ...movement, time: movement.time - 2_000n }))),
    transfers: nodesOf(page(commandPages, "transfers from")["transfers"])
      .filter((node) => !commandIds.has(node["transfer"]["id"]))
      .map(({ transfer, fees }) => ({
        id: transfer["id"],
        from: transfer["from"],
        fromAccountType: transfer["fromAccountType"],
        to: transfer["to"],
        toAccountType: transfer["toAccountType"],
        asset: transfer["asset"],
        amount: bigOf(transfer["amount"]),
        reference: transfer["reference"],
        kind: { _tag: "oneOff" as const, deliverOn: bigOf(transfer["oneOff"]["deliverOn"]) },
        fees: fees.map((paidFee: Json) => ({ epoch: Number(paidFee["epoch"]), amount: bigOf(paidFee["amount"]) })),
        status: transfer["status"],
        time: bigOf(transfer["timestamp"]),
        reason: "",
        open: false,
      }))
      .flatMap(andOneMore((transfer) => ({ ...transfer, id: "0".repeat(64), time: transfer.time - 1_000n }))),
  }
}

/** A page says that older rows follow: one made of its last row stands for them. */
const andOneMore =
  <Row>(older: (last: Row) => Row) =>
  (row: Row, n: number, all: ReadonlyArray<Row>): ReadonlyArray<Row> =>
    n < all.length - 1 ? [row] : [row, older(row)]

const nameOf = (node: Json, side: "from" | "to") => ({
  asset: node["assetId"],
  party: node[`${side}AccountPartyId`],
  market: node[`${side}AccountMarketId`] ?? "",
  type: node[`${side}AccountType`],
})
