import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { accountKeyText } from "../../src/domain/Balance.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import {
  alice,
  bob,
  eve,
  type Flow,
  type FlowServices,
  flow,
  paid,
  pass,
  reason,
  round,
  states,
} from "../support/Flow.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"

/** Pays bob by what eve has. */
const readsEve = join(tempDir("submitter-mismatch"), "rules.ts")
writeFileSync(
  readsEve,
  `import type { Rules } from "cofferer/rules"

export const rules: Rules = [
  {
    name: "reads-eve",
    code: {
      accounts: [{ party: "eve", asset: "USDT" }],
      from: "alice",
      to: "bob",
      asset: "USDT",
      need: ({ balances, one }) => (balances["eve/USDT"] < 600n * one ? { pay: 100n * one } : undefined),
    },
  },
]
`,
)
const still = { topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "0.000001", target: "1" }] } }

const account = (party: string) => ({ party, asset: usdt, market: "", type: "ACCOUNT_TYPE_GENERAL" })
const differs = (party: string) => [{ ...account(party), stored: 1n, reported: 2n }]
const deposits = [
  { party: "alice", asset: "USDT", amount: "1_000" },
  { party: "bob", asset: "USDT", amount: "50" },
  { party: "eve", asset: "USDT", amount: "500" },
]
/** What two looks of a comparison would note, which the rounds here leave out. */
const begins = (party: string) =>
  Effect.flatMap(Drifts, (store) =>
    store.note({ differing: differs(party), agreeing: new Set(), listed: 1n, until: 1n }),
  )
const ends = (party: string) =>
  Effect.flatMap(Drifts, (store) => {
    const agreeing = new Set([accountKeyText(account(party))])
    const agrees = (at: bigint) => store.note({ differing: [], agreeing, listed: at, until: at })
    return Effect.andThen(agrees(2n), agrees(3n))
  })
const detail = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(1)),
  ([intent]) => intent?.detail,
)
const rounds = (args: Parameters<Flow>, count: number, ...skip: ReadonlyArray<string>) =>
  Effect.repeat(round(args[0], args[1], new Set(["compare", ...skip])), { times: count - 1 })
/**
 * A payment is decided, in rounds without these parts, by a clock that is 20 s ahead and right from then on. Its need
 * goes `meanwhile`, and it must end unpaid.
 */
const fastAtFirst = <E>(
  skip: ReadonlyArray<string>,
  meanwhile: (paysBob: Effect.Effect<void, unknown, FlowServices>) => Effect.Effect<void, E, FlowServices>,
) =>
  Effect.suspend(() => {
    let ahead = 20_000
    return flow(
      function* (...args) {
        const [options, sandbox, client] = args
        for (let i = 0; i < 20 && (yield* states).length === 0; i++) yield* round(options, sandbox, new Set(skip))
        ahead = 0
        const command = payment(client, "bob", 150n * one, { asset: usdt })
        yield* meanwhile(
          Effect.gen(function* () {
            yield* submit(client, signed(client, { from: "eve", command, ...(yield* head(client)) }))
          }),
        )
        // The clock comes to the time of the decision.
        yield* pass(sandbox, 21, rounds(args, 1, "decide", "submit"))
        yield* rounds(args, 10)
        assert.deepStrictEqual(yield* states, ["cancelled"])
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      {
        scenario: { deposits },
        clock: (network) => ({
          ...network,
          currentTimeMillisUnsafe: () => network.currentTimeMillisUnsafe() + ahead,
          currentTimeMillis: Effect.map(network.currentTimeMillis, (now) => now + ahead),
        }),
      },
    )
  })
const waits = /^waits: our rows and the gateway's balance of one of its accounts differ/

describe("a payment of an account in mismatch", () => {
  it.effect.each([
    ["who pays", alice],
    ["who receives", bob],
  ] as const)("is not signed while it stands, whoever asked for it (%s)", ([, party]) =>
    flow(function* (...args) {
      const [options, sandbox] = args
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["decide", "submit"]))
      yield* begins(party)
      const transfer = { from: "alice", to: "bob", asset: "USDT", amount: "30" }
      yield* submitPayment(options.treasury, "live", { idempotencyKey: "one", transfer })
      yield* pass(sandbox, 20, rounds(args, 1, "decide"))
      assert.deepStrictEqual(yield* states, ["reserved"])
      assert.match((yield* detail) ?? "", waits)
      yield* ends(party)
      yield* rounds(args, 10, "decide")
      assert.deepStrictEqual(yield* states, ["confirmed"])
      assert.lengthOf(yield* paid(sandbox), 1)
    }),
  )

  it.effect("is asked about again once it is over: it may have been decided by false rows", () =>
    flow(
      function* (...args) {
        const [options, sandbox, client] = args
        for (let i = 0; i < 20 && (yield* states).length === 0; i++) yield* round(options, sandbox, new Set(["submit"]))
        yield* begins(bob)
        yield* rounds(args, 3)
        assert.deepStrictEqual(yield* states, ["reserved"])
        const command = payment(client, "bob", 150n * one, { asset: usdt })
        yield* submit(client, signed(client, { from: "eve", command, ...(yield* head(client)) }))
        yield* rounds(args, 3)
        yield* ends(bob)
        yield* rounds(args, 10)
        assert.deepStrictEqual(yield* states, ["cancelled"])
        assert.include(yield* detail, "today the rule would not decide it")
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      { scenario: { deposits } },
    ),
  )

  it.effect("is asked about again once it is over on an account that its rule only reads", () =>
    flow(
      function* (...args) {
        const [options, sandbox, client] = args
        for (let i = 0; i < 20 && (yield* states).length === 0; i++) yield* round(options, sandbox, new Set(["submit"]))
        yield* begins(eve)
        const command = payment(client, "eve", 150n * one, { asset: usdt })
        yield* submit(client, signed(client, { from: "bob", command, ...(yield* head(client)) }))
        yield* rounds(args, 3, "submit")
        yield* ends(eve)
        yield* rounds(args, 10)
        assert.deepStrictEqual(yield* states, ["cancelled"])
        assert.lengthOf(yield* paid(sandbox), 0)
      },
      {
        rules: [readsEve],
        keepBob: still,
        scenario: { deposits: deposits.with(1, { ...deposits[1]!, amount: "500" }) },
      },
    ),
  )

  it.effect("is asked about again where the clock, right again, puts the end of it before the decision", () =>
    fastAtFirst(["submit"], (paysBob) =>
      begins(bob).pipe(Effect.andThen(paysBob), Effect.andThen(ends(bob)), Effect.asVoid),
    ),
  )
})

it.effect("a payment is asked about again if its key was cleared after it, whatever the clock said", () =>
  fastAtFirst(["submit", "reconcile"], (paysBob) => paysBob),
)

describe("a mismatch of a margin account", () => {
  it.effect.each([
    ["free", "in_band"],
    ["total", "drift"],
  ])("where a rule judges the %s balance: %s", ([balance, expected]) =>
    flow(
      function* (...args) {
        const margin = { party: bob, asset: usdt, market: "ee".repeat(32), type: "ACCOUNT_TYPE_MARGIN" }
        yield* rounds(args, 3)
        const differing = [{ ...margin, stored: 1n, reported: 2n }]
        const drifts = yield* Drifts
        yield* drifts.note({ differing, agreeing: new Set(), listed: 1n, until: 1n })
        yield* drifts.check
        yield* rounds(args, 1)
        assert.strictEqual(yield* reason, expected)
      },
      {
        scenario: { deposits },
        keepBob: { topUp: { from: "alice", levels: [{ ...still.topUp.levels[0]!, balance }] } },
      },
    ),
  )
})
