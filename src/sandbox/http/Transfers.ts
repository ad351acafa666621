import { Effect } from "effect"
import type { Chain, Transfer, Withdrawal } from "../Chain.ts"
import { formatFraction, parseFactor } from "../Fraction.ts"
import { formatTime, parseTime, toMicros } from "../Ledger.ts"
import { enums, nodeError, ok, type RouteRequest, reads, refuseRequest, scalar, type World } from "./Answer.ts"
import { cursorField, type Listing, listedPage, readPaging, toCursor } from "./Paging.ts"

interface Timed {
  readonly id: string
  /** Block time of the latest version, Unix nanoseconds. */
  readonly time: bigint
}

const keyOf = ({ time, id }: Timed): string => `${String(time).padStart(20, "0")} ${id}`

/** Rows in the order of the time of their latest version, then of their ids; their cursors hold both. */
const byTimeAndId: Listing<Timed> = {
  keyOf: ({ time, id }) => keyOf({ time: toMicros(time), id }),
  cursorOf: ({ time, id }) => toCursor({ vegaTime: formatTime(toMicros(time)), id }),
  keyOfCursor: (decoded) => {
    const time = parseTime(cursorField(decoded, "vegaTime") ?? "")
    const id = cursorField(decoded, "id")
    return time === undefined || id === undefined ? undefined : keyOf({ time, id })
  },
}

const directions = new Map([
  ["TRANSFER_DIRECTION_UNSPECIFIED", 0],
  ["TRANSFER_DIRECTION_TRANSFER_FROM", 1],
])

/** Rows of a page where the request has no `pagination.*` parameter: fewer than in the other listings. */
const pageDefault = 50

/** Transfers that a party sent, or all of them; each at the time of its latest version. */
export const transfers = reads("transfers", "/api/v2/transfers", function* (world, ask) {
  const pubkey = yield* scalar(ask.query, "pubkey")
  const direction = (yield* enums(ask.query, "direction", directions))[0] ?? "TRANSFER_DIRECTION_UNSPECIFIED"
  if (pubkey !== undefined && pubkey !== "" && direction === "TRANSFER_DIRECTION_UNSPECIFIED") {
    const inner = `pubkey: ${pubkey}: unknown transfer direction: ${direction}`
    const detail = { code: 220_001, message: "failed to get transfer", inner }
    return yield* refuseRequest(nodeError("Internal", detail))
  }
  const read = yield* readPaging(ask.query)
  const paged = [...ask.query.keys()].some((name) => name.startsWith("pagination."))
  const paging = paged ? read : { ...read, limit: pageDefault }
  const page = yield* world.node.read((chain) => {
    const rows = chain.transfers.values().filter(({ from }) => !pubkey || from === pubkey)
    return listedPage(rows, paging, byTimeAndId, nodeOf)
  })
  return ok({ transfers: page })
})

/** The row whose id is in the path. */
const foundById = <Row>(world: World, ask: RouteRequest, rows: (chain: Chain) => ReadonlyMap<string, Row>) => {
  const id = (ask.params["id"] ?? "").toLowerCase()
  const detail = { code: 10_000, message: "no resource corresponding to this id", inner: "" }
  return Effect.filterOrElse(
    world.node.read((chain) => rows(chain).get(id)),
    (found) => found !== undefined,
    () => refuseRequest(nodeError("NotFound", detail)),
  )
}

/** One transfer by its id: whether the network executed it, or why not. */
export const transfer = reads("transfer", "/api/v2/transfer/:id", function* (world, ask) {
  return ok({ transferNode: nodeOf(yield* foundById(world, ask, (chain) => chain.transfers)) })
})

const nodeOf = (transfer: Transfer) => ({
  transfer: {
    id: transfer.id,
    from: transfer.from,
    fromAccountType: transfer.fromAccountType,
    to: transfer.to,
    toAccountType: transfer.toAccountType,
    asset: transfer.asset,
    amount: transfer.amount.toString(),
    reference: transfer.reference,
    status: transfer.status,
    timestamp: toMicros(transfer.time).toString(),
    ...(transfer.reason === "" ? {} : { reason: transfer.reason }),
    ...kindOf(transfer.kind),
  },
  fees: transfer.fees.map(({ amount, epoch }) => ({
    transferId: transfer.id,
    amount: amount.toString(),
    epoch: String(epoch),
    discountApplied: "0",
  })),
})

const kindOf = (kind: Transfer["kind"]) => {
  if (kind._tag === "oneOff") return { oneOff: { deliverOn: toMicros(kind.deliverOn).toString() } }
  const { startEpoch, endEpoch } = kind
  const factor = parseFactor(kind.factor)
  return {
    recurring: {
      startEpoch: String(startEpoch),
      ...(endEpoch === undefined ? {} : { endEpoch: String(endEpoch) }),
      factor: factor === undefined ? kind.factor : formatFraction(factor),
      dispatchStrategy: null,
    },
  }
}

/** The data node's reference: Unix seconds of the withdrawal's request. */
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

/** Withdrawals of a party, or of all, newest first. */
export const withdrawals = reads("withdrawals", "/api/v2/withdrawals", function* (world, ask) {
  const party = yield* scalar(ask.query, "party_id")
  const paging = yield* readPaging(ask.query)
  const page = yield* world.node.read((chain) => {
    const rows = chain.withdrawals.values().filter((row) => party === undefined || row.party === party)
    return listedPage(rows, paging, byTimeAndId, withdrawalNode)
  })
  return ok({ withdrawals: page })
})

/** One withdrawal by its id: whether the money left, or was refused. */
export const withdrawal = reads("withdrawal", "/api/v2/withdrawal/:id", function* (world, ask) {
  return ok({ withdrawal: withdrawalNode(yield* foundById(world, ask, (chain) => chain.withdrawals)) })
})
