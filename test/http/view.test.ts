import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Layer, Logger } from "effect"
import { viewText } from "../../src/cli/status.ts"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { general } from "../../src/domain/Balance.ts"
import { exposeMetrics } from "../../src/http/exposeMetrics.ts"
import { readView } from "../../src/http/StatusView.ts"
import type { View } from "../../src/http/View.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { acknowledge } from "../../src/store/alerts/alertRecords.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { it } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"
import { treasuryFrom } from "../support/treasury.ts"

const alice = "a".repeat(64)
const bob = "b".repeat(64)
const token = "c".repeat(64)
const limits = { asset: "TOK", perTransfer: "10", per24h: "40", transfersPer24h: 2 }
const alertBelow = (level: string, severity: string) => ({
  notify: { when: { balance: { party: "alice", asset: "TOK", below: level } }, severity },
})
const shownTreasury = treasuryFrom({
  name: "shown",
  network: { chainId: "c-1", gateways: { node: "http://127.0.0.1:1" } },
  assets: { TOK: { id: token, decimals: 2 } },
  parties: { alice: { publicKey: alice, signer: { sandbox: "alice" } }, bob: { publicKey: bob } },
  rules: [
    { name: "dry", ...alertBelow("100", "page") },
    { name: "thin", ...alertBelow("200", "ticket") },
    {
      name: "tried",
      mode: "shadow",
      topUp: { from: "alice", levels: [{ party: "bob", asset: "TOK", below: "300", target: "400" }] },
    },
    { name: "real", topUp: { from: "alice", levels: [{ party: "bob", asset: "TOK", below: "30", target: "40" }] } },
  ],
  policy: {
    maxFee: "1%",
    allow: [{ from: "alice", to: ["bob"], ...limits }],
  },
  alerts: { receivers: { log: { log: {} } } },
})

/** What the page shows, and what is scraped, of the treasury above after something was stored. */
const shown = <E, R>(stored: Effect.Effect<unknown, E, R>, mode: "live" | "shadow" = "live") =>
  Effect.gen(function* () {
    const store = testStore()
    const treasury = yield* shownTreasury
    const labels = {
      gateways: ["node"],
      rules: ["dry", "thin", "tried"],
      receivers: ["log"],
      version: "1",
      revision: "",
    }
    const layer = ConfigInForce.layer({ treasury, mode }).pipe(
      Layer.provideMerge(Metrics.layer({ treasury: "shown", mode: "live", ...labels })),
      Layer.provideMerge(store.layer()),
      Layer.provideMerge(Logger.layer([])),
    )
    return yield* Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      yield* (yield* Observations).advance([], { timestamp: BigInt(at) * 1_000_000n, height: 7n })
      yield* stored
      return { view: yield* readView(), metrics: yield* exposeMetrics(treasury) }
    }).pipe(Effect.provide(layer), Effect.ensuring(Effect.sync(store.remove)))
  })

const remember = (rule: string, state: "inactive" | "acting" | "holding") =>
  Effect.flatMap(RuleStates, (states) =>
    states.save(
      {
        rule,
        subject: "when",
        episode: 1,
        firingSince: state === "inactive" ? undefined : 1,
        observations: 2,
        lastObservation: 1n,
        state,
        reason: state === "acting" ? undefined : state === "holding" ? "outside_hours" : "in_band",
        detail: "alice TOK is 90.00",
        reasonSince: 1,
        decidedAt: 1,
      },
      undefined,
    ),
  )

const spend = Effect.fnUntraced(function* (intentId: string, to: string, assetId: string, amount: bigint) {
  const spentAt = yield* Clock.currentTimeMillis
  const made = { digest: intentId, signature: "", policy: "p", line: 1, spentAt }
  yield* (yield* SpendLog).record({ ...made, intentId, k: 1, from: alice, to, assetId, amount })
})

const names = ({ rules }: View) => rules.map(({ name }) => name)
const ruleOf = ({ rules }: View, name: string) => rules.find((rule) => rule.name === name)

describe("a rule that tells people", () => {
  it.live("is shown with its severity while it fires, and leads the summary", function* () {
    const { view } = yield* shown(Effect.andThen(remember("dry", "acting"), remember("thin", "acting")))
    assert.deepInclude(ruleOf(view, "dry"), { state: "acting", fires: "page" })
    assert.deepInclude(ruleOf(view, "thin"), { state: "acting", fires: "ticket" })
    assert.deepStrictEqual(view.sentence, {
      severity: "bad",
      text: 'dry fires (page): alice TOK is 90.00; "cofferer explain dry" shows every check.',
    })
  })

  it.live("fires as well where people do not hear of it now", function* () {
    const { view } = yield* shown(Effect.andThen(remember("dry", "inactive"), remember("thin", "holding")))
    assert.strictEqual(ruleOf(view, "dry")?.fires, null)
    assert.deepInclude(ruleOf(view, "thin"), { state: "holding", fires: "ticket" })
    assert.deepStrictEqual(names(view), ["thin", "dry", "tried", "real"], "what fires comes first")
    assert.deepStrictEqual(view.sentence, {
      severity: "warn",
      text: 'thin fires (ticket): alice TOK is 90.00; "cofferer explain thin" shows every check.',
    })
  })

  it.live("does not fire before its first look", function* () {
    const { view } = yield* shown(Effect.void)
    assert.strictEqual(ruleOf(view, "dry")?.fires, null)
    assert.strictEqual(view.sentence.severity, "ok")
  })
})

describe("an account of which no balance is known", () => {
  it.live("is neither in its band nor out of it", function* () {
    const { view } = yield* shown(Effect.void)
    const text = viewText(view)
    assert.match(text, /bob +unknown TOK +no balance seen/)
    assert.notMatch(text, /OUT OF BAND|in band/i)
    assert.notMatch(text, / OK /, "no rule was judged")
  })
})

describe("a rule on trial", () => {
  it.live("is marked, with its levels, and its band is not the account's", function* () {
    const { view } = yield* shown(
      Effect.gen(function* () {
        const at = BigInt(yield* Clock.currentTimeMillis) * 1_000_000n
        const row = { timestamp: at, balance: 20_000n, party: bob, asset: token, market: "", type: general }
        yield* (yield* Observations).advance([row], { timestamp: at, height: 8n })
      }),
    )
    assert.deepInclude(ruleOf(view, "tried"), { trial: true, sentence: "on trial, pays nothing; not yet evaluated" })
    const account = view.accounts.find(({ party }) => party === "bob")
    assert.containSubset(account, { inBand: true, levels: [{ name: "below", trial: true }, { name: "target" }] })
    assert.strictEqual(view.sentence.severity, "ok", view.sentence.text)
    const text = viewText(view)
    assert.match(text, /bob .* in band .*below 300 \(on trial\)/)
    assert.match(text, /tried +on trial +on trial, pays nothing; not yet evaluated/)
  })
})

it.live("a rule in mode shadow is shown as rehearsed", function* () {
  const { view } = yield* shown(
    Effect.flatMap(RuleStates, (states) =>
      states.save(
        {
          ...{ rule: "real", subject: "bob/TOK", episode: 1, firingSince: undefined, observations: 0 },
          ...{ lastObservation: 1n, state: "inactive", reason: "in_band", detail: "90.00 (trigger 30)" },
          ...{ reasonSince: 1, decidedAt: 1 },
        },
        undefined,
      ),
    ),
    "shadow",
  )
  const sentence = "rehearsed, as if its payments had been made; has nothing to do: 90.00 (trigger 30)"
  assert.deepInclude(ruleOf(view, "real"), { trial: false, sentence })
})

describe("the alerts", () => {
  const raised = (n: number) => ({
    dedup: `drill/${n}`,
    severity: "ticket" as const,
    kind: "drill",
    subject: `subject ${n}`,
    detail: "one of many",
    fields: {},
  })

  it.live("are the ten newest, the newest first, each with its state and who has not taken it", function* () {
    const stored = Effect.gen(function* () {
      const queue = yield* AlertQueue
      for (let n = 1; n <= 11; n++) yield* queue.raise(raised(n))
      yield* queue.allClear({ ...raised(11), dedup: "over/11", detail: "it is over", resolves: ["drill/11"] })
      yield* acknowledge(10, "ana <b>", "looked")
      yield* queue.raise({ ...raised(12), severity: "info" })
    })
    const { alerts } = (yield* shown(stored)).view
    assert.deepStrictEqual(
      alerts.map(({ severity, subject, state, ackedBy }) => `${severity} ${subject} ${state} ${ackedBy}`),
      [
        "info subject 12 null null",
        "ticket subject 11 resolved null",
        "ticket subject 10 acknowledged ana <b>",
        ...[9, 8, 7, 6, 5, 4, 3].map((n) => `ticket subject ${n} firing null`),
      ],
    )
    assert.include(alerts[1], { seq: 11, detail: "one of many", waiting: 1 })
  })
})

describe("the limits", () => {
  it.live("are shown by the one nearest its end", function* () {
    const { view, metrics } = yield* shown(spend("i1", bob, token, 1_000n))
    assert.deepStrictEqual(view.policy, [
      {
        line: 1,
        text: "alice -> bob, TOK: 10 each",
        used: "10 TOK",
        limit: "40 TOK",
        share: 0.5,
        transfers: "1 of 2",
        free: "",
      },
    ])
    const used = metrics.split("\n").filter((line) => line.startsWith("cofferer_policy_used_ratio"))
    assert.deepStrictEqual(used, [
      'cofferer_policy_used_ratio{treasury="shown",line="1",limit="per_24h"} 0.25',
      'cofferer_policy_used_ratio{treasury="shown",line="1",limit="transfers_per_24h"} 0.5',
    ])
  })
})
