import { Effect } from "effect"
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
  transfer: Effect.fn("GatewayReader.transfer")((id) => sightingOf(transport, id, transferById(transport, id))),
  transfersFrom: Effect.fn("GatewayReader.transfersFrom")((publicKey, from) =>
    list(publicKey, from, (after) => transfersPage(transport, publicKey, after)),
  ),
  withdrawal: Effect.fn("GatewayReader.withdrawal")((id) => sightingOf(transport, id, withdrawalById(transport, id))),
  withdrawalsFrom: Effect.fn("GatewayReader.withdrawalsFrom")((publicKey, from) =>
    list(publicKey, from, (after) => withdrawalsPage(transport, publicKey, after)),
  ),
})

interface One {
  readonly value: ObservedTransfer
  readonly mark: BlockMark | undefined
}

const transferById = (transport: Transport, id: string): Effect.Effect<One, GatewayError> =>
  transport
    .request({
      operation: "transfer",
      path: `/api/v2/transfer/${encodeURIComponent(id)}`,
      schema: TransferAnswer,
      priority: "urgent",
    })
    .pipe(Effect.map(({ value: { transferNode }, mark }) => ({ value: transferNode, mark })))

const withdrawalById = (transport: Transport, id: string): Effect.Effect<One, GatewayError> =>
  transport
    .request({
      operation: "transfer",
      title: "withdrawal",
      path: `/api/v2/withdrawal/${encodeURIComponent(id)}`,
      schema: WithdrawalAnswer,
      priority: "urgent",
    })
    .pipe(Effect.map(({ value: { withdrawal }, mark }) => ({ value: withdrawal, mark })))

const sightingOf = (
  transport: Transport,
  id: string,
  asked: Effect.Effect<One, GatewayError>,
): Effect.Effect<TransferSighting, GatewayError> =>
  asked.pipe(
    Effect.flatMap(({ value, mark }) =>
      value.id === id
        ? Effect.succeed<TransferSighting>({ found: value, mark, gateway: transport.gateway, agreed: true })
        : Effect.fail(
            new GatewayError({
              gateway: transport.gateway,
              operation: "transfer",
              reason: { _tag: "Unreadable", detail: "answered with another transfer than was asked for" },
            }),
          ),
    ),
    Effect.catchReason("GatewayError", "NotFound", ({ mark }) =>
      Effect.succeed<TransferSighting>({ found: undefined, mark, gateway: transport.gateway, agreed: true }),
    ),
  )

const behind = (after: string | undefined) => paginationParameters({ first: pageSize, after, newestFirst: false })

const ofKey = (publicKey: string) =>
  [
    ["pubkey", publicKey],
    ["direction", "TRANSFER_DIRECTION_TRANSFER_FROM"],
  ] as const

const transfersPage = (transport: Transport, publicKey: string, after: string | undefined) =>
  transport
    .request({
      operation: "transfer",
      title: "transfers",
      path: "/api/v2/transfers",
      query: [...ofKey(publicKey), ...behind(after)],
      schema: TransfersAnswer,
    })
    .pipe(Effect.map(({ value, mark }) => pageOf(value.transfers, mark)))

const withdrawalsPage = (transport: Transport, publicKey: string, after: string | undefined) =>
  transport
    .request({
      operation: "transfer",
      title: "withdrawals",
      path: "/api/v2/withdrawals",
      query: [["partyId", publicKey], ...behind(after)],
      schema: WithdrawalsAnswer,
    })
    .pipe(Effect.map(({ value, mark }) => pageOf(value.withdrawals, mark)))

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
