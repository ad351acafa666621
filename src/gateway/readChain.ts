import { Effect } from "effect"
import { millisOf, nanosOf } from "../domain/Time.ts"
import { GatewayError } from "./GatewayError.ts"
import { paginationParameters } from "./readRows.ts"
import {
  type ChainHead,
  ChainHeadAnswer,
  type Epoch,
  EpochAnswer,
  ParametersAnswer,
  SpamAnswer,
  StatisticsAnswer,
} from "./schema/ChainHead.ts"
import { pageOf } from "./schema/Numbers.ts"
import type { Transport } from "./Transport.ts"
import { pageSize, walkPages } from "./walkPages.ts"

/** Concurrent head requests of one gateway: a caller that needs a newer one does not wait for the last. */
export const headsAtOnce = 2

/** Transfers that the network counted for one key in an epoch. */
export interface EpochCount {
  readonly seq: number
  /** Transfers and cancellations in blocks of the epoch, whoever sent them. */
  readonly used: number
  readonly limit: number
  /** Block time (Unix nanoseconds) up to which they were counted at least; 0 if the gateway does not report it. */
  readonly asOf: bigint
}

/** Facts of the chain, and its requirements. */
export interface ChainReader {
  /**
   * The newest block and the proof of work required. The node that answered has begun this height; other nodes may not
   * know it yet.
   */
  readonly head: Effect.Effect<ChainHead, GatewayError>
  /** The network's own settings, such as transfer.fee.factor, as text by key: all of them, or an error. */
  readonly parameters: Effect.Effect<ReadonlyMap<string, string>, GatewayError>
  /** The present epoch. */
  readonly epoch: Effect.Effect<Epoch, GatewayError>
  /** Used part of a key's limit in the present epoch. */
  readonly epochCount: (publicKey: string) => Effect.Effect<EpochCount, GatewayError>
}

/** `chainId`: the height of another chain is not that of this gateway. */
export const makeChainReader = (transport: Transport, chainId?: string): ChainReader => ({
  head: Effect.gen(function* () {
    const { value } = yield* transport.request({
      operation: "height",
      path: "/blockchain/height",
      schema: ChainHeadAnswer,
      priority: "urgent",
      atOnce: headsAtOnce,
    })
    if (chainId === undefined || value.chainId === chainId) yield* transport.sawHeight(value.height)
    return value
  }).pipe(Effect.withSpan("GatewayReader.head")),
  parameters: Effect.gen(function* () {
    const { rows, complete } = yield* walkPages((after) => onePage(transport, after), 10)
    if (!complete) {
      return yield* new GatewayError({
        gateway: transport.gateway,
        operation: "parameters",
        reason: { _tag: "Unreadable", detail: "the pages of the network parameters do not end" },
      })
    }
    return new Map(rows.map(({ key, value }) => [key, value]))
  }).pipe(Effect.withSpan("GatewayReader.parameters")),
  // The data node's own answer also lists all delegations, so it is read only if the core is unreachable.
  epoch: fromCore(transport).pipe(
    Effect.catchReason("GatewayError", "Unsupported", () => fromDataNode(transport)),
    Effect.withSpan("GatewayReader.epoch"),
  ),
  epochCount: Effect.fn("GatewayReader.epochCount")((publicKey: string) =>
    Effect.map(
      transport.request({
        operation: "height",
        title: "spam",
        path: `/statistics/spam/${encodeURIComponent(publicKey)}`,
        schema: SpamAnswer,
      }),
      ({ value: { statistics }, mark }) => ({
        seq: statistics.epochSeq,
        used: statistics.transfers.countForEpoch,
        limit: statistics.transfers.maxForEpoch,
        asOf: mark?.timestamp ?? 0n,
      }),
    ),
  ),
})

const fromCore = (transport: Transport): Effect.Effect<Epoch, GatewayError> =>
  Effect.map(
    transport.request({ operation: "height", title: "statistics", path: "/statistics", schema: StatisticsAnswer }),
    ({ value: { statistics } }) => ({
      seq: statistics.epochSeq,
      startAt: nanosOf(statistics.epochStartTime),
      endsAtMillis: statistics.epochExpiryTime,
    }),
  )

const fromDataNode = (transport: Transport): Effect.Effect<Epoch, GatewayError> =>
  Effect.map(
    transport.request({ operation: "height", title: "epoch", path: "/api/v2/epoch", schema: EpochAnswer }),
    ({ value: { epoch } }) => ({
      seq: epoch.seq,
      startAt: epoch.timestamps.startTime,
      endsAtMillis: millisOf(epoch.timestamps.expiryTime),
    }),
  )

/** One page of parameters. The metrics count it with the height, as a fact of the chain. */
const onePage = (transport: Transport, after: string | undefined) =>
  transport
    .request({
      operation: "height",
      title: "parameters",
      path: "/api/v2/network/parameters",
      query: paginationParameters({ first: pageSize, after }),
      schema: ParametersAnswer,
    })
    .pipe(Effect.map(({ value, mark }) => pageOf(value.networkParameters, mark)))
