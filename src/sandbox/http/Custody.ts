import { Effect } from "effect"
import type { Deposit, Withdrawal } from "../Chain.ts"
import { formatTime, toMicros } from "../Time.ts"
import { nodeError, ok, refuse } from "./Answer.ts"
import { byTimeAndId } from "./byTimeAndId.ts"
import { edgesOf, invalidPagination, pageOf, readPaging } from "./Paging.ts"
import { int64, scalar } from "./Query.ts"
import type { Ask, Route } from "./Route.ts"

/** What the data node calls the reference: the second in which the withdrawal was asked for. */
const refOf = (time: bigint): string => String(time / 1_000_000_000n)

const withdrawalNode = (withdrawal: Withdrawal) => ({
  id: withdrawal.id,
  partyId: withdrawal.party,
  amount: withdrawal.amount.toString(),
  asset: withdrawal.asset,
  status: withdrawal.status,
  ref: refOf(withdrawal.time),
  txHash: "",
  createdTimestamp: toMicros(withdrawal.time).toString(),
  withdrawnTimestamp: "0",
  ext: withdrawal.receiver === "" ? {} : { erc20: { receiverAddress: withdrawal.receiver } },
})

const depositNode = (made: Deposit) => ({
  id: made.id,
  status: "STATUS_FINALIZED",
  partyId: made.party,
  asset: made.asset,
  amount: made.amount.toString(),
  txHash: "",
  creditedTimestamp: toMicros(made.credited).toString(),
  createdTimestamp: toMicros(made.created).toString(),
})

/** Which party and which time are asked for; a bound that is missing does not bind. */
const readWish = (ask: Ask) =>
  Effect.gen(function* () {
    const party = yield* scalar(ask.query, "party_id")
    const start = yield* int64(ask.query, "date_range.start_timestamp")
    const end = yield* int64(ask.query, "date_range.end_timestamp")
    const paging = yield* readPaging(ask.query, invalidPagination)
    const isMeant = (row: { readonly party: string }, time: bigint): boolean =>
      (party === undefined || party === "" || row.party === party) &&
      (start === undefined || time >= toMicros(start)) &&
      (end === undefined || time < toMicros(end))
    return { paging, isMeant }
  })

const withdrawalsBy = byTimeAndId((row: Withdrawal) => ({ time: formatTime(toMicros(row.time)), id: row.id }))

/** Withdrawals of a party, or of all, newest first. */
export const withdrawals: Route = {
  operation: "withdrawals",
  method: "GET",
  path: "/api/v2/withdrawals",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const { paging, isMeant } = yield* readWish(ask)
      const page = yield* world.node.read((chain) => {
        const rows = [...chain.withdrawals.values()].filter((row) => isMeant(row, toMicros(row.time)))
        return pageOf(withdrawalsBy.sorted(rows), paging, withdrawalsBy.listing)
      })
      return ok({ withdrawals: edgesOf(page, withdrawalsBy.listing.cursorOf, withdrawalNode) })
    }),
}

/** One withdrawal by its id: whether the money left, or was refused. */
export const withdrawal: Route = {
  operation: "withdrawal",
  method: "GET",
  path: "/api/v2/withdrawal/:id",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const id = (ask.params["id"] ?? "").toLowerCase()
      const found = yield* world.node.read((chain) => chain.withdrawals.get(id))
      if (found === undefined) {
        const detail = { code: 10_000, message: "no resource corresponding to this id", inner: "" }
        return yield* refuse(nodeError("NotFound", detail))
      }
      return ok({ withdrawal: withdrawalNode(found) })
    }),
}

const depositsBy = byTimeAndId((row: Deposit) => ({ time: formatTime(toMicros(row.credited)), id: row.id }))

/** Deposits of a party, or of all, newest first. */
export const deposits: Route = {
  operation: "deposits",
  method: "GET",
  path: "/api/v2/deposits",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const { paging, isMeant } = yield* readWish(ask)
      const page = yield* world.node.read((chain) => {
        const rows = [...chain.deposits.values()].filter((row) => isMeant(row, toMicros(row.credited)))
        return pageOf(depositsBy.sorted(rows), paging, depositsBy.listing)
      })
      return ok({ deposits: edgesOf(page, depositsBy.listing.cursorOf, depositNode) })
    }),
}
