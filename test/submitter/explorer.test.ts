import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { toJson } from "../../src/cli/output.ts"
import { type Story, storyText } from "../../src/cli/storyText.ts"
import { gatewayOptions } from "../../src/gateway/GatewayOptions.ts"
import { layerGateways } from "../../src/gateway/layerGateways.ts"
import { storyOf } from "../../src/status/stories.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { inclusionOf } from "../../src/submitter/inclusionOf.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { json, live, startGateway } from "../gateway/GatewayServer.ts"
import { alice, type Flow, flow, paid, round, states } from "../support/Flow.ts"
import {
  behind,
  hiding,
  hidingButMovements,
  nowhere,
  refusedThere,
  unknown,
  withoutExplorer,
  withoutTransfers,
} from "../support/Instead.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { turn, waitUntil } from "../support/until.ts"

const unsent = new Set(["submit", "confirm"])
const quiet = new Set(["decide", "reconcile", "compare", "submit"])

/** Decided, sent and in a block; the balances are not looked at since. `first` runs before it is sent. */
const sent = ([options, sandbox]: Parameters<Flow>, first: Effect.Effect<unknown, unknown> = Effect.void) =>
  Effect.gen(function* () {
    for (let i = 0; i < 3; i++) yield* round(options, sandbox, unsent)
    yield* first
    yield* submitOnce()
    yield* TestClock.adjust("1 second")
    yield* submitOnce()
    yield* TestClock.adjust("1 second")
    yield* sandbox.stepBlock
  })

/** As many blocks, each with a look. */
const blocks = ([, sandbox]: Parameters<Flow>, count: number) =>
  Effect.gen(function* () {
    for (let i = 0; i < count; i++) {
      yield* TestClock.adjust("1 second")
      yield* sandbox.stepBlock
      yield* confirmOnce()
    }
  })

/** All of alice's money goes elsewhere before her payment is in the block. */
const drained = (client: TestClient) =>
  Effect.gen(function* () {
    const command = payment(client, "eve", 999n * one, { asset: usdt })
    yield* submit(client, signed(client, { from: "alice", command, ...(yield* head(client)) }))
  })

const newest = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  const id = intent?.id ?? ""
  const kinds = (yield* outbox.evidence(id)).map(({ kind }) => kind)
  return { intent, attempts: yield* outbox.attempts(id), kinds }
})

/** What a block refused has failed once its window is over, by that evidence alone, and is not tried again. */
const endsRefused: Flow = (...flowed) =>
  Effect.gen(function* () {
    yield* sent(flowed, drained(flowed[2]))
    yield* blocks(flowed, 3)
    assert.notInclude(yield* states, "failed")
    yield* blocks(flowed, 32)
    const { intent, kinds, attempts } = yield* newest
    assert.strictEqual(intent?.state, "failed")
    assert.match(intent?.detail ?? "", /^in block [0-9]+ and refused there with code [0-9]+: .*/)
    assert.deepStrictEqual(
      kinds.filter((kind) => kind === "absent" || kind === "execution_failed"),
      ["execution_failed"],
    )
    assert.strictEqual(attempts.length, 1)
  })

/** Nothing fails while something shows it as done, whatever an explorer shows. */
const failsNothing =
  (quietly: boolean): Flow =>
  (...flowed) =>
    Effect.gen(function* () {
      yield* sent(flowed)
      if (quietly) for (let i = 0; i < 15; i++) yield* round(flowed[0], flowed[1], quiet)
      else yield* blocks(flowed, 15)
      const { intent, kinds } = yield* newest
      assert.include(["in_flight", "unknown"], intent?.state)
      assert.notInclude(kinds, "execution_failed")
      assert.notInclude(kinds, "absent")
    })

describe("an explorer, where transfers cannot be looked up,", () => {
  it.effect("confirms a payment that the balances do not show", () =>
    flow(
      (...flowed) =>
        Effect.gen(function* () {
          yield* sent(flowed)
          yield* confirmOnce()
          assert.deepStrictEqual(yield* states, ["in_flight"], "one look is no word to rely on")
          yield* blocks(flowed, 30)
          const { intent, kinds } = yield* newest
          assert.strictEqual(intent?.state, "confirmed")
          assert.include(intent?.detail ?? "", "fee not known, at most 0.30, shown by the explorer")
          assert.isUndefined(intent?.fee)
          assert.include(
            storyText(JSON.parse(toJson(yield* storyOf(intent!.id))) as Story),
            "fee not known of at most 0.30",
          )
          assert.include(kinds, "executed")
          assert.strictEqual((yield* paid(flowed[1])).length, 1)
        }),
      behind(withoutTransfers),
    ),
  )

  it.effect("ends as failed what a block refused, once the window is over", () =>
    flow(endsRefused, behind(withoutTransfers)),
  )

  it.effect("is not there either: then nothing ends the payment", () =>
    flow(
      (...flowed) =>
        Effect.gen(function* () {
          yield* sent(flowed)
          yield* blocks(flowed, 15)
          const { intent, attempts } = yield* newest
          assert.include(["in_flight", "unknown"], intent?.state)
          assert.strictEqual(attempts.length, 1)
        }),
      behind(withoutTransfers, withoutExplorer),
    ),
  )
})

describe("an explorer, where a gateway hides the transfer,", () => {
  it.effect("outweighs listings that do not hold it, and people are called", () =>
    flow(
      (...flowed) =>
        Effect.gen(function* () {
          yield* sent(flowed)
          yield* blocks(flowed, 40)
          assert.notInclude((yield* newest).kinds, "absent")
          yield* blocks(flowed, 65)
          const { intent, attempts } = yield* newest
          assert.strictEqual(intent?.state, "manual")
          assert.strictEqual(attempts.length, 1)
          assert.strictEqual((yield* paid(flowed[1])).length, 1)
        }),
      behind(hiding),
    ),
  )

  it.effect("ends as failed what a block refused, once the window is over", () => flow(endsRefused, behind(hiding)))

  it.effect("fails nothing that the balances show as done", () =>
    flow(failsNothing(true), behind(hiding, refusedThere)),
  )

  it.effect("fails nothing that the ledger's movements show as done", () =>
    flow(failsNothing(false), behind(hidingButMovements, refusedThere)),
  )

  it.effect("is not there either: listings alone prove it", () =>
    flow(
      (...flowed) =>
        Effect.gen(function* () {
          yield* sent(flowed)
          yield* blocks(flowed, 35)
          assert.include((yield* newest).kinds, "absent")
        }),
      behind(hiding, withoutExplorer),
    ),
  )
})

describe("the explorers of three gateways", () => {
  const hash = "ab".repeat(32)
  const attempt = attemptOf(intentOf("a"), 1, {
    party: alice,
    nonce: 9n,
    anchorHeight: 5n,
    windowBlocks: 5,
    hashBare: hash,
    hashPrefixed: "cd".repeat(32),
    state: "unknown",
    sends: 1,
  })
  const shows = (more: Readonly<Record<string, unknown>> = {}) => ({
    status: 200,
    body: { transaction: { block: "7", hash, submitter: alice, code: 0, command: { nonce: "9" }, ...more } },
  })
  const refused = shows({ code: 70, error: "no funds" })
  const broken = { status: 500, body: {} }
  const cases = [
    ["two of the same word end it", [shows(), shows(), unknown], "executed", "g1+g2"],
    ["two refusals in one block end it", [unknown, refused, refused], "failed", "g2+g3"],
    ["one alone ends nothing", [shows(), unknown, unknown], "included", ""],
    ["one alone fails nothing", [refused, nowhere, broken], "included", ""],
    ["two of different ends agree on nothing", [shows(), refused, unknown], "included", ""],
    ["two refusals prove nothing while a third shows it done", [refused, refused, shows()], "included", "g1+g2"],
    ["none has seen it", [unknown, nowhere, broken], "unseen", ""],
    [
      "another's transaction under the hash is none",
      [shows({ submitter: "ee" }), shows({ command: { nonce: "8" } }), unknown],
      "unseen",
      "",
    ],
  ] as const

  it.effect("are not waited for where one of them hangs", () =>
    Effect.gen(function* () {
      const { status, body } = shows()
      const servers = yield* Effect.forEach([0, 1, 2], (i) => startGateway(i === 0 ? () => {} : json(body, status)))
      const gateways = servers.map(({ url }, i) => gatewayOptions({ name: `g${i + 1}`, url }))
      const layer = layerGateways({ chainId: "c", gateways, quorum: 2 }).pipe(Layer.provide(live))
      const looking = yield* Effect.forkChild(Effect.provide(inclusionOf({ ...attempt, hashPrefixed: hash }), layer))
      yield* waitUntil("a request at each", () => servers.every(({ arrived }) => arrived.length > 0))
      yield* Effect.repeat(turn, { times: 100 })
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(looking)).verdict, "executed")
    }).pipe(Effect.scoped),
  )

  it.effect.each(cases)("%s", ([, answers, verdict, gateway]) =>
    Effect.gen(function* () {
      const servers = yield* Effect.forEach(answers, ({ status, body }) =>
        startGateway((response, arrived, socket) =>
          (arrived.url.pathname.endsWith(hash) ? json(body, status) : json(unknown.body, 404))(
            response,
            arrived,
            socket,
          ),
        ),
      )
      const gateways = servers.map(({ url }, i) => gatewayOptions({ name: `g${i + 1}`, url }))
      const found = yield* Effect.provide(
        inclusionOf(attempt),
        layerGateways({ chainId: "c", gateways, quorum: 2 }).pipe(Layer.provide(live)),
      )
      assert.strictEqual(found.verdict, verdict)
      assert.strictEqual(found.gateway, gateway)
    }).pipe(Effect.scoped),
  )
})
