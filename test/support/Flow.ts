import { rmSync } from "node:fs"
import { join } from "node:path"
import { Clock, Effect, type Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { byOneConfig } from "../../src/config/ConfigInForce.ts"
import { prepare } from "../../src/daemon.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import type { DaemonOptions, daemonLayer } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { payersOf, pollWorkAndEpoch, readParameters } from "../../src/poller/pollNetwork.ts"
import { reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { watchChain } from "../../src/poller/watchChain.ts"
import { publicKeyOf, writeKeys } from "../../src/sandbox/Keys.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { daemonHere } from "./daemonHere.ts"
import { emptyDir } from "./emptyDir.ts"
import { type Body, effectOf } from "./it.ts"
import { knowsChain } from "./knowsChain.ts"
import { databaseIn } from "./Postgres.ts"
import type { TestClient } from "./TestClient.ts"
import { chainId, scenarioText, usdt, vega, withSandbox } from "./TestSandbox.ts"
import { isOnPostgres } from "./TestStore.ts"
import { type Fields, treasuryFrom } from "./treasury.ts"
import { turn, waitUntil } from "./until.ts"

const seed = "test"
export const alice = publicKeyOf(seed, "alice")
export const bob = publicKeyOf(seed, "bob")
export const eve = publicKeyOf(seed, "eve")
const carol = publicKeyOf(seed, "carol")

export interface FlowSetup {
  readonly mode?: string
  /** Keys of the scenario that are other than the small network's. */
  readonly scenario?: Fields
  /** More assets of the scenario. */
  readonly assets?: ReadonlyArray<Fields>
  /** Chain that the treasury believes in. */
  readonly chain?: string
  /** More keys of the treasury's network. */
  readonly network?: Fields
  /** More keys of the party alice. */
  readonly alice?: Fields
  /** More keys of the rule of every flow. */
  readonly keepBob?: Fields
  /** More rules, or files of rules. */
  readonly rules?: ReadonlyArray<Fields | string>
  /** Transfers that the policy's line allows in a day. Default 4. */
  readonly transfersPer24h?: number
  /** More keys of the policy's line. */
  readonly line?: Fields
  /** More lines of the policy. */
  readonly allow?: ReadonlyArray<Fields>
  /** More keys of the policy. */
  readonly policy?: Fields
  /** More top-level keys. */
  readonly more?: Fields
  /** True if the store waits for a window where its gateways list nothing, as a new one does. */
  readonly isNew?: boolean
  /** True if no head of the chain was accepted before: then none counts for ten seconds. */
  readonly isFirst?: boolean
  /** True if the asset listing is not read at the start. */
  readonly unlisted?: boolean
  /** The clock of the daemon's machine, by the network's. Default: the same. */
  readonly clock?: (network: Clock.Clock) => Clock.Clock
  /** Starts a proxy before the network: from its address to the one that the treasury uses. */
  readonly front?: (url: string) => Effect.Effect<string, never, Scope.Scope>
  /** Several gateways before the network: from its address to their names and addresses. */
  readonly gateways?: (url: string) => Effect.Effect<Readonly<Record<string, string>>, never, Scope.Scope>
}

/** A network of three operations has no parameters: what it takes of transfers is written down. */
const feeOf = ({ scenario }: FlowSetup): Fields =>
  scenario?.["profile"] === "specification" ? { fee: { factor: "0.001", maxQuantum: "1" } } : {}

const sandboxKey = (name: string, publicKey: string) => ({ publicKey, signer: { sandbox: name } })

const treasuryOfFlow = (gateways: Fields, setup: FlowSetup) =>
  treasuryFrom({
    name: "flow",
    mode: setup.mode ?? "live",
    network: { chainId: setup.chain ?? chainId, gateways, ...setup.network, ...feeOf(setup) },
    assets: { USDT: { id: usdt, decimals: 6 }, VEGA: { id: vega, decimals: 18 } },
    parties: {
      alice: { ...sandboxKey("alice", alice), ...setup.alice },
      carol: sandboxKey("carol", carol),
      bob: { publicKey: bob },
      eve: { publicKey: eve },
    },
    rules: [{ ...keepBob, ...setup.keepBob }, ...(setup.rules ?? [])],
    policy: {
      allow: [{ ...aliceLine, transfersPer24h: setup.transfersPer24h ?? 4, ...setup.line }, ...(setup.allow ?? [])],
      ...setup.policy,
    },
    ...setup.more,
  })

/** The rule of every flow. */
const keepBob = {
  name: "keep-bob",
  topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "100", target: "200" }] },
}
/** The policy's line of every flow. */
const aliceLine = {
  from: "alice",
  to: ["bob", "eve"],
  asset: "USDT",
  perTransfer: "200",
  per24h: "400",
}

/** An address outside of the network. */
export const vault = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
/** Withdraws from alice between such levels, before the rule of every flow. */
export const toVault = (levels: Fields) => ({
  name: "to-vault",
  withdraw: { from: "alice", asset: "USDT", ...levels, to: "vault" },
  priority: 1,
})
/** A flow that withdraws what alice has above 900 USDT. */
export const withdrawing = {
  rules: [toVault({ above: "900", target: "800" })],
  allow: [{ from: "alice", to: ["vault"], asset: "USDT", perTransfer: "600", per24h: "1200", transfersPer24h: 4 }],
  more: { addresses: { vault } },
} satisfies FlowSetup

/** One second, one block, and one round of each loop but those left out. */
export const round = Effect.fnUntraced(function* (
  options: DaemonOptions,
  sandbox: Sandbox["Service"],
  skip: ReadonlySet<string> = new Set(),
) {
  const poll = pollBalances(options.treasury)
  yield* TestClock.adjust("1 second")
  yield* sandbox.stepBlock
  yield* watchChain()
  yield* readParameters
  // A year of history is many questions: the limiter wants time for them.
  const isRead = skip.has("poll") ? Effect.succeed(true) : Effect.map(poll, (hasMore) => !hasMore)
  yield* waitUntil("all to be read", isRead, TestClock.adjust("300 millis"))
  if (!skip.has("compare")) yield* reconcileBalances(options.treasury)
  if (!skip.has("reconcile")) yield* reconcileOnce()
  if (!skip.has("decide")) yield* decideOnce()
  if (!skip.has("submit")) yield* byOneConfig(submitOnce())
  if (!skip.has("confirm")) yield* confirmOnce()
  // Answers that came after the quorum's are on their way.
  yield* turn
})

/** Seconds and blocks that pass, of which a round sees every fifth and the last: a daemon that is asked rarely. */
export const pass = Effect.fnUntraced(function* <E, R>(
  sandbox: Sandbox["Service"],
  seconds: number,
  play: Effect.Effect<unknown, E, R>,
) {
  const unseen = Effect.andThen(TestClock.adjust("1 second"), sandbox.stepBlock)
  for (let second = 1; second <= seconds; second++) yield* second % 5 === 0 || second === seconds ? play : unseen
})

export type Flow = (
  options: DaemonOptions,
  sandbox: Sandbox["Service"],
  client: TestClient,
) => Effect.Effect<void, unknown, FlowServices>
export type FlowServices = Layer.Success<ReturnType<typeof daemonLayer>>
export type FlowBody = Body<Parameters<Flow>, FlowServices>

/** A treasury against a real network over real HTTP, its loops run by hand. */
export const flow = (use: FlowBody, setup: FlowSetup = {}) => lives([use], setup)

/** The same, with a new process on the same data for each use. */
export const lives = (uses: ReadonlyArray<FlowBody>, setup: FlowSetup = {}) =>
  TestClock.setTime(1_800_000_000_000).pipe(
    Effect.andThen(
      withSandbox(
        { text: scenarioText(setup.scenario, { assets: setup.assets ?? [] }), isHere: true },
        (client, sandbox) =>
          Effect.gen(function* () {
            const dataDir = emptyDir("cofferer-flow-")
            writeKeys(join(dataDir, "sandbox"), seed, ["alice", "carol", "dan"])
            const gatewayUrl = yield* (setup.front ?? Effect.succeed)(sandbox.url)
            const named = setup.gateways === undefined ? { sandbox: gatewayUrl } : yield* setup.gateways(sandbox.url)
            const treasury = yield* treasuryOfFlow(named, setup)
            const postgresUrlFile = isOnPostgres ? yield* databaseIn(dataDir) : undefined
            const options = { treasury, mode: treasury.mode, dataDir, postgresUrlFile }
            const network = yield* Clock.Clock
            const clock = setup.clock?.(network) ?? network
            const live = (use: FlowBody) =>
              prepare(options).pipe(
                Effect.andThen(readParameters),
                Effect.andThen(setup.isFirst === true ? Effect.void : knowsChain(treasury.network.chainId)),
                Effect.andThen(pollWorkAndEpoch(payersOf(treasury.parties.values()))),
                Effect.andThen(setup.isNew === true ? Effect.void : hasWaited),
                Effect.andThen(setup.unlisted === true ? Effect.void : pollAssets()),
                Effect.andThen(Effect.suspend(() => effectOf(use(options, sandbox, client)))),
                Effect.provide(daemonHere(options)),
                Effect.provideService(Clock.Clock, clock),
              )
            yield* Effect.forEach(uses, live, { discard: true }).pipe(
              Effect.ensuring(Effect.sync(() => rmSync(dataDir, { recursive: true, force: true }))),
            )
          }).pipe(Effect.scoped),
      ),
    ),
  )

/** The store is not new: of its keys, what another one sent is over, whatever its gateways list. */
const hasWaited = Effect.flatMap(Settings, (settings) =>
  Effect.forEach([alice, carol], (key) => settings.set(`waited/${key}`, "once"), {
    discard: true,
  }),
)

/** Executed payments of alice's key. */
export const paid = (sandbox: Sandbox["Service"]) =>
  Effect.map(sandbox.ledger.executed, (all) => all.filter((tx) => tx.party === alice && tx.code === 0))
/** States of the newest payments. */
export const states = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(10)),
  (intents) => intents.map((i) => i.state),
)
/** Why the first rule is silent. */
export const reason = Effect.map(
  Effect.flatMap(RuleStates, (store) => store.all),
  (all) => all[0]?.reason,
)
