import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { parseYaml } from "../../src/config/Yaml.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { notifyAssets } from "../../src/engine/notifyAssets.ts"
import { GatewayError } from "../../src/gateway/GatewayError.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { pollerOptionsOf } from "../../src/poller/BalancePollerOptions.ts"
import { readParameters } from "../../src/poller/pollParameters.ts"
import { payersOf, pollRules } from "../../src/poller/pollRules.ts"
import { Reconciliation, reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { watchChain } from "../../src/poller/watchChain.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { decodeScenario } from "../../src/sandbox/Scenario.ts"
import type { daemonLayer } from "../../src/services.ts"
import { Brake } from "../../src/store/Brake.ts"
import { Drifts } from "../../src/store/Drifts.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { reconcileOnce } from "../../src/submitter/Reconcile.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { type Flow, type FlowSetup, lives, paid, states } from "../support/Flow.ts"
import { altered, type Front, type Manner, startFront, startFronts } from "../support/Fronts.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { chainId, one, scenarioText, usdt } from "../support/TestSandbox.ts"

const otherAsset = "c".repeat(64)

/** Another network with the same keys and other money, on which everybody moves all the time. */
const otherNetwork = Effect.gen(function* () {
  const newc = `    - { id: ${otherAsset}, name: New Coin, symbol: NEWC, decimals: 0, quantum: "1", builtin: {}, status: { enabled: 0 } }\n`
  const text = scenarioText("", { profile: '"0.75"' })
    .replace("  deposits:\n", `${newc}  deposits:\n    - { party: alice, asset: NEWC, amount: "7" }\n`)
    .replace('amount: "1_000"', 'amount: "400"')
  const scenario = yield* Effect.flatMap(parseYaml("other.yaml", text), (document) =>
    decodeScenario(document, "other-1"),
  )
  const layer = Sandbox.layer({ dir: undefined, portBusy: "error", clock: "manual", scenario })
  return yield* Effect.map(Layer.build(layer), (context) => Effect.provideContext(Sandbox, context))
}).pipe(Effect.flatten, Effect.orDie)

/** Passes a request on to another network than the one behind. */
const elsewhere =
  (url: string): Manner =>
  async ({ method, url: asked, body }) => {
    const answer = await fetch(url + asked.pathname + asked.search, {
      method,
      headers: { "accept-encoding": "identity" },
      ...(method === "POST" ? { body } : {}),
    })
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
  }

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Virtual time goes on while real answers are on their way, so that nobody waits for one that never comes. */
const ticking = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) {
      yield* turn
      yield* TestClock.adjust("2 millis")
    }
    return yield* Fiber.join(fiber)
  })

type Loop = Effect.Effect<unknown, unknown, Layer.Success<ReturnType<typeof daemonLayer>>>
const isUnanswered = (error: unknown): error is GatewayError => error instanceof GatewayError

/** A second, a block, and a round of each loop of the daemon. */
const steps = Effect.fnUntraced(function* (
  [options, sandbox]: Parameters<Flow>,
  n: number,
  other?: Sandbox["Service"],
  only: (name: string) => boolean = () => true,
) {
  const { network, parties, assets } = options.treasury
  const poll = pollBalances(pollerOptionsOf(options.treasury))
  const loops: Readonly<Record<string, Loop>> = {
    balances: Effect.gen(function* () {
      while (yield* poll) yield* Effect.yieldNow
    }),
    rules: pollRules(payersOf(parties.values())),
    parameters: readParameters,
    assets: pollAssets([...assets.values()]),
    compare: reconcileBalances({ ...network, parties, assets }),
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

const halts = Effect.map(
  Effect.flatMap(Brake, (brake) => brake.halts),
  (all) => all.map(({ reason }) => reason),
)

/** Tables in which another chain's word would stand. */
const tables = [
  "changes",
  "account_names",
  "balances",
  "openings",
  "assets",
  "asset_transitions",
  "drifts",
  "strangers",
]
const contents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* Effect.forEach(tables, (table) => sql.unsafe(`SELECT * FROM ${table}`))
  return rows.map((all) => JSON.stringify(all, (_, value) => (typeof value === "bigint" ? String(value) : value)))
})
const alerts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT severity, kind, subject, detail FROM alerts ORDER BY seq`
  return rows.map(({ severity, kind, subject }) => `${severity} ${kind} ${subject}`)
})

/** One gateway that stands before two networks. */
const behindOneAddress = (
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

/** What stood in the store before the exchange. */
let kept: ReadonlyArray<string> = []

const resume = Effect.flatMap(Brake, (brake) => brake.resume({ scope: "all", reason: "it is back", author: "ana" }))

describe("another chain behind the same address", () => {
  it.effect("halts an idle daemon within two polls, leaves nothing behind, and goes on after a resume", () =>
    behindOneAddress([
      (front, ...args) =>
        Effect.gen(function* () {
          const other = yield* otherNetwork
          for (let i = 0; i < 8 && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 3)
          assert.deepStrictEqual(yield* states, ["confirmed"])
          yield* steps(args, 10)
          const told = yield* alerts
          const before = yield* contents
          front.manner = elsewhere(other.url)
          yield* steps(args, 2, other)
          assert.deepStrictEqual(yield* halts, ["chain_changed"])
          yield* steps(args, 40, other)
          assert.deepStrictEqual(yield* contents, before, "not one row of it")
          assert.deepStrictEqual((yield* alerts).slice(told.length), ["page halt chain_changed"])
          const [halt] = yield* (yield* Brake).halts
          assert.include(halt?.detail ?? "", "gateway sandbox is on chain other-1, this treasury on sandbox-1")
          front.manner = (_, ask) => ask()
          yield* (yield* Reconciliation).request
          yield* steps(args, 3)
          assert.deepStrictEqual(yield* halts, ["chain_changed"], "people end it")
          yield* resume
          const command = payment(args[2], "eve", 120n * one, { asset: usdt })
          yield* submit(args[2], signed(args[2], { from: "bob", command, ...(yield* head(args[2])) }))
          yield* steps(args, 30)
          assert.deepStrictEqual(yield* states, ["confirmed", "confirmed"])
          assert.lengthOf(yield* paid(args[1]), 2)
          assert.deepStrictEqual(yield* halts, [])
          assert.deepStrictEqual(yield* (yield* Drifts).all, [])
          assert.deepStrictEqual((yield* alerts).slice(told.length), ["page halt chain_changed"])
        }).pipe(Effect.scoped, Effect.orDie),
    ]),
  )

  it.effect("halts over a restart, which reads nothing of it either", () =>
    behindOneAddress(
      [
        (front, ...args) =>
          Effect.gen(function* () {
            for (let i = 0; i < 8 && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 3)
            yield* steps(args, 6)
            const other = yield* otherNetwork
            kept = yield* contents
            front.manner = elsewhere(other.url)
            yield* steps(args, 1, other)
            // The process ends here, and the next one begins before the other network.
            front.manner = altered(
              ({ method, url }) => method === "GET" && url.pathname === "/blockchain/height",
              (answer) => ({ ...answer, text: answer.text.replaceAll(chainId, "other-1") }),
            )
          }).pipe(Effect.scoped, Effect.orDie),
        (front, ...args) =>
          Effect.gen(function* () {
            yield* steps(args, 10)
            assert.deepStrictEqual(yield* halts, ["chain_changed"])
            assert.deepStrictEqual(yield* contents, kept)
            front.manner = (_, ask) => ask()
            yield* resume
            yield* steps(args, 20)
            assert.deepStrictEqual([yield* halts, yield* (yield* Drifts).all], [[], []])
          }),
      ],
      { unlisted: true },
    ),
  )

  it.effect("of one of three gateways is left out and told, and the others go on", () => {
    let fronts: ReadonlyArray<Front> = []
    const gateways = (url: string) =>
      Effect.map(startFronts(url), (started) => {
        fronts = started
        return started.map(({ name, server }) => `${name}: "${server.url}"`).join(", ")
      })
    const use: Flow = (...args) =>
      Effect.gen(function* () {
        const other = yield* otherNetwork
        yield* steps(args, 3, other, (name) => name !== "decide")
        fronts[1]!.manner = elsewhere(other.url)
        for (let i = 0; i < 10 && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 3, other)
        assert.deepStrictEqual([yield* states, yield* halts], [["confirmed"], []])
        const ofGateways = Effect.map(alerts, (all) => all.filter((one) => one.includes("gateway")))
        assert.deepStrictEqual(yield* ofGateways, ["ticket gateway b"])
        const sql = yield* SqlClient.SqlClient
        assert.lengthOf(yield* sql`SELECT id FROM assets WHERE id = ${otherAsset}`, 0)
        fronts[1]!.manner = (_, ask) => ask()
        yield* steps(args, 3, other)
        assert.deepStrictEqual(yield* ofGateways, ["ticket gateway b", "info gateway b"])
        assert.deepStrictEqual(yield* (yield* Drifts).all, [])
      }).pipe(Effect.scoped, Effect.orDie)
    const pow = "{ difficulty: 3, pastBlocks: 40, txPerBlock: 2, increaseDifficulty: true }"
    return lives([use], { gateways, change: { pow } })
  })
})
