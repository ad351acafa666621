import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { notifyAssets } from "../../src/engine/notifyAssets.ts"
import { GatewayError } from "../../src/gateway/GatewayError.ts"
import type { daemonLayer } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { payersOf, pollWorkAndEpoch, readParameters } from "../../src/poller/pollNetwork.ts"
import { reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { watchChain } from "../../src/poller/watchChain.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { decodeScenario } from "../../src/sandbox/Scenario.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { alertRows } from "./alertRows.ts"
import { type Flow, type FlowSetup, lives } from "./Flow.ts"
import { type Front, type Manner, passOn, startFront } from "./Fronts.ts"
import { serveSandbox } from "./InProcess.ts"
import { scenarioText, vegaAsset } from "./TestSandbox.ts"
import { ticking } from "./ticking.ts"
import type { Fields } from "./treasury.ts"
import { waitUntil } from "./until.ts"

export const otherAsset = "c".repeat(64)

/** Another network with the same keys and other money, by the name of a chain. It begins now. */
export const beginNetwork = Effect.fnUntraced(function* (name: string, change: Fields = {}) {
  const newCoin = { ...vegaAsset, id: otherAsset, name: "New Coin", symbol: "NEWC", decimals: 0 }
  const deposits = [
    { party: "alice", asset: "NEWC", amount: "7" },
    { party: "alice", asset: "USDT", amount: "400" },
    { party: "bob", asset: "USDT", amount: "50" },
  ]
  const text = scenarioText({ deposits, ...change }, { assets: [newCoin] })
  const scenario = yield* Effect.flatMap(parseYaml("other.yaml", text), (document) => decodeScenario(document, name))
  const layer = Sandbox.layer({ dir: undefined, portBusy: "error", clock: "manual", scenario })
  const sandbox = Context.get(yield* Layer.build(layer), Sandbox)
  yield* serveSandbox(sandbox)
  return sandbox
}, Effect.orDie)

/** Passes a request on to another network than the one behind. */
export const elsewhere =
  (url: string): Manner =>
  (request) =>
    passOn(url, request)

type Loop = Effect.Effect<unknown, unknown, Layer.Success<ReturnType<typeof daemonLayer>>>
const isUnanswered = (error: unknown): error is GatewayError => error instanceof GatewayError

/** A second, a block, and a round of each loop of the daemon. */
export const steps = Effect.fnUntraced(function* (
  [options, sandbox]: Parameters<Flow>,
  n: number,
  other?: Sandbox["Service"],
  only: (name: string) => boolean = () => true,
) {
  const { parties, assets } = options.treasury
  const poll = pollBalances(options.treasury)
  const loops: Readonly<Record<string, Loop>> = {
    balances: waitUntil(
      "all to be read",
      Effect.map(poll, (hasMore) => !hasMore),
      Effect.yieldNow,
    ),
    rules: pollWorkAndEpoch(payersOf(parties.values())),
    parameters: readParameters,
    assets: pollAssets([...assets.values()]),
    compare: reconcileBalances(options.treasury),
    reconcile: reconcileOnce(),
    chain: watchChain(),
    decide: Effect.andThen(decideOnce(), notifyAssets()),
    submit: submitOnce(),
    confirm: confirmOnce(),
  }
  for (let i = 0; i < n; i++) {
    yield* TestClock.adjust("1 second")
    yield* sandbox.stepBlock
    if (other !== undefined) yield* other.stepBlock
    for (const [name, loop] of Object.entries(loops)) {
      if (only(name)) yield* ticking(loop.pipe(Effect.catchIf(isUnanswered, () => Effect.void)))
    }
  }
})

/** Tables in which another chain's word would stand. */
const tables = [
  "changes",
  "account_names",
  "balances",
  "openings",
  "assets",
  "asset_transitions",
  "drifts",
  "listed_transfers",
]
export const contents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* Effect.forEach(tables, (table) => sql.unsafe(`SELECT * FROM ${table}`))
  return rows.map((all) => JSON.stringify(all, (_, value) => (typeof value === "bigint" ? String(value) : value)))
})
export const alerts = Effect.map(alertRows, (rows) =>
  rows.map(({ severity, kind, subject }) => `${severity} ${kind} ${subject}`),
)

/** One gateway that stands before two networks. */
export const behindOneAddress = (
  uses: ReadonlyArray<(front: Front, ...args: Parameters<Flow>) => ReturnType<Flow>>,
  setup: FlowSetup = {},
) =>
  Effect.suspend(() => {
    let front: Front | undefined
    const start = (url: string) =>
      Effect.map(startFront("a", url), (started) => {
        front = started
        return started.server.url
      })
    return lives(
      uses.map(
        (use): Flow =>
          (...args) =>
            use(front!, ...args),
      ),
      { ...setup, front: start },
    )
  })

export const resume = Effect.flatMap(Controls, (controls) =>
  controls.resume({ scope: "all", reason: "it is back", author: "ana" }),
)
