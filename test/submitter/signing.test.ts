import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { byOneConfig, ConfigInForce, CycleConfig } from "../../src/config/ConfigInForce.ts"
import { type Treasury, treasuryOf } from "../../src/config/Treasury.ts"
import { general } from "../../src/domain/Balance.ts"
import type { IntentId } from "../../src/domain/Hex.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { putInForce, writeAtomically } from "../../src/http/putInForce.ts"
import { disagreement } from "../../src/store/alerts/makeTrouble.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import type { Settings } from "../../src/store/database/Settings.ts"
import type { StoreError } from "../../src/store/database/StoreError.ts"
import { haltingOnStoreErrors } from "../../src/store/database/storeErrors.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { ChainHeadCache } from "../../src/submitter/ChainHeadCache.ts"
import { SigningFacts } from "../../src/submitter/SigningFacts.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { signAttempt } from "../../src/submitter/signAttempt.ts"
import { signIntent } from "../../src/submitter/signIntent.ts"
import { alice, type Flow, type FlowBody, flow, lives, paid, round, states } from "../support/Flow.ts"
import { newestIntent } from "../support/Intents.ts"
import { effectOf, it } from "../support/it.ts"

/** Rows of the signer's memory and of its attempts, and what the journal holds of both. */
const kept = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [intent] = yield* (yield* Outbox).recent(1)
  const kinds = (yield* (yield* Journal).about(intent!.id)).map(({ kind }) => kind)
  const count = (table: string) => Effect.map(sql.unsafe(`SELECT 1 FROM ${table}`), (rows) => rows.length)
  return {
    spends: yield* count("spends"),
    attempts: yield* count("attempts"),
    signatures: kinds.filter((kind) => kind === "signature").length,
  }
})

/** Refuses one statement of the signature's transaction, then plays on without it. */
const refusing = (trigger: string): Flow =>
  Effect.fnUntraced(function* (options, sandbox) {
    const sql = yield* SqlClient.SqlClient
    for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
    yield* sql.unsafe(`CREATE TRIGGER spoilt ${trigger} BEGIN SELECT RAISE(ABORT, 'the disk says no'); END`)
    yield* Effect.exit(haltingOnStoreErrors(submitOnce()))
    assert.deepStrictEqual(yield* kept, { spends: 0, attempts: 0, signatures: 0 })
    assert.lengthOf(yield* (yield* Controls).halts, 1, "it halts")
    yield* sql.unsafe("DROP TRIGGER spoilt")
    yield* (yield* Controls).resume({ scope: "all", reason: "a new disk", author: "ana" })
    // Other blocks have begun: the command is another one now, and no signature for an older one is in its way.
    for (let i = 0; i < 7; i++) yield* round(options, sandbox)
    assert.deepStrictEqual(yield* states, ["confirmed"])
    assert.lengthOf(yield* paid(sandbox), 1)
    assert.deepStrictEqual(yield* kept, { spends: 1, attempts: 1, signatures: 1 })
  })

describe("a signature and its attempt", () => {
  it.effect("are durable together: without the attempt's row there is no signature either", () =>
    flow(refusing("BEFORE INSERT ON attempts")),
  )

  it.effect("are durable together: without the payment's new state there is no signature either", () =>
    flow(refusing("BEFORE UPDATE ON intents WHEN NEW.state = 'in_flight'")),
  )

  it.effect("are not there where the signer's memory fails", () => flow(refusing("BEFORE INSERT ON spends")))

  it.effect("are not there where the journal does not take the signature", () =>
    flow(refusing("BEFORE INSERT ON journal WHEN NEW.kind = 'signature'")),
  )

  it.effect("are refused with an entry in the journal, which stays", () =>
    flow(
      function* (options, sandbox) {
        const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "150" }
        const asked = { idempotencyKey: "a", author: "ana", transfer }
        // Before any balance is known, so that the signer is the first to see that the money is missing.
        const { intentId } = yield* submitPayment(options.treasury, "live", asked)
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["decide", "submit"]))
        yield* submitOnce()
        const entries = yield* (yield* Journal).about(intentId)
        assert.deepStrictEqual(
          entries.filter(({ kind }) => kind === "refusal").map(({ body }) => JSON.parse(body).refusal),
          ["floor"],
        )
        assert.deepStrictEqual(yield* kept, { spends: 0, attempts: 0, signatures: 0 })
      },
      { alice: { floor: { USDT: "900" } } },
    ),
  )
})

const asked = Effect.gen(function* () {
  const [intent] = yield* (yield* Outbox).open
  return intent ?? assert.fail("nothing was decided")
})

type Meanwhile = Effect.Effect<void, StoreError, Outbox | ConfigInForce | Settings>

const otherConfig: Meanwhile = Effect.gen(function* () {
  const { now, replace } = yield* ConfigInForce
  yield* replace({ ...now(), treasury: { ...now().treasury, rules: [] } }, Effect.void)
})
const endedElsewhere: Meanwhile = Effect.gen(function* () {
  yield* (yield* Outbox).move(yield* asked, "cancelled", { detail: "paid by another copy of this database" })
})

const apart: Meanwhile = Effect.gen(function* () {
  yield* (yield* disagreement).note("they show other balances")
})

describe("a payment about which the network is asked is not signed if meanwhile", () => {
  it.effect.each([
    ["another configuration came into force", otherConfig, undefined],
    ["another loop ended it", endedElsewhere, undefined],
    ["the gateways disagreed", apart, "they show other balances"],
  ] as const)("%s", ([, meanwhile, why]) =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
      const facts = yield* SigningFacts
      const during = yield* Effect.context<Outbox | ConfigInForce | Settings>()
      const slow = SigningFacts.of({
        ...facts,
        chain: (rows) => Effect.tap(facts.chain(rows), Effect.provide(meanwhile, during)),
      })
      const { outcome } = yield* signAttempt(yield* asked).pipe(Effect.provideService(SigningFacts, slow))
      assert.deepStrictEqual(outcome, { _tag: "Wait", why })
      assert.deepStrictEqual(yield* kept, { spends: 0, attempts: 0, signatures: 0 })
    }),
  )
})

it.effect("what can be spent is of the payer's account, less what executed since its balances", () =>
  flow(function* (options, sandbox) {
    for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
    const [intent, outbox, observations] = [yield* asked, yield* Outbox, yield* Observations]
    const { request } = yield* SigningFacts
    const spendable = Effect.map(byOneConfig(request(intent, 1n)), (facts) => facts.spendable)
    const before = yield* spendable
    const { timestamp, height } = (yield* observations.watermark)!
    const row = { party: alice, asset: "0".repeat(64), market: "", type: general, balance: 7n, timestamp }
    const reached = { timestamp: timestamp + 1_000n, height }
    yield* observations.advance([row], reached)
    assert.strictEqual(yield* spendable, before)
    const other = { ...intent, id: "d".repeat(64) as IntentId, episode: 9 }
    yield* outbox.record(other)
    const reserved = yield* outbox.move(other, "reserved", { detail: "" })
    const sent = yield* outbox.move(reserved, "in_flight", { detail: "" })
    yield* outbox.move(sent, "confirmed", { detail: "", fee: 0n, settledAt: reached.timestamp })
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* spendable, before - other.payment.amount - other.feeMax)
  }),
)

it.effect("a payment whose rule is gone from the configuration is not signed", () =>
  flow(function* (options, sandbox) {
    for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
    yield* asked
    yield* otherConfig
    for (let i = 0; i < 4; i++) yield* round(options, sandbox, new Set(["decide"]))
    assert.deepStrictEqual(yield* kept, { spends: 0, attempts: 0, signatures: 0 })
    assert.deepStrictEqual(yield* states, ["cancelled"])
  }),
)

/** Puts it in force and notes it, as a reload does. */
const reloadedAs = Effect.fnUntraced(function* (treasury: Treasury) {
  const { now, replace } = yield* ConfigInForce
  const noted = putInForce({ treasury, mode: "live" }, { detail: "rules changed" }, now().treasury.rules)
  yield* replace({ treasury, mode: "live" }, writeAtomically(noted))
})

/** The treasury with another text in its files. */
const changed = ({ document }: Treasury, from: string, to: string) => {
  const text = JSON.stringify(document.value)
  assert.include(text, from)
  const value: unknown = JSON.parse(text.replace(from, to))
  return treasuryOf({ ...document, value })
}

it.effect("a payment whose rule pays less since a reload is decided again", () =>
  flow(function* (options, sandbox) {
    for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
    const before = yield* asked
    const treasury = yield* changed(options.treasury, '"target":"200"', '"target":"150"')
    yield* reloadedAs(treasury)
    yield* byOneConfig(submitOnce())
    assert.strictEqual((yield* newestIntent).state, "cancelled")
    for (let i = 0; i < 6; i++) yield* byOneConfig(round({ ...options, treasury }, sandbox))
    assert.deepStrictEqual(yield* states, ["confirmed", "cancelled"])
    const less = 50n * 10n ** BigInt(before.decimals)
    assert.strictEqual((yield* newestIntent).payment.amount, before.payment.amount - less)
    assert.lengthOf(yield* paid(sandbox), 1)
  }),
)

it.effect("a payment is decided again after a reload that the clock, right again, puts before it", () =>
  Effect.suspend(() => {
    let ahead = 20_000
    return flow(
      function* (options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
        yield* asked
        ahead = 0
        yield* reloadedAs(yield* changed(options.treasury, '"target":"200"', '"target":"150"'))
        // Nothing is judged until the clock has come to the time of the decision.
        for (let i = 0; i < 21; i++) yield* round(options, sandbox, new Set(["decide", "submit"]))
        yield* byOneConfig(submitOnce())
        assert.deepStrictEqual(yield* states, ["cancelled"])
      },
      {
        clock: (network) => ({
          ...network,
          currentTimeMillisUnsafe: () => network.currentTimeMillisUnsafe() + ahead,
          currentTimeMillis: Effect.map(network.currentTimeMillis, (now) => now + ahead),
        }),
      },
    )
  }),
)

it.effect("what came after a decision is known by the journal, reloads and starts alike", () => {
  const known = Effect.gen(function* () {
    const { noted, isCompared } = yield* byOneConfig((yield* SigningFacts).beginning(yield* asked))
    return [...noted, isCompared]
  })
  return lives([
    function* (options, sandbox) {
      for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
      assert.deepStrictEqual(yield* known, [true])
      yield* reloadedAs(yield* changed(options.treasury, '"target":"200"', '"target":"150"'))
      assert.deepStrictEqual(yield* known, ["config", true])
    },
    function* () {
      yield* byOneConfig(reconcileOnce())
      assert.isTrue(yield* (yield* Clearance).isGranted(alice))
      assert.isFalse((yield* known).at(-1))
    },
  ])
})

it.effect("a round that began before a reload decides nothing after it", () =>
  flow(function* (options, sandbox) {
    yield* round(options, sandbox)
    const treasury = yield* changed(options.treasury, '"target":"200"', '"target":"150"')
    yield* reloadedAs(treasury)
    // By the configuration of the start, which a round keeps to its end.
    for (let i = 0; i < 2; i++) yield* round(options, sandbox)
    assert.deepStrictEqual(yield* states, [])
  }),
)

const divide = {
  name: "divide",
  split: { from: "alice", asset: "USDT", above: "700", target: "600", to: { bob: 50, eve: 50 } },
  onShort: "hold",
}
const parts = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(9)),
  (all) => all.filter(({ rule }) => rule === "divide").toSorted((a, b) => (a.payment.to < b.payment.to ? -1 : 1)),
)
const partStates = Effect.map(parts, (all) => all.map(({ state, payment }) => `${payment.to} ${state}`))

/** Two parts of one decision, and none of them is signed. */
const divided = (use: FlowBody) =>
  flow(
    function* (options, sandbox, client) {
      for (let i = 0; i < 9 && (yield* parts).length === 0; i++) {
        yield* round(options, sandbox, new Set((yield* states).includes("confirmed") ? ["submit"] : []))
      }
      assert.deepStrictEqual(yield* partStates, ["bob proposed", "eve proposed"])
      yield* effectOf(use(options, sandbox, client))
    },
    { rules: [divide], transfersPer24h: 9 },
  )

it.effect.each([
  ["of which a reload pays less", '"target":"600"', '"target":"700"'],
  ["of which a reload pays the last less", '"eve":"50"', '"eve":"30"'],
  ["of which a reload pays the first less", '"eve":"50"', '"eve":"90"'],
] as const)("parts of a decision %s are decided again", ([, from, to]) =>
  divided(function* (options) {
    const treasury = yield* changed(options.treasury, from, to)
    yield* reloadedAs(treasury)
    yield* byOneConfig(submitOnce())
    assert.deepStrictEqual(yield* partStates, ["bob cancelled", "eve cancelled"])
  }),
)

it.effect("a part whose need is gone does not end where another part is signed meanwhile", () =>
  divided(function* (options) {
    const less = yield* changed(options.treasury, '"target":"600"', '"target":"700"')
    const [bob, eve] = yield* parts
    const facts = yield* SigningFacts
    const during = yield* Effect.context<Effect.Services<ReturnType<typeof signIntent>>>()
    const slow = SigningFacts.of({
      ...facts,
      need: (intent) =>
        facts
          .need(intent)
          .pipe(
            Effect.provideService(CycleConfig, { treasury: less, mode: "live" }),
            Effect.tap(Effect.orDie(signIntent(bob!)).pipe(Effect.provide(during))),
          ),
    })
    // Both are judged again; their rule pays less only while this one is judged.
    for (const treasury of [less, options.treasury]) yield* reloadedAs(treasury)
    yield* signIntent(eve!).pipe(Effect.provideService(SigningFacts, slow))
    assert.deepStrictEqual(yield* partStates, ["bob in_flight", "eve proposed"])
  }),
)

it.effect("a block of another chain, which another loop has just read, is none to sign on", () =>
  flow(function* (options, sandbox) {
    for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
    const headCache = yield* ChainHeadCache
    const head = yield* headCache.head
    const other = { ...headCache, recent: Effect.succeed([{ ...head, chainId: "other" }, head]) }
    const rows = (yield* (yield* Observations).watermark) ?? assert.fail("no balances")
    const { heads } = yield* Effect.provideService((yield* SigningFacts).chain(rows), ChainHeadCache, other)
    assert.deepStrictEqual(new Set(heads.map(({ chainId }) => chainId)), new Set([head.chainId]))
  }),
)
