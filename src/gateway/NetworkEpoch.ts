import { Context, Effect } from "effect"
import type { GatewayError } from "./GatewayError.ts"
import { type Epoch, EpochAnswer, SpamAnswer, StatisticsAnswer } from "./schema/ChainHead.ts"
import type { Transport } from "./Transport.ts"

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
