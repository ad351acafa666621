import { Effect, type Schema } from "effect"
import type { BlockMark } from "../domain/Balance.ts"
import { GatewayError } from "./GatewayError.ts"
import { paginationParameters } from "./readRows.ts"
import { type Page, pageOf } from "./schema/Numbers.ts"
import {
  type ObservedTransfer,
  TransferAnswer,
  TransfersAnswer,
  WithdrawalAnswer,
  WithdrawalsAnswer,
} from "./schema/Transfers.ts"
import type { Transport } from "./Transport.ts"
import { pageSize, walkPages, walkPagesMax } from "./walkPages.ts"

/** Lookup of one transfer: the result, and the block up to which the gateway searched. */
export interface TransferSighting {
  /** Undefined: the gateway says that it knows none of this id. Alone, that proves nothing. */
  readonly found: ObservedTransfer | undefined
  readonly mark: BlockMark | undefined
  /** Source of the answer; several names with a plus sign between them. */
  readonly gateway: string
  /**
   * True if a quorum reports the same payment, or that there is none. Reports of fewer gateways end nothing and
   * contradict nothing, but forbid a proof of absence.
   */
  readonly agreed: boolean
}

/** All transfers of a key, as far as the gateway lists them. */
export interface TransferListing {
  /** Oldest first; of a transfer that changed during the walk, its latest version. */
  readonly transfers: ReadonlyArray<ObservedTransfer & { readonly isAgreed?: boolean }>
  /** True if the listing was read to its end. Absence of a transfer counts only then. */
  readonly complete: boolean
  /** Every transfer up to this block is in a complete listing; undefined where the gateway names no block. */
  readonly mark: BlockMark | undefined
  /**
   * A block that the gateway had reached when it was read: that of the mark, or, without one, of the gateway's own head
   * before the reading. It clears keys, and proves no absence. For a quorum: of its complete listings alone.
   */
  readonly reached?: bigint | undefined
  /** Where a later reading goes on; undefined where nothing was listed. */
  readonly cursor: string | undefined
}

/** State of payments on the ledger. The error is Unsupported if the gateway has no such operation. */
export interface TransferReader {
  readonly transfer: (id: string) => Effect.Effect<TransferSighting, GatewayError>
  /** `after` is the cursor of an earlier reading: only what is new or has changed since is listed then. */
  readonly transfersFrom: (publicKey: string, after?: string) => Effect.Effect<TransferListing, GatewayError>
  /** State of a withdrawal on the ledger, in terms of a transfer. Its claim outside is not reported. */
  readonly withdrawal: (id: string) => Effect.Effect<TransferSighting, GatewayError>
  /** All withdrawals of a key, listed as its transfers are. */
  readonly withdrawalsFrom: (publicKey: string, after?: string) => Effect.Effect<TransferListing, GatewayError>
}

export const makeTransferReader = (transport: Transport): TransferReader => ({
  transfer: Effect.fn("GatewayReader.transfer")((id) =>
    sightingOf(transport, "transfer", id, TransferAnswer, ({ transferNode }) => transferNode),
  ),
  transfersFrom: Effect.fn("GatewayReader.transfersFrom")((publicKey, from) => {
    const direction = ["direction", "TRANSFER_DIRECTION_TRANSFER_FROM"] as const
    const filter = [["pubkey", publicKey] as const, direction]
    return list(
      publicKey,
      from,
      pageOfKind(transport, "transfers", filter, TransfersAnswer, (found) => found.transfers),
    )
  }),
  withdrawal: Effect.fn("GatewayReader.withdrawal")((id) =>
    sightingOf(transport, "withdrawal", id, WithdrawalAnswer, ({ withdrawal }) => withdrawal),
  ),
  withdrawalsFrom: Effect.fn("GatewayReader.withdrawalsFrom")((publicKey, from) =>
    list(
      publicKey,
      from,
      pageOfKind(transport, "withdrawals", [["partyId", publicKey]], WithdrawalsAnswer, (found) => found.withdrawals),
    ),
  ),
})

/** One transfer or withdrawal, as its route answers. */
const sightingOf = <A>(
  transport: Transport,
  title: "transfer" | "withdrawal",
  id: string,
  schema: Schema.ConstraintDecoder<A>,
  rowIn: (answer: A) => ObservedTransfer,
): Effect.Effect<TransferSighting, GatewayError> => {
  const { gateway } = transport
  const path = `/api/v2/${title}/${encodeURIComponent(id)}`
  return transport.request({ operation: "transfer", title, path, schema, priority: "urgent" }).pipe(
    Effect.flatMap(({ value, mark }) => {
      const found = rowIn(value)
      if (found.id === id) return Effect.succeed<TransferSighting>({ found, mark, gateway, agreed: true })
      const detail = "answered with another transfer than was asked for"
      return Effect.fail(new GatewayError({ gateway, operation: "transfer", reason: { _tag: "Unreadable", detail } }))
    }),
    Effect.catchReason("GatewayError", "NotFound", ({ mark }) =>
      Effect.succeed<TransferSighting>({ found: undefined, mark, gateway, agreed: true }),
    ),
  )
}

/** Reads pages of the transfers or withdrawals of a key, oldest first. */
const pageOfKind =
  <A>(
    transport: Transport,
    title: "transfers" | "withdrawals",
    filter: ReadonlyArray<readonly [string, string]>,
    schema: Schema.ConstraintDecoder<A>,
    rowsIn: (answer: A) => Parameters<typeof pageOf<ObservedTransfer>>[0],
  ) =>
  (after: string | undefined) =>
    transport
      .request({
        operation: "transfer",
        title,
        path: `/api/v2/${title}`,
        query: [...filter, ...paginationParameters({ first: pageSize, after, newestFirst: false })],
        schema,
      })
      .pipe(Effect.map(({ value, mark }) => pageOf(rowsIn(value), mark)))

/**
 * Walks from the oldest row on: a transfer that changes meanwhile moves to the end, where it is met again, so that a
 * complete walk misses nothing that existed at the block of its first page.
 */
const list = (
  publicKey: string,
  from: string | undefined,
  page: (after: string | undefined) => Effect.Effect<Page<ObservedTransfer>, GatewayError>,
): Effect.Effect<TransferListing, GatewayError> =>
  walkPages(page, walkPagesMax, from).pipe(
    Effect.map(({ rows, complete, mark, cursor }) => {
      const latest = new Map<string, ObservedTransfer>()
      for (const row of rows) {
        // A gateway that ignores the filter lists everybody's transfers.
        if (row.from !== publicKey) continue
        latest.delete(row.id)
        latest.set(row.id, row)
      }
      return { transfers: [...latest.values()], complete, mark, cursor }
    }),
  )
