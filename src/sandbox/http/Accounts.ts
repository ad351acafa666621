import { Effect } from "effect"
import { accountTypeNumbers } from "../../domain/Balance.ts"
import type { Account } from "../Ledger.ts"
import { enums, list, nodeError, ok, type Query, reads, refuseRequest, scalar } from "./Answer.ts"
import { byText, listedPage, readPaging } from "./Paging.ts"

const accountTypes = new Map(Object.entries(accountTypeNumbers))

const isOwner = (text: string): boolean => text === "network" || /^[0-9a-fA-F]{64}$/.test(text)

/** True if a text can be an asset's id: hex of any even length. */
export const isAssetId = (text: string): boolean => /^([0-9a-fA-F]{2})+$/.test(text)

/** The account filter of balance changes and accounts. Lists without values select all. */
export const readFilter = Effect.fnUntraced(function* (
  query: Query,
  badAsset: { readonly code: number; readonly message: string; readonly inner: string },
) {
  const types = new Set(yield* enums(query, "filter.account_types", accountTypes))
  const assetId = yield* scalar(query, "filter.asset_id")
  const markets = list(query, "filter.market_ids")
  const parties = list(query, "filter.party_ids")
  for (const [name, values] of [
    ["market", markets],
    ["party", parties],
  ] as const) {
    if (values.every(isOwner)) continue
    const inner = `one or more ${name} id is invalid`
    return yield* refuseRequest(nodeError("InvalidArgument", { code: 10_000, message: "invalid party id", inner }))
  }
  if (assetId !== undefined && assetId !== "" && !isAssetId(assetId)) {
    const inner = `${badAsset.inner}decoding '${assetId}': not a valid hex id (or well known exception)`
    return yield* refuseRequest(nodeError("InvalidArgument", { ...badAsset, inner }))
  }
  const asset = assetId === undefined || assetId === "" ? undefined : assetId.toLowerCase()
  const partySet = new Set(parties.map((party) => party.toLowerCase()))
  const marketSet = new Set(markets.map((market) => market.toLowerCase()))
  return (account: Account) =>
    (asset === undefined || account.asset.toLowerCase() === asset) &&
    (partySet.size === 0 || partySet.has(account.party)) &&
    (marketSet.size === 0 || marketSet.has(account.market)) &&
    (types.size === 0 || types.has(account.type))
})

const badAsset = { code: 80_006, message: "failed to get accounts", inner: "querying accounts: " }

const listing = byText("account_id", (account: Account) => account.id)

const nodeOf = (account: Account) => ({
  owner: account.party,
  balance: account.balance.toString(),
  asset: account.asset,
  marketId: account.market,
  type: account.type,
})

/** Current balances: one row for each account that was ever touched, also where nothing is left in it. */
export const accounts = reads("accounts", "/api/v2/accounts", function* (world, ask) {
  const isSelected = yield* readFilter(ask.query, badAsset)
  const paging = yield* readPaging(ask.query)
  const page = yield* world.node.read(({ ledger }) =>
    listedPage(ledger.accounts.values().filter(isSelected), paging, listing, nodeOf),
  )
  return ok({ accounts: page })
})
