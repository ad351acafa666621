import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ConfigInForce, CycleConfig, type InForce } from "../../src/config/ConfigInForce.ts"
import type { IntentState } from "../../src/domain/Intent.ts"
import { isWanted } from "../../src/engine/isWanted.ts"
import type { SplitRule } from "../../src/rules/Rule.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { bob, type FlowServices, flow, round } from "../support/Flow.ts"
import { type Body, effectOf } from "../support/it.ts"
import { attemptOf } from "../support/Payments.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

const divide = {
  name: "divide",
  split: { from: "alice", asset: "USDT", above: "900", target: "800", to: { bob: 70, eve: 30 } },
  onShort: "hold",
}
const undone = new Set(["submit", "confirm"])

/** Alone in force, with changes. */
const dividing = (settings: InForce, change: (rule: SplitRule) => Partial<SplitRule> = () => ({})) => ({
  ...settings,
  treasury: {
    ...settings.treasury,
    rules: settings.treasury.rules.flatMap((rule) => (rule.kind === "split" ? [{ ...rule, ...change(rule) }] : [])),
  },
})

/** As if what was paid had brought the account into its band. */
const inBand = ({ level }: SplitRule): Partial<SplitRule> => ({
  level: { ...level, trigger: (2_000n * one) as typeof level.trigger },
})
const unfunded = (rule: SplitRule): Partial<SplitRule> => ({
  ...inBand(rule),
  floor: new Map([[rule.level.asset.id, (999n * one) as typeof rule.level.trigger]]),
})

type Known = ReturnType<typeof isWanted>
type Wanting = Effect.Effect<string, Effect.Error<Known>, Effect.Services<Known>>

/**
 * Both parts of a split are decided, and one attempt of the smaller came to nothing; `second` asks whether another one
 * is wanted.
 */
const halves = (
  use: Body<
    [
      known: {
        readonly second: (change?: (rule: SplitRule) => Partial<SplitRule>) => Wanting
        readonly firstIs: (...states: ReadonlyArray<IntentState>) => Effect.Effect<void, unknown, Observations>
        readonly look: ReturnType<typeof round>
      },
    ],
    FlowServices
  >,
) =>
  flow(
    function* (options, sandbox) {
      const outbox = yield* Outbox
      const settings = yield* CycleConfig
      const alone = dividing(settings)
      yield* (yield* ConfigInForce).replace(alone, Effect.void)
      const look = round(options, sandbox, undone).pipe(Effect.provideService(CycleConfig, alone))
      for (let i = 0; i < 3; i++) yield* look
      const open = (yield* outbox.open).toSorted((a, b) => Number(b.payment.amount - a.payment.amount))
      const [larger, smaller] = open
      assert.lengthOf(open, 2)
      const reserved = yield* outbox.move(smaller!, "reserved", { detail: "" })
      const attempt = attemptOf(reserved, 1)
      yield* outbox.persist(reserved, attempt)
      const sent = Option.getOrThrow(yield* outbox.byId(smaller!.id))
      yield* outbox.settle(sent, attempt, "expired", "reserved", { detail: "" })
      yield* effectOf(
        use({
          look,
          second: (change) =>
            isWanted(smaller!).pipe(
              Effect.map(({ verdict }) => verdict),
              Effect.provideService(CycleConfig, dividing(settings, change)),
            ),
          firstIs: (...states) =>
            Effect.gen(function* () {
              let first = larger!
              const seen = (yield* (yield* Observations).watermark)?.timestamp
              for (const state of states) {
                const settledAt = state === "confirmed" ? seen : undefined
                first = yield* outbox.move(first, state, { detail: "", settledAt })
              }
            }),
        }),
      )
    },
    { rules: [divide] },
  )

describe("another attempt of one part of a split", () => {
  it.effect("is wanted while the other part is unpaid, though the balance is in band", () =>
    halves(function* ({ second }) {
      assert.strictEqual(yield* second(), "wanted")
      assert.strictEqual(yield* second(inBand), "wanted")
      assert.strictEqual(yield* second(unfunded), "gone", "funds are judged again")
    }),
  )

  it.effect("is wanted where the other part executed, once the balances show it", () =>
    halves(function* ({ second, firstIs, look }) {
      yield* firstIs("reserved", "in_flight", "confirmed")
      assert.strictEqual(yield* second(inBand), "later")
      for (let i = 0; i < 3; i++) yield* look
      assert.strictEqual(yield* second(inBand), "wanted")
      const alone = (rule: SplitRule) => ({ ...inBand(rule), to: rule.to.slice(0, 1) })
      assert.strictEqual(yield* second(alone), "gone", "the rule pays its receiver no more")
    }),
  )

  it.effect("is over with the need where the other part came to nothing", () =>
    halves(function* ({ second, firstIs }) {
      yield* firstIs("reserved", "abandoned")
      assert.strictEqual(yield* second(inBand), "gone")
    }),
  )
})

describe("a decided payment whose receiver pays on", () => {
  it.effect("is still wanted: its rule would pay more of it now", () =>
    flow(function* (options, sandbox, client) {
      const outbox = yield* Outbox
      const isDecided = Effect.map(outbox.open, (open) => open.length === 1)
      yield* waitUntil("the decision", isDecided, round(options, sandbox, undone))
      const [intent] = yield* outbox.open
      const onward = payment(client, "eve", 10n * one, { asset: usdt })
      yield* submit(client, signed(client, { from: "bob", command: onward, framing: "bare", ...(yield* head(client)) }))
      const has = Effect.map(
        Effect.flatMap(Observations, ({ accounts }) => accounts),
        (all) => all.some(({ party, balance }) => party === bob && balance < 50n * one),
      )
      yield* waitUntil("the smaller balance", has, round(options, sandbox, undone))
      assert.strictEqual((yield* isWanted(intent!)).verdict, "wanted")
    }),
  )
})
