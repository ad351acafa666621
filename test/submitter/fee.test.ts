import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { byOneConfig, ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { assetLoop } from "../../src/poller/AssetPoller.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { type Flow, type FlowServices, type FlowSetup, flow, paid, round, states } from "../support/Flow.ts"
import { altered, type Front, honest, type Manner } from "../support/Fronts.ts"
import { hasAttempt } from "../support/Intents.ts"
import type { Body } from "../support/it.ts"
import { behind as behindFront } from "../support/LoneLiar.ts"
import { waitUntil } from "../support/until.ts"

const isAbout =
  (path: string) =>
  ({ url }: { readonly url: URL }) =>
    url.pathname === path
const isParameters = isAbout("/api/v2/network/parameters")

/** A gateway that tells another factor of the fee than the network has. */
const telling = (factor: string): Manner =>
  altered(isParameters, (answer) => {
    const told = JSON.parse(answer.text)
    for (const { node } of told.networkParameters.edges) if (node.key === "transfer.fee.factor") node.value = factor
    return { ...answer, text: JSON.stringify(told) }
  })
const silent = (isMeant: ReturnType<typeof isAbout>): Manner =>
  altered(isMeant, () => ({ status: 503, headers: {}, text: "" }))

/** A network behind a gateway that has its manners from the start. */
type Use = Body<[front: Front, ...args: Parameters<Flow>], FlowServices>
const behind = (manner: Manner, use: Use, setup: FlowSetup) =>
  behindFront(setup, (front, _, ...args) => use(front, ...args), manner)

const still = new Set(["decide"])
const handIn = (options: Parameters<Flow>[0], amount = "100", key = "a") =>
  submitPayment(options.treasury, "live", {
    idempotencyKey: key,
    author: "ana",
    transfer: { from: "alice", to: "eve", asset: "USDT", amount },
  })
const details = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(1)),
  (intents) => intents.map(({ state, detail }) => `${state}: ${detail}`).join(),
)
const refusals = (intentId: string) =>
  Effect.map(
    Effect.flatMap(Journal, (journal) => journal.about(intentId)),
    (entries) => entries.flatMap(({ kind, body }) => (kind === "refusal" ? [JSON.parse(body).refusal] : [])),
  )

describe("the network's fee, when a payment is signed", () => {
  const cases: ReadonlyArray<readonly [string, Manner, RegExp]> = [
    ["above maxFee", telling("0.05"), /waits: .*the network takes a fee of 1000000, more than the 200000/],
    ["not known", silent(isParameters), /waits: .*the network's fee is not known/],
  ]
  for (const [what, manner, says] of cases) {
    it.effect(`${what}: a person's payment waits, and is paid once it is within`, () =>
      behind(
        manner,
        function* (front, options, sandbox) {
          // Work for which no parameter vouches is believed after ten blocks.
          for (let i = 0; i < 12; i++) yield* round(options, sandbox, still)
          const { intentId } = yield* handIn(options)
          for (let i = 0; i < 3; i++) yield* round(options, sandbox, still)
          assert.match(yield* details, says)
          assert.deepStrictEqual(yield* refusals(intentId), ["fee"], "told once")
          assert.lengthOf(yield* paid(sandbox), 0)
          front.manner = honest
          yield* TestClock.adjust("1 minute")
          for (let i = 0; i < 5; i++) yield* round(options, sandbox, still)
          assert.deepStrictEqual(yield* states, ["confirmed"])
          assert.lengthOf(yield* paid(sandbox), 1)
        },
        {},
      ),
    )
  }

  it.effect("above a maxFee of nothing: it waits", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, still)
        yield* handIn(options)
        for (let i = 0; i < 6; i++) yield* round(options, sandbox, still)
        assert.match(yield* details, /waits: .*the network takes a fee of 100000, more than the 0 that/)
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      { policy: { maxFee: "0%" } },
    ),
  )

  it.effect("above what was set aside for it: it waits, whatever maxFee a reload allows", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, still)
        yield* handIn(options)
        yield* round(options, sandbox, still)
        assert.match(yield* details, /waits: .*the network takes a fee of 200000, more than the 50000 that/)
        const { document } = options.treasury
        const raised = JSON.parse(JSON.stringify(document.value).replace("0.05%", "0.2%"))
        const treasury = yield* treasuryOf({ ...document, value: raised })
        yield* (yield* ConfigInForce).replace({ treasury, mode: "live" }, Effect.void)
        yield* byOneConfig(submitOnce())
        // Of 1,000 USDT, what is set aside for both leaves 500.0018; their fees together would leave 499.9018.
        yield* handIn({ ...options, treasury }, "399.1", "b")
        yield* byOneConfig(submitOnce())
        for (let i = 0; i < 4; i++) yield* round(options, sandbox, still)
        assert.isAtLeast(Number(yield* sandbox.ledger.balance("alice", "USDT")), 500_000_000)
        assert.deepStrictEqual((yield* states).toSorted(), ["confirmed", "reserved"])
      },
      {
        scenario: { feeFactor: "0.002" },
        alice: { floor: { USDT: "500" } },
        line: { perTransfer: "400", per24h: "800" },
        policy: { maxFee: "0.05%" },
        network: { framing: "bare" },
      },
    ),
  )

  it.effect("read ten minutes ago is not believed any more", () =>
    behind(
      honest,
      function* (front, options, sandbox) {
        yield* round(options, sandbox, still)
        front.manner = silent(isParameters)
        yield* TestClock.adjust("10 minutes")
        yield* round(options, sandbox, still)
        yield* handIn(options)
        for (let i = 0; i < 3; i++) yield* round(options, sandbox, still)
        assert.match(yield* details, /waits: .*the network's fee was last read more than 10 minutes ago/)
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      {},
    ),
  )

  it.effect("is read though the asset listing cannot be", () =>
    behind(
      silent(isAbout("/api/v2/assets")),
      function* () {
        const listings = yield* Listings
        const loop = yield* Effect.forkChild(assetLoop)
        for (let i = 0; i < 500 && (yield* listings.parameters).size === 0; i++) {
          yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        }
        yield* Fiber.interrupt(loop)
        assert.strictEqual((yield* listings.parameters).get("transfer.fee.factor"), "0.001")
      },
      { unlisted: true },
    ),
  )

  it.effect("is written down for a gateway without parameters, otherwise unknown", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 16; i++) yield* round(options, sandbox, new Set(["submit"]))
        const { now, replace } = yield* ConfigInForce
        const before = now()
        const network = { ...before.treasury.network, fee: undefined }
        yield* replace({ ...before, treasury: { ...before.treasury, network } }, Effect.void)
        yield* byOneConfig(submitOnce())
        assert.match(yield* details, /waits: .*the network's fee is not known; .* set network\.fee/)
        yield* replace(before, Effect.void)
        yield* submitOnce()
        yield* round(options, sandbox, still)
        assert.match(yield* details, /in_flight/)
      },
      { scenario: { profile: "specification" } },
    ),
  )

  it.effect("taken above the bound pages people, and counts against the floor", () =>
    behind(
      telling("0.001"),
      function* (_, options, sandbox) {
        yield* waitUntil("an attempt", hasAttempt, round(options, sandbox))
        const blind = new Set(["decide", "poll", "reconcile", "compare"])
        for (let i = 0; i < 34; i++) yield* round(options, sandbox, blind)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        const pages = (yield* (yield* AlertQueue).due(10)).filter(({ severity }) => severity === "page")
        assert.match(
          pages.map(({ detail }) => detail).join(),
          /took a fee of 7\.50 USDT; at most 0\.30 USDT was allowed/,
        )
        // 1,000 less 150 and the fee is 842.5: a fee of 0.3 would leave enough.
        assert.include((yield* Effect.flip(handIn(options, "200"))).message, "alice is short: 842.50 USDT can be spent")
      },
      {
        network: { maxAge: "2m" },
        alice: { floor: { USDT: "645" } },
        scenario: { feeFactor: "0.05", feeMaxQuantum: "1000" },
      },
    ),
  )
})
