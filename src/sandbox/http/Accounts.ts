import { Effect } from "effect"
import type { Account } from "../Ledger.ts"
import { ok } from "./Answer.ts"
import { readFilter } from "./Filter.ts"
import { cursorField, edgesOf, invalidPagination, type Listing, pageOf, readPaging, toCursor } from "./Paging.ts"
import type { Route } from "./Route.ts"

const badAsset = { code: 80_006, message: "failed to get accounts", inner: "querying accounts: " }

const cursorOf = (account: Account): string => toCursor({ account_id: account.id })

const listing: Listing<Account> = {
  cursorOf,
  keyOf: (account) => account.id,
  keyOfCursor: (decoded) => cursorField(decoded, "account_id"),
}

/** Current balances: one row for each account that was ever touched, also where nothing is left in it. */
export const accounts: Route = {
  operation: "accounts",
  method: "GET",
  path: "/api/v2/accounts",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const meant = yield* readFilter(ask.query, world.profile, badAsset)
      const paging = yield* readPaging(ask.query, invalidPagination)
      const answer = yield* world.node.read((chain) => {
        const rows = [...chain.ledger.accounts.values()].filter(meant).sort((a, b) => (a.id < b.id ? -1 : 1))
        return edgesOf(pageOf(rows, paging, listing), cursorOf, (account) => ({
          owner: account.party,
          balance: account.balance.toString(),
          asset: account.asset,
          marketId: account.market,
          type: account.type,
        }))
      })
      return ok({ accounts: answer })
    }),
}
