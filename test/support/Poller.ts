import { Effect, Layer, Logger, type Ref, type Scope } from "effect"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import { layerGateways } from "../../src/gateway/quorumGateway.ts"
import { gatewayOptions } from "../../src/gateway/Transport.ts"
import type { Paces, ReadingPace, WatchedTreasury } from "../../src/poller/askWindow.ts"
import { backfillOnce } from "../../src/poller/Backfill.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import type { Party } from "../../src/rules/Account.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { live } from "../gateway/GatewayServer.ts"
import { type History, serveHistory } from "./HistoryServer.ts"
import { effectOf, type Work } from "./it.ts"
import { testStore } from "./TestStore.ts"
import { waitUntil } from "./until.ts"

/** Parties named by their keys' first characters. */
export const pollerOptions = (keys: ReadonlyArray<string>, more: Partial<WatchedTreasury> = {}): WatchedTreasury => ({
  parties: new Map(
    keys.map((key): [string, Party] => {
      const name = key.slice(0, 4)
      return [name, { name, publicKey: key as PublicKey, signer: undefined, floor: new Map(), transfersKept: 0 }]
    }),
  ),
  assets: new Map(),
  rules: [],
  network: { maxAgeMillis: 30_000, pollBusyMillis: 1_000, pollIdleMillis: 5_000, reconcileMillis: 5_000 },
  keepMillis: 400 * 86_400_000,
  ...more,
})

/** A served history, a store on disk, and the program on both: `run` may be called again and again, as restarts. */
export const openPoller = Effect.fnUntraced(function* (history: History) {
  const server = yield* serveHistory(history)
  const store = yield* Effect.acquireRelease(Effect.sync(testStore), (opened) => Effect.sync(opened.remove))
  const options = gatewayOptions({ name: "g", url: server.url, requestsPerSecond: 100_000 })
  const gateway = layerGateways({ chainId: "test", gateways: [options], quorum: 1 }).pipe(Layer.provideMerge(live))
  const layer = () => Layer.mergeAll(gateway, store.layer(), Logger.layer([]))
  type Services = Layer.Success<ReturnType<typeof layer>>
  const run = <A>(program: Work<Services | Scope.Scope, A>) =>
    effectOf(program).pipe(Effect.scoped, Effect.provide(layer(), { local: true }))
  return { run, server }
})

/** Polls until there is nothing more to read at once. */
export const pollAll = (options: WatchedTreasury, paces?: Paces) =>
  waitUntil(
    "all to be read",
    Effect.map(pollBalances(options, paces), (hasMore) => !hasMore),
    Effect.yieldNow,
  )

/** Reads all of the past that is asked for. */
export const backfillAll = (options: WatchedTreasury, pace?: Ref.Ref<ReadingPace>) =>
  waitUntil(
    "all of the past",
    Effect.map(backfillOnce(options, pace), (hasMore) => !hasMore),
    Effect.yieldNow,
  )

/** Every row that is stored, in no order. */
export const storedRows = Effect.flatMap(Drifts, (drifts) => drifts.rowsBetween(0n, 2n ** 62n, 1_000_000)).pipe(
  Effect.map((rows) => rows ?? []),
)

/** A row as one text, to compare what is stored with what there is. */
export const textOf = (row: BalanceChange): string =>
  [row.timestamp, row.asset, row.party, row.market, row.type, row.balance].join(" ")
