import { Effect } from "effect"
import { type AccountTypeName, accountTypeNumbers } from "../../../domain/AccountType.ts"
import type { News } from "../../Bus.ts"
import type { Included } from "../../Chain.ts"
import type { Account } from "../../Ledger.ts"
import { terse } from "../Printer.ts"
import { bool, enums, list, scalar } from "../Query.ts"
import { movementJson, resultJson } from "./eventJson.ts"
import { follow, type Line, pack, type StreamRoute } from "./StreamRoute.ts"

const sayAll = (line: Line, messages: ReadonlyArray<string>) => Effect.forEach(messages, line.say, { discard: true })

const nothing = (): undefined => undefined

/** What became of each transaction in a block, by sender, hash (lower case, exact) and outcome. No old ones. */
const transactionResults: StreamRoute = {
  path: "/api/v2/stream/transaction-results",
  plain: true,
  open: (world, { query }) =>
    Effect.gen(function* () {
      const parties = list(query, "party_ids")
      const hashes = list(query, "hashes")
      const done = yield* bool(query, "status")
      const isMeant = ({ party, hash, code }: Included): boolean =>
        (parties.length === 0 || parties.includes(party)) &&
        (hashes.length === 0 || hashes.includes(hash)) &&
        (done === undefined || done === (code === 0))
      const messagesOf = ({ included }: News) =>
        pack(
          included
            .filter(isMeant)
            .map((result) => JSON.stringify(resultJson(result, { print: terse, profile: world.profile }))),
        ).map((results) => `{"result":{"transactionResults":[${results}]}}`)
      return (line) =>
        follow(world, nothing, (_, next) =>
          Effect.forever(Effect.flatMap(next, (news) => sayAll(line, messagesOf(news)))),
        )
    }),
}

const accountTypes = new Map(Object.entries(accountTypeNumbers) as Array<[AccountTypeName, number]>)

const balanceText = ({ party, asset, market, type }: Account, balance: bigint): string =>
  JSON.stringify({
    owner: party,
    balance: balance.toString(),
    asset,
    marketId: terse.text(market),
    type: terse.choice(type, accountTypeNumbers[type]),
  })

/** Accounts in one message. */
const pageSize = 50

const pagesOf = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const pages: Array<string> = []
  for (let at = 0; at < texts.length; at += pageSize) pages.push(texts.slice(at, at + pageSize).join(","))
  return pages
}

/** A snapshot in pages; one without accounts is a last page all the same. */
const snapshotOf = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const pages = pagesOf(texts)
  if (pages.length === 0) return ['{"result":{"snapshot":{"lastPage":true}}}']
  const last = pages.length - 1
  return pages.map((page, n) => `{"result":{"snapshot":{"accounts":[${page}]${n === last ? ',"lastPage":true' : ""}}}}`)
}

/** What accounts hold, then what those that a block touched hold after it. */
const accounts: StreamRoute = {
  path: "/api/v2/stream/accounts",
  plain: true,
  open: (world, { query }) =>
    Effect.gen(function* () {
      const party = (yield* scalar(query, "party_id")) ?? ""
      const asset = (yield* scalar(query, "asset")) ?? ""
      const market = (yield* scalar(query, "market_id")) ?? ""
      const type = (yield* enums(query, "type", accountTypes))[0] ?? "ACCOUNT_TYPE_UNSPECIFIED"
      const isMeant = (account: Account): boolean =>
        (party === "" || account.party === party) &&
        (asset === "" || account.asset === asset) &&
        (market === "" || account.market === market) &&
        (type === "ACCOUNT_TYPE_UNSPECIFIED" || account.type === type)
      const messagesOf = ({ rows }: News) =>
        pagesOf(
          rows.filter(({ account }) => isMeant(account)).map(({ account, balance }) => balanceText(account, balance)),
        ).map((page) => `{"result":{"updates":{"accounts":[${page}]}}}`)
      return (line) =>
        follow(
          world,
          ({ ledger }) => {
            const meant = [...ledger.accounts.values()].filter(isMeant).sort((a, b) => (a.id < b.id ? -1 : 1))
            return meant.map((account) => balanceText(account, account.balance))
          },
          (held, next) =>
            Effect.andThen(
              sayAll(line, snapshotOf(held)),
              Effect.forever(Effect.flatMap(next, (news) => sayAll(line, messagesOf(news)))),
            ),
        )
    }),
}

/** Every movement of money, one a message. */
const ledgerMovements: StreamRoute = {
  path: "/api/v2/stream/ledger/movements",
  plain: true,
  open: (world) => {
    const messagesOf = ({ movements, time }: News) =>
      movements.map((movement) => {
        const ledgerMovement = movementJson(movement, time, { print: terse, profile: world.profile })
        return JSON.stringify({ result: { ledgerMovement } })
      })
    return Effect.succeed((line) =>
      follow(world, nothing, (_, next) =>
        Effect.forever(Effect.flatMap(next, (news) => sayAll(line, messagesOf(news)))),
      ),
    )
  },
}

export const listings: ReadonlyArray<StreamRoute> = [transactionResults, accounts, ledgerMovements]
