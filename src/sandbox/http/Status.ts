import { Clock, Effect } from "effect"
import { powHashFunction } from "../../domain/powHashFunction.ts"
import type { Chain } from "../Chain.ts"
import { formatTime, toMicros } from "../Time.ts"
import { rulesNow } from "../WorkRules.ts"
import { type Answer, ok } from "./Answer.ts"
import type { Route } from "./Route.ts"

/** All that a sender needs to know of the chain: the newest block, and what work it asks for. */
export const height: Route = {
  operation: "height",
  method: "GET",
  path: "/blockchain/height",
  specified: true,
  answer: ({ node, scenario }) =>
    Effect.map(
      node.read((chain) => ({ height: String(chain.height), hash: chain.hash, pow: rulesNow(chain) })),
      ({ height, hash, pow }) =>
        ok({
          height,
          hash,
          spamPowHashFunction: powHashFunction,
          spamPowDifficulty: pow.difficulty,
          spamPowNumberOfPastBlocks: pow.pastBlocks,
          spamPowNumberOfTxPerBlock: pow.txPerBlock,
          spamPowIncreasingDifficulty: pow.increaseDifficulty,
          chainId: scenario.chainId,
        }),
    ),
}

const nothing = (...names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, "0"]))
const noneSubscribed = (...names: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name) => [`${name}Subscriptions`, 0]))

export const statistics: Route = {
  operation: "statistics",
  method: "GET",
  path: "/statistics",
  specified: false,
  answer: ({ node, scenario, profile }) =>
    Effect.gen(function* () {
      const now = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
      const body = yield* node.read((chain: Chain) => ({
        blockHeight: String(chain.height),
        backlogLength: String(chain.mempool.pending.size),
        totalPeers: "0",
        genesisTime: formatTime(chain.genesisTime),
        currentTime: formatTime(now),
        vegaTime: formatTime(chain.time),
        status: "CHAIN_STATUS_CONNECTED",
        txPerBlock: String(chain.included.filter((entry) => entry.height === chain.height).length),
        ...nothing("averageTxBytes", "averageOrdersPerBlock", "tradesPerSecond", "ordersPerSecond", "totalMarkets"),
        ...nothing("totalAmendOrder", "totalCancelOrder", "totalCreateOrder", "totalOrders", "totalTrades"),
        ...noneSubscribed("order", "trade", "candle", "marketDepth", "positions", "account", "marketData"),
        appVersionHash: "",
        appVersion: profile.appVersion,
        chainVersion: profile.chainVersion,
        blockDuration: String(scenario.blockIntervalMillis * 1_000_000),
        uptime: formatTime(chain.genesisTime),
        chainId: scenario.chainId,
        ...noneSubscribed("marketDepthUpdates"),
        blockHash: chain.hash,
        epochSeq: String(chain.epoch.seq),
        epochStartTime: formatTime(chain.epoch.startTime),
        epochExpiryTime: formatTime(chain.epoch.startTime + chain.epochNanos),
        eventCount: "0",
        eventsPerSecond: "0",
      }))
      return ok({ statistics: body })
    }),
}

/** The core's own time, with all its nanoseconds. */
export const coreTime: Route = {
  operation: "time",
  method: "GET",
  path: "/time",
  specified: false,
  answer: ({ node }) =>
    Effect.map(
      node.read((chain) => chain.time),
      (time) => ok({ timestamp: String(time) }),
    ),
}

/** The same block's time as the data node keeps it. */
export const nodeTime: Route = {
  ...coreTime,
  path: "/api/v2/vega/time",
  answer: ({ node }) =>
    Effect.map(
      node.read((chain) => toMicros(chain.time)),
      (time) => ok({ timestamp: String(time) }),
    ),
}

export const info: Route = {
  operation: "info",
  method: "GET",
  path: "/api/v2/info",
  specified: false,
  answer: ({ profile }) => Effect.succeed(ok({ version: profile.appVersion, commitHash: "" })),
}

export const epoch: Route = {
  operation: "epoch",
  method: "GET",
  path: "/api/v2/epoch",
  specified: false,
  answer: ({ node }) =>
    Effect.map(
      node.read(({ epoch, epochNanos, scenario }) => ({
        seq: String(epoch.seq),
        timestamps: {
          startTime: String(toMicros(epoch.startTime)),
          expiryTime: String(toMicros(epoch.startTime + epochNanos)),
          endTime: "0",
          firstBlock: String(epoch.firstBlock),
          lastBlock: "0",
        },
        validators: scenario.validators,
        delegations: [],
      })),
      (epoch) => ok({ epoch }),
    ),
}

/** Proves that the HTTP process is up, and nothing else. */
export const health: Route = {
  operation: "health",
  method: "GET",
  path: "/health",
  specified: false,
  answer: () => Effect.succeed<Answer>({ status: 200, body: "ok", text: true, fromNode: false }),
}
