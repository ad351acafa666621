import { Context, Effect } from "effect"
import { GatewayError } from "./GatewayError.ts"
import { paginationParameters } from "./GatewayReader.ts"
import { type Epoch, EpochAnswer, ParametersAnswer, SpamAnswer, StatisticsAnswer } from "./schema/ChainHead.ts"
import { pageOf } from "./schema/Numbers.ts"
import type { Transport } from "./Transport.ts"
import { pageSize, walkPages } from "./walkPages.ts"

/** Transfers that the network counted for one key in an epoch. */
export interface EpochCount {
  readonly seq: number
  /** Transfers and cancellations in blocks of the epoch, whoever sent them. */
  readonly used: number
  readonly limit: number
  /** Block time (Unix nanoseconds) up to which they were counted at least; 0 if the gateway does not report it. */
  readonly asOf: bigint
}

/** The network's epochs, and what keys have used of their limits in the present one. */
export class NetworkEpoch extends Context.Service<
  NetworkEpoch,
  {
    readonly current: Effect.Effect<Epoch, GatewayError>
    readonly transfersOf: (publicKey: string) => Effect.Effect<EpochCount, GatewayError>
  }
>()("cofferer/gateway/NetworkEpoch") {
  static readonly make = (transport: Transport["Service"]): NetworkEpoch["Service"] =>
    NetworkEpoch.of({
      // The data node's own answer lists all delegations beside it, so it is asked where the core is not reachable.
      current: fromCore(transport).pipe(
        Effect.catchReason("GatewayError", "Unsupported", () => fromDataNode(transport)),
        Effect.withSpan("NetworkEpoch.current"),
      ),
      transfersOf: Effect.fn("NetworkEpoch.transfersOf")((publicKey: string) =>
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
}

const fromCore = (transport: Transport["Service"]): Effect.Effect<Epoch, GatewayError> =>
  Effect.map(
    transport.request({ operation: "height", title: "statistics", path: "/statistics", schema: StatisticsAnswer }),
    ({ value: { statistics } }) => ({
      seq: statistics.epochSeq,
      startAt: BigInt(statistics.epochStartTime) * 1_000_000n,
      endsAtMillis: statistics.epochExpiryTime,
    }),
  )

const fromDataNode = (transport: Transport["Service"]): Effect.Effect<Epoch, GatewayError> =>
  Effect.map(
    transport.request({ operation: "height", title: "epoch", path: "/api/v2/epoch", schema: EpochAnswer }),
    ({ value: { epoch } }) => ({
      seq: epoch.seq,
      startAt: epoch.timestamps.startTime,
      endsAtMillis: Number(epoch.timestamps.expiryTime / 1_000_000n),
    }),
  )

/** The network's own settings, such as transfer.fee.factor, as text by key. */
export class NetworkParameters extends Context.Service<
  NetworkParameters,
  {
    /** All of them, or an error: half a list is never given. */
    readonly parameters: Effect.Effect<ReadonlyMap<string, string>, GatewayError>
  }
>()("cofferer/gateway/NetworkParameters") {
  static readonly make = (transport: Transport["Service"]): NetworkParameters["Service"] =>
    NetworkParameters.of({
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
      }).pipe(Effect.withSpan("NetworkParameters.parameters")),
    })
}

/** Counted with the chain's height in the metrics: both say what the chain asks for. */
const onePage = (transport: Transport["Service"], after: string | undefined) =>
  transport
    .request({
      operation: "height",
      title: "parameters",
      path: "/api/v2/network/parameters",
      query: paginationParameters({ first: pageSize, ...(after === undefined ? {} : { after }) }),
      schema: ParametersAnswer,
    })
    .pipe(Effect.map(({ value, mark }) => pageOf(value.networkParameters, mark)))
