import { Effect } from "effect"
import type { Transfer } from "../Chain.ts"
import { formatFraction, parseFactor } from "../Fraction.ts"
import { formatTime, toMicros } from "../Time.ts"
import { nodeError, ok, refuse } from "./Answer.ts"
import { byTimeAndId } from "./byTimeAndId.ts"
import { edgesOf, invalidPagination, pageOf, readPaging } from "./Paging.ts"
import { enums, scalar } from "./Query.ts"
import type { Route } from "./Route.ts"

const directions = new Map([
  ["TRANSFER_DIRECTION_UNSPECIFIED", 0],
  ["TRANSFER_DIRECTION_TRANSFER_FROM", 1],
  ["TRANSFER_DIRECTION_TRANSFER_TO", 2],
  ["TRANSFER_DIRECTION_TRANSFER_TO_OR_FROM", 3],
])

const statuses = new Map(
  ["UNSPECIFIED", "PENDING", "DONE", "REJECTED", "STOPPED", "CANCELLED"].map((word, i) => [`STATUS_${word}`, i]),
)

const ordered = byTimeAndId((transfer: Transfer) => ({
  time: formatTime(toMicros(transfer.time)),
  id: transfer.id,
}))

/** Without any parameter of paging this listing is shorter than the others. */
const pageDefault = 50

/** Transfers of a party, or of all; each at the time of its latest version. */
export const transfers: Route = {
  operation: "transfers",
  method: "GET",
  path: "/api/v2/transfers",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const pubkey = yield* scalar(ask.query, "pubkey")
      const direction = (yield* enums(ask.query, "direction", directions))[0] ?? "TRANSFER_DIRECTION_UNSPECIFIED"
      if (pubkey !== undefined && pubkey !== "" && direction === "TRANSFER_DIRECTION_UNSPECIFIED") {
        const inner = `pubkey: ${pubkey}: unknown transfer direction: ${direction}`
        const detail = { code: 220_001, message: "failed to get transfer", inner }
        return yield* refuse(nodeError("Internal", detail))
      }
      const [status = "STATUS_UNSPECIFIED"] = yield* enums(ask.query, "status", statuses)
      const read = yield* readPaging(ask.query, invalidPagination)
      const paged = [...ask.query.keys()].some((name) => name.startsWith("pagination."))
      const paging = paged ? read : { ...read, limit: pageDefault }
      const isMeant = (transfer: Transfer): boolean => {
        if (status !== "STATUS_UNSPECIFIED" && transfer.status !== status) return false
        if (pubkey === undefined || pubkey === "") return true
        const from = transfer.from === pubkey && direction !== "TRANSFER_DIRECTION_TRANSFER_TO"
        return from || (transfer.to === pubkey && direction !== "TRANSFER_DIRECTION_TRANSFER_FROM")
      }
      const page = yield* world.node.read((chain) => {
        const rows = [...chain.transfers.values()].filter(isMeant)
        return pageOf(ordered.sorted(rows), paging, ordered.listing)
      })
      return ok({ transfers: edgesOf(page, ordered.listing.cursorOf, nodeOf) })
    }),
}

/** One transfer by its id: the network's own word that a payment was executed, or why not. */
export const transfer: Route = {
  operation: "transfer",
  method: "GET",
  path: "/api/v2/transfer/:id",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const id = (ask.params["id"] ?? "").toLowerCase()
      const found = yield* world.node.read((chain) => chain.transfers.get(id))
      if (found === undefined) {
        const detail = { code: 10_000, message: "no resource corresponding to this id", inner: "" }
        return yield* refuse(nodeError("NotFound", detail))
      }
      return ok({ transferNode: nodeOf(found) })
    }),
}

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
      dispatchStrategy: kind.dispatched ? {} : null,
    },
  }
}
