import { globSync, readFileSync } from "node:fs"
import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import type { LastingName } from "../../src/domain/alerts/Alert.ts"
import { type CatalogueEntry, type factDays, isFact, type Until } from "../../src/domain/alerts/CatalogueEntry.ts"
import { type AlertName, catalogue } from "../../src/domain/alerts/catalogue.ts"
import type { IntentState } from "../../src/domain/Intent.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { acknowledge, listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { raise, raiseOver } from "../../src/store/alerts/raise.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { blockNow } from "../support/blockNow.ts"
import { itWith } from "../support/it.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

/** Names of what fires at the only receiver, by the key. */
const firing = new Map<string, string>()
/** Sentences of the all-clears. */
const told: Array<string> = []

const notifier = Layer.succeed(
  Notifier,
  Notifier.of({
    receivers: ["desk"],
    send: (_, { key, name, resolves, detail }) =>
      Effect.sync(() => {
        if (resolves === undefined) firing.set(key, name)
        else told.push(detail)
        for (const one of resolves ?? []) firing.delete(one.key)
      }),
  }),
)

const it = itWith(() => {
  firing.clear()
  told.length = 0
  const store = testStore()
  const names = { gateways: [], rules: [], receivers: ["desk"], version: "", revision: "" }
  return Layer.mergeAll(notifier, Metrics.layer({ treasury: "t", mode: "live", ...names })).pipe(
    Layer.provideMerge(store.layer()),
    Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove)))),
  )
})

const rules = new Set(["keep"])
const deliver = deliverOnce("t", () => ({
  repeatMillis: undefined,
  steps: [],
  forgetful: new Set<string>(),
  hasRule: (_: string, rule: string) => rules.has(rule),
}))

const intent = intentOf("3")
/** A payment whose end is audited. */
const paid = intentOf("4")
const attempt = attemptOf(paid, 1)
const scope = "lock:keep"

/** A value of each variable of an entry. */
const factsFor = (name: AlertName): never => {
  const entry: CatalogueEntry = catalogue[name]
  const variables = [...JSON.stringify(entry).matchAll(/\{(\w+)\}/g)].map(([, variable = ""]) => variable)
  const facts = Object.fromEntries([...variables, ...entry.fields].map((variable) => [variable, "7"]))
  return {
    ...facts,
    intent: entry.until === "audit" ? paid.id : intent.id,
    rule: "keep",
    seq: 1,
    severity: "ticket",
    scope,
  } as never
}

const move = (state: IntentState) =>
  Effect.flatMap(Outbox, (outbox) =>
    Effect.flatMap(outbox.open, (open) =>
      outbox.move(open.find(({ id }) => id === intent.id) ?? intent, state, { detail: `it is ${state}` }),
    ),
  )

/** Ends of causes in the store, in an order in which each ends nothing else. */
const ends = {
  halt: Effect.flatMap(Controls, (controls) => controls.release("operator", "looked")),
  pause: Effect.flatMap(Controls, (controls) => controls.resume({ scope, reason: "looked", author: "ana" })),
  rows: Effect.flatMap(Observations, (known) => known.rebase([], { timestamp: 8n, height: 1n })),
  approval: move("reserved"),
  signature: Effect.flatMap(Outbox, (outbox) =>
    Effect.flatMap(outbox.open, (open) =>
      outbox.persist(open.find(({ id }) => id === intent.id) ?? intent, attemptOf(intent, 2)),
    ),
  ),
  payment: move("abandoned"),
  audit: Effect.flatMap(LedgerAudit, (audit) => audit.endWatch(attempt)),
} satisfies Readonly<Record<Exclude<Until, keyof typeof factDays>, unknown>>

const named = (is: (entry: CatalogueEntry) => boolean) =>
  Object.entries<CatalogueEntry>(catalogue).flatMap(([name, entry]) => (is(entry) ? [name as AlertName] : []))
const lasting = Object.keys(ends) as ReadonlyArray<keyof typeof ends>
const ofCauses = named(({ until, over }) => until === undefined && over !== undefined)
const facts = named((entry) => isFact(entry) && entry.severity !== "info")

const raiseAll = (names: ReadonlyArray<AlertName>) =>
  Effect.forEach(names, (name) => raise(name, factsFor(name)), { discard: true })
const sources = globSync("src/**/*.ts").map((path) => readFileSync(path, "utf8"))

describe("each alert of the catalogue that fires", () => {
  it.effect("is resolved at its receiver once the store shows its end, and not before", function* () {
    const outbox = yield* Outbox
    yield* outbox.record(intent)
    yield* outbox.record(paid)
    yield* outbox.persist(yield* outbox.move(paid, "reserved", { detail: "permitted" }), attempt)
    yield* move("awaiting_approval")
    const controls = yield* Controls
    yield* controls.halt("operator", "ana: audit")
    yield* controls.pause({ scope, reason: "three came to nothing", author: "cofferer", until: undefined })
    yield* (yield* LedgerAudit).watch(attempt)
    yield* raiseAll(named(({ until }) => until !== undefined && until in ends))
    yield* deliver
    for (const [i, until] of lasting.entries()) {
      const left = named((entry) => lasting.slice(i).includes(entry.until as never))
      assert.sameMembers([...firing.values()], left)
      yield* ends[until]
      yield* deliver
    }
    assert.isEmpty([...firing.values()])
    assert.isEmpty(yield* listAlerts(9, "standing"))
    assert.notMatch(told.join(), /[{}]|undefined|null/)
  })

  it.effect("is resolved by the all-clear of its cause, or once its rule is gone", function* () {
    yield* raiseAll(ofCauses)
    yield* deliver
    assert.sameMembers([...firing.values()], ofCauses)
    for (const name of ofCauses) {
      assert.isTrue(
        sources.some((source) => source.includes(`raiseOver("${name}"`) || source.includes(`overOf("${name}"`)),
        name,
      )
    }
    rules.clear()
    yield* deliver
    rules.add("keep")
    const ofRules = named(
      ({ fields, until, over }) => until === undefined && over !== undefined && fields.includes("rule"),
    )
    assert.sameMembers(
      [...firing.values()],
      ofCauses.filter((name) => !ofRules.includes(name)),
    )
    for (const name of ofCauses) yield* raiseOver(name as LastingName, factsFor(name))
    yield* deliver
    assert.isEmpty([...firing.values()])
  })

  for (const how of ["acknowledged", "a week old"] as const) {
    it.effect(`is resolved once it is ${how}, where it happened once`, function* () {
      yield* raiseAll(facts)
      yield* deliver
      assert.sameMembers([...firing.values()], facts)
      const day = facts.filter((name) => (catalogue[name] as CatalogueEntry).until === "day")
      if (how === "acknowledged") {
        for (const { seq } of yield* listAlerts(100, "standing")) yield* acknowledge(seq, "ana", "checked")
      } else {
        yield* TestClock.adjust("1 day")
        yield* deliver
        assert.sameMembers([...firing.values()], facts, "by our clock alone, which may be fast")
        yield* blockNow
        yield* deliver
        assert.sameMembers(
          [...firing.values()],
          facts.filter((name) => !day.includes(name)),
        )
        yield* TestClock.adjust("6 days")
        yield* blockNow
      }
      yield* deliver
      assert.isEmpty([...firing.values()])
    })
  }

  it("has an end, or is information", () => {
    assert.isEmpty(
      named(({ until, over, severity }) => until === undefined && over === undefined && severity !== "info"),
    )
  })
})
