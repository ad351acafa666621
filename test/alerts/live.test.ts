import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { deliverOnce, remindersOf } from "../../src/alerts/AlertLoop.ts"
import { alertOf } from "../../src/domain/alerts/Alert.ts"
import { testReceivers } from "../../src/http/alertVerbs.ts"
import { NotifyError } from "../../src/notify/Channel.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { acknowledge, listAlerts, resend, showAlert } from "../../src/store/alerts/alertRecords.ts"
import { makeReminders, type Reminders } from "../../src/store/alerts/LiveAlerts.ts"
import { raise, raiseOver } from "../../src/store/alerts/raise.ts"
import { addSilence, endSilence } from "../../src/store/alerts/silences.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { blockNow } from "../support/blockNow.ts"
import { itWith } from "../support/it.ts"
import { intentOf } from "../support/Payments.ts"
import { testStore } from "../support/TestStore.ts"

interface Desks {
  readonly taken: Array<string>
  readonly ids: Array<string>
  readonly resolved: Array<string>
  /** Labels by which Alertmanager knows what fires, and what is over. */
  readonly labels: { readonly firing: Set<string>; readonly resolved: Set<string> }
  readonly deaf: Set<string>
  /** Receivers that take what they get, and do not answer. */
  readonly mute: Set<string>
}
const desks: Desks = {
  taken: [],
  ids: [],
  resolved: [],
  labels: { firing: new Set(), resolved: new Set() },
  deaf: new Set(),
  mute: new Set(),
}

const notifier = Layer.succeed(
  Notifier,
  Notifier.of({
    receivers: ["desk", "log", "boss", "monitor"],
    send: (receiver, notification) =>
      Effect.suspend(() => {
        const { severity, name, resolves, count, id } = notification
        if (receiver === "gone" || desks.deaf.has(receiver))
          return Effect.fail(new NotifyError({ receiver, detail: "deaf" }))
        desks.taken.push(`${receiver} ${resolves === undefined ? severity : "resolved"} ${name} ${count}`)
        desks.ids.push(id)
        const labels = desks.labels[resolves === undefined ? "firing" : "resolved"]
        for (const one of resolves ?? [notification]) labels.add([one.key, one.severity, one.kind, one.subject].join())
        for (const { key } of resolves ?? []) desks.resolved.push(key.split("/").slice(2).join("/"))
        return desks.mute.has(receiver)
          ? Effect.fail(new NotifyError({ receiver, detail: "no answer within 10 s" }))
          : Effect.void
      }),
  }),
)

const it = itWith(() => {
  desks.taken.length = 0
  desks.ids.length = 0
  desks.resolved.length = 0
  desks.labels.firing.clear()
  desks.labels.resolved.clear()
  desks.deaf.clear()
  desks.mute.clear()
  const store = testStore()
  const names = { gateways: [], rules: [], receivers: ["desk", "log"], version: "", revision: "" }
  return Layer.mergeAll(notifier, Metrics.layer({ treasury: "t", mode: "live", ...names })).pipe(
    Layer.provideMerge(store.layer()),
    Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove)))),
  )
})

const hour = 3_600_000
const reminders = (): Reminders => ({
  repeatMillis: 12 * hour,
  steps: [{ severities: new Set(["page"]), afterMillis: hour, receivers: ["boss"] }],
  forgetful: new Set(["monitor"]),
  hasRule: () => true,
})

/** What the receivers got in the time, in steps of ten minutes. */
const gotIn = Effect.fnUntraced(function* (millis: number) {
  desks.taken.length = 0
  for (let passed = 0; passed < millis; passed += 600_000) {
    yield* deliverOnce("t", reminders)
    yield* TestClock.adjust(600_000)
  }
  yield* deliverOnce("t", reminders)
  return [...desks.taken]
})

const haltedTo = (to: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    yield* (yield* Controls).halt("operator", "ana: audit")
    yield* raise("halt", { reason: "operator", seq: 1, detail: "ana: audit", remedy: "resume" }, to)
  })
const halted = haltedTo([])
const release = Effect.flatMap(Controls, (controls) => controls.release("operator", "looked"))
const halfAnHour = hour / 2

describe("an alert that lasts", () => {
  it.effect("is repeated, and goes to the next receiver, until somebody acknowledges it", function* () {
    yield* halted
    assert.sameMembers(yield* gotIn(halfAnHour), ["desk page halt 1", "log page halt 1"])
    assert.deepStrictEqual(yield* gotIn(hour), ["boss page halt 1"])
    const again = yield* gotIn(12 * hour)
    assert.sameMembers(again, ["desk page halt 1", "log page halt 1", "boss page halt 1"])
    assert.strictEqual(new Set(desks.ids).size, 2, "a repetition is another message, the same to each receiver")
    yield* acknowledge(1, "ana", "I am on it")
    assert.deepStrictEqual(yield* gotIn(48 * hour), [])
    assert.strictEqual((yield* listAlerts(10, "standing"))[0]?.state, "acknowledged")
    yield* release
    assert.sameMembers(yield* gotIn(hour), ["desk resolved halt 1", "log resolved halt 1", "boss resolved halt 1"])
    assert.deepStrictEqual(yield* listAlerts(10, "standing"), [])
  })

  it.effect("stands in a store of a version that kept less of it", function* () {
    const queue = yield* AlertQueue
    yield* (yield* Controls).halt("operator", "ana: audit")
    yield* (yield* Controls).pause({ scope: "pin:USDT", reason: "other", author: "listing", until: undefined })
    const { fields: _, ...halt } = alertOf("halt", { reason: "operator", seq: 1, detail: "", remedy: "" })
    const pin = { asset: "a", symbol: "USDT", scope: "", at: 1, reason: "other", remedy: "" }
    yield* queue.raise({ ...halt, fields: { reason: "operator" } })
    yield* queue.raise({ ...alertOf("asset_pin", pin), fields: { symbol: "USDT" } })
    yield* gotIn(halfAnHour)
    assert.lengthOf(yield* listAlerts(10, "standing"), 2)
  })

  it.effect("is repeated and escalates though a fast clock wrote it", function* () {
    yield* TestClock.setTime(1_000 * hour)
    yield* halted
    yield* gotIn(600_000)
    yield* TestClock.setTime(hour)
    assert.sameMembers(yield* gotIn(hour), ["desk page halt 1", "log page halt 1", "boss page halt 1"])
  })

  it.effect("is sent again to who forgets it, also after somebody acknowledged it", function* () {
    yield* haltedTo(["desk", "monitor"])
    yield* deliverOnce("t", reminders)
    yield* acknowledge(1, "ana", "seen")
    assert.deepStrictEqual(yield* gotIn(23 * hour), [])
    assert.deepStrictEqual(yield* gotIn(hour), ["monitor page halt 1"])
  })

  it.effect("escalates to a receiver that has another alert already", function* () {
    yield* halted
    yield* gotIn(halfAnHour)
    yield* (yield* Controls).halt("invariant", "odd")
    yield* raise("halt", { reason: "invariant", seq: 2, detail: "odd", remedy: "resume" })
    assert.include(yield* gotIn(halfAnHour), "boss page halt 1")
    assert.deepStrictEqual(yield* gotIn(hour), ["boss page halt 1"])
  })

  it.effect("is repeated by a loop that read it before it was delivered", function* () {
    const remind = (yield* makeReminders)({ ...reminders(), steps: [] })
    yield* halted
    assert.isFalse(yield* remind)
    yield* gotIn(600_000)
    yield* TestClock.adjust(12 * hour)
    assert.isTrue(yield* remind)
  })

  it.effect("ends though the halt in force has a number that ends like its own", function* () {
    const controls = yield* Controls
    yield* controls.halt("invariant", "odd")
    for (let seq = 2; seq <= 11; seq++) yield* controls.halt("operator", `ana: audit ${seq}`)
    yield* raise("halt", { reason: "operator", seq: 11, detail: "ana: audit 11", remedy: "resume" })
    yield* gotIn(600_000)
    yield* release
    assert.sameMembers(yield* gotIn(0), ["desk resolved halt 1", "log resolved halt 1"])
  })

  it.effect("escalates to nobody who was acknowledged in time", function* () {
    yield* halted
    yield* deliverOnce("t", reminders)
    yield* acknowledge(1, "ana", "seen")
    assert.deepStrictEqual(yield* gotIn(24 * hour), [])
  })
})

describe("a silence", () => {
  const silence = Effect.fnUntraced(function* (millis: number) {
    const until = (yield* Clock.currentTimeMillis) + millis
    return yield* addSilence({ name: "halt", kind: null, subject: null, author: "ana", reason: "drill", until })
  })

  it.effect("holds alerts back, and gives those that still last to everybody at its end", function* () {
    yield* silence(2 * hour)
    yield* halted
    assert.deepStrictEqual(yield* gotIn(hour), [])
    assert.strictEqual((yield* listAlerts(10, "standing"))[0]?.silenced, 2)
    assert.sameMembers((yield* gotIn(2 * hour)).slice(0, 2), ["desk page halt 1", "log page halt 1"])
  })

  it.effect("begins no transaction each second for what it holds back", function* () {
    yield* silence(2 * hour)
    yield* halted
    yield* gotIn(hour)
    let transactions = 0
    const client = new Proxy(yield* Sql, {
      get: (target, key) => {
        if (key === "withTransaction") transactions++
        return Reflect.get(target, key)
      },
    })
    const remind = yield* makeReminders.pipe(Effect.provideService(Sql, client))
    const before = transactions
    const reminders = { repeatMillis: undefined, steps: [], forgetful: new Set<string>(), hasRule: () => true }
    assert.deepStrictEqual([yield* remind(reminders), transactions - before], [false, 0])
    yield* TestClock.adjust(hour)
    assert.isTrue(yield* remind(reminders))
  })

  it.effect("lets nobody hear of what begins and ends within it", function* () {
    yield* silence(2 * hour)
    yield* halted
    yield* release
    assert.deepStrictEqual(yield* gotIn(4 * hour), [])
  })

  it.effect("of a repetition keeps nobody from hearing of the end", function* () {
    yield* halted
    yield* gotIn(11 * hour)
    desks.deaf.add("desk")
    yield* gotIn(2 * hour)
    yield* silence(hour)
    desks.deaf.clear()
    yield* release
    assert.include(yield* gotIn(halfAnHour), "desk resolved halt 1")
  })

  it.effect("of a page that may have arrived keeps nobody from hearing of the end", function* () {
    desks.deaf.add("desk")
    yield* halted
    yield* gotIn(halfAnHour)
    yield* silence(hour)
    desks.deaf.clear()
    yield* release
    assert.include(yield* gotIn(halfAnHour), "desk resolved halt 1")
  })

  it.effect("that begins while a page fails to arrive holds it back too", function* () {
    yield* haltedTo(["desk"])
    const queue = yield* AlertQueue
    const [due] = yield* queue.due(1)
    yield* queue.begin(due!, 1)
    yield* silence(2 * hour)
    yield* queue.failed(due!, "no answer within 10 s", 1)
    assert.deepStrictEqual(yield* gotIn(halfAnHour), [])
    assert.include(yield* gotIn(2 * hour), "desk page halt 1")
  })

  it.effect("of a fast clock holds nothing back once the clock is right", function* () {
    yield* TestClock.setTime(10_000 * hour)
    yield* silence(hour)
    yield* TestClock.setTime(hour)
    yield* halted
    assert.include(yield* gotIn(halfAnHour), "desk page halt 1")
  })

  it.effect("takes what waits for a deaf receiver, and ends when a person ends it", function* () {
    desks.deaf.add("desk")
    yield* halted
    assert.deepStrictEqual(yield* gotIn(halfAnHour), ["log page halt 1"])
    const id = yield* silence(24 * hour)
    desks.deaf.clear()
    assert.deepStrictEqual(yield* gotIn(2 * hour), [])
    assert.isTrue(yield* endSilence(id))
    assert.isFalse(yield* endSilence(id))
    assert.include(yield* gotIn(600_000), "desk page halt 1")
  })
})

describe("many events of one kind", () => {
  const assets = Effect.fnUntraced(function* (from: number, until: number) {
    for (let seq = from; seq < until; seq++) {
      const facts = { asset: `a${seq}`, symbol: `S${seq}`, from: "", to: "enabled", seq, rule: "listing" }
      yield* raise("asset_status", { ...facts, words: "new -> enabled" })
    }
  })

  it.effect("are one message with a count, which is another one once it grew", function* () {
    desks.deaf.add("log")
    yield* assets(0, 900)
    assert.deepStrictEqual(yield* gotIn(600_000), [])
    yield* assets(900, 901)
    desks.deaf.clear()
    assert.deepStrictEqual(yield* gotIn(600_000), ["log info asset_status 901"])
    assert.deepStrictEqual(yield* gotIn(hour), [])
  })

  const changed = Effect.fnUntraced(function* (from: number, until: number) {
    for (let seq = from; seq < until; seq++) {
      const facts = { asset: `a${seq}`, symbol: `S${seq}`, from: "2", to: "3", seq, what: "decimals", words: "2 -> 3" }
      yield* raise("asset_changed", { ...facts, severity: "ticket" })
    }
  })

  const acked = (seqs: ReadonlyArray<number>) =>
    Effect.forEach(seqs, (seq) => acknowledge(seq, "ana", "compared"), { discard: true })
  const keyOf = (seq: number) => `asset/decimals/a${seq}/${seq}`

  it.effect("end as one message, which resolves the only key that a receiver knows", function* () {
    yield* changed(0, 120)
    assert.deepStrictEqual(yield* gotIn(600_000), ["log ticket asset_changed 120"])
    yield* TestClock.adjust("7 days")
    yield* blockNow
    assert.deepStrictEqual(yield* gotIn(600_000), ["log resolved asset_changed 120"])
    assert.deepStrictEqual(desks.resolved, [keyOf(0)])
    assert.deepStrictEqual(desks.labels.resolved, desks.labels.firing)
  })

  it.effect("end in parts, where a receiver knows each by a key of its own", function* () {
    for (let seq = 0; seq < 45; seq++) {
      yield* changed(seq, seq + 1)
      yield* deliverOnce("t", reminders)
    }
    yield* acked((yield* listAlerts(99, "standing")).map(({ seq }) => seq))
    const over = [20, 20, 5].map((count) => `log resolved asset_changed ${count}`)
    assert.deepStrictEqual(yield* gotIn(600_000), over)
    assert.sameMembers(
      desks.resolved,
      Array.from({ length: 45 }, (_, seq) => keyOf(seq)),
    )
  })

  it.effect("that end together are one message however few, which names their key once", function* () {
    yield* changed(0, 6)
    yield* gotIn(600_000)
    yield* acked([1, 2, 3, 4])
    assert.deepStrictEqual(yield* gotIn(600_000), ["log resolved asset_changed 4"])
    yield* acked([5, 6])
    assert.deepStrictEqual(yield* gotIn(600_000), ["log resolved asset_changed 2"])
    assert.deepStrictEqual(desks.resolved, [keyOf(0)])
  })

  for (const [how, order] of [
    ["first", [1, 2, 3, 4, 5, 6]],
    ["last", [6, 5, 4, 3, 2, 1]],
  ] as const) {
    it.effect(`are over for a receiver once all are, also where the ${how} ends first`, function* () {
      yield* changed(0, 6)
      assert.deepStrictEqual(yield* gotIn(600_000), ["log ticket asset_changed 6"])
      for (const seq of order) {
        assert.isEmpty(desks.resolved)
        yield* acked([seq])
        yield* deliverOnce("t", reminders)
      }
      assert.deepStrictEqual(desks.resolved, [keyOf(0)])
    })
  }

  it.effect("are over too where a lost answer hid that one arrived alone", function* () {
    desks.mute.add("log")
    yield* changed(0, 2)
    yield* deliverOnce("t", reminders)
    yield* changed(2, 6)
    desks.mute.clear()
    assert.deepStrictEqual((yield* gotIn(600_000)).slice(0, 1), ["log ticket asset_changed 6"])
    yield* acked([2])
    yield* gotIn(600_000)
    assert.deepStrictEqual(desks.resolved, [keyOf(1)])
    yield* acked([1, 3, 4, 5, 6])
    yield* gotIn(600_000)
    assert.deepStrictEqual(desks.resolved, [keyOf(1), keyOf(0)])
  })

  it.effect("are over too where one was sent again alone", function* () {
    yield* changed(0, 6)
    yield* gotIn(600_000)
    yield* acked([1, 2, 3, 4, 5])
    yield* gotIn(600_000)
    assert.isEmpty(desks.resolved)
    yield* resend(6, () => ["log"])
    assert.include(yield* gotIn(600_000), "log ticket asset_changed 1")
    assert.deepStrictEqual(desks.resolved, [keyOf(0)])
    yield* acked([6])
    yield* gotIn(600_000)
    assert.deepStrictEqual(desks.resolved, [keyOf(0), keyOf(5)])
  })

  it.effect("end after they were sent, where they ended before", function* () {
    desks.deaf.add("log")
    yield* changed(0, 6)
    yield* gotIn(600_000)
    for (const { seq } of yield* listAlerts(9, "standing")) yield* acknowledge(seq, "ana", "compared")
    yield* gotIn(600_000)
    desks.deaf.clear()
    assert.deepStrictEqual(yield* gotIn(600_000), ["log ticket asset_changed 6", "log resolved asset_changed 6"])
  })

  it.effect("are one by one where each has an end of its own", function* () {
    for (const account of ["a", "b", "c", "d", "e"]) {
      const facts = { rule: "wage", account, from: "f", to: "t", first: "", firstMillis: 1, times: 0, words: "late" }
      yield* raise("payout_late", facts)
    }
    assert.deepStrictEqual(yield* gotIn(600_000), Array<string>(5).fill("log ticket payout_late 1"))
  })

  it.effect("are no message of two severities", function* () {
    const facts = { asset: "a", symbol: "S", from: "2", to: "3", what: "decimals", words: "2 -> 3" }
    for (let seq = 0; seq < 4; seq++) yield* raise("asset_changed", { ...facts, seq, severity: "info" }, ["log"])
    yield* raise("asset_changed", { ...facts, seq: 4, severity: "ticket" }, ["log"])
    const words = (severity: string) => `log ${severity} asset_changed 1`
    assert.sameMembers(yield* gotIn(0), [...Array<string>(4).fill(words("info")), words("ticket")])
  })

  it.effect("are one by one while they are few", function* () {
    yield* assets(0, 4)
    assert.deepStrictEqual(yield* gotIn(600_000), Array<string>(4).fill("log info asset_status 1"))
  })
})

describe("an alert that a receiver never got", () => {
  it.effect("is listed as a dead letter, and sent to those who are configured now", function* () {
    yield* haltedTo(["gone", "log"])
    assert.deepStrictEqual(yield* gotIn(600_000), ["log page halt 1"])
    const [listed] = yield* listAlerts(10, "standing")
    assert.strictEqual(listed?.dead, 1)
    assert.deepStrictEqual(yield* resend(undefined, () => ["desk"]), [1])
    assert.deepStrictEqual(yield* gotIn(600_000), ["desk page halt 1"])
    assert.deepStrictEqual(
      (yield* showAlert(1))?.deliveries.map(({ receiver, state }) => `${receiver} ${state}`),
      ["desk delivered", "log delivered"],
    )
  })
})

describe("an all-clear that a receiver never got", () => {
  it.effect("is sent again to those who got what it ends", function* () {
    yield* haltedTo(["desk"])
    yield* gotIn(600_000)
    desks.deaf.add("desk")
    yield* release
    yield* gotIn(600_000)
    desks.deaf.clear()
    const { write, withTransaction } = yield* Sql
    yield* withTransaction(write`UPDATE deliveries SET state = 'dead_letter' WHERE state = 'pending'`)
    yield* resend(undefined, (severity) => (severity === "page" ? ["desk"] : ["log"]))
    assert.include(yield* gotIn(600_000), "desk resolved halt 1")
  })
})

describe("an alert that stands while its receiver is taken away", () => {
  it.effect("goes to those of its severity that are configured now", function* () {
    yield* haltedTo(["gone", "log"])
    const routes = [{ severities: new Set(["page" as const]), receivers: ["desk", "log"] }]
    const now = remindersOf({ alerting: { repeatMillis: undefined }, receivers: [], routes, rules: [] } as never)
    yield* deliverOnce("t", () => now)
    yield* deliverOnce("t", () => now)
    yield* deliverOnce("t", () => now)
    assert.deepStrictEqual(desks.taken, ["log page halt 1", "desk page halt 1"])
  })
})

describe("an alert that is over", () => {
  it.effect("is over as well for those to whom it is sent again", function* () {
    yield* haltedTo(["desk"])
    yield* gotIn(600_000)
    yield* release
    assert.deepStrictEqual(yield* gotIn(600_000), ["desk resolved halt 1"])
    yield* resend(1, () => ["desk", "log"])
    const again = ["desk page halt 1", "desk resolved halt 1", "log page halt 1", "log resolved halt 1"]
    assert.sameMembers(yield* gotIn(600_000), again)
  })

  it.effect("has an all-clear that names it once, and none that was over before or reached nobody", function* () {
    const refused = Effect.fnUntraced(function* (at: number) {
      yield* raise("reload_refused", { treasury: "t", at, detail: "d", remedy: "r", author: "ana" }, ["desk"])
      yield* gotIn(600_000)
      yield* raiseOver("reload_refused", { treasury: "t", since: at })
      yield* gotIn(600_000)
    })
    yield* refused(1)
    yield* refused(2)
    const until = (yield* Clock.currentTimeMillis) + hour
    yield* addSilence({ name: "reload_refused", kind: null, subject: null, author: "ana", reason: "drill", until })
    yield* refused(3)
    assert.deepStrictEqual(desks.resolved, ["config_reload/1", "config_reload/2"])
    assert.isEmpty(desks.taken)
    const intent = intentOf("3")
    const outbox = yield* Outbox
    yield* outbox.record(intent)
    const facts = { payment: "p", intent: intent.id, short: "abcd", state: "", sentence: "s", why: "w", k: 1 }
    yield* raise("payment_manual", facts, ["desk"])
    yield* raise("payment_left_behind", facts, ["desk"])
    yield* gotIn(600_000)
    desks.resolved.length = 0
    yield* outbox.move(intent, "denied", { detail: "gone" })
    yield* gotIn(600_000)
    assert.deepStrictEqual(desks.resolved, [`manual/${intent.id}`, `manual/${intent.id}/left-behind/1`])
  })
})

describe("a test of a receiver", () => {
  it.effect("is over, though who asked for it does not wait for it", function* () {
    desks.deaf.add("desk")
    const treasury = { name: "t", receivers: [{ name: "desk" }] } as never
    const asked = yield* Effect.forkChild(testReceivers(treasury, { receiver: "desk", author: "ana" }))
    yield* TestClock.adjust(200)
    yield* Fiber.interrupt(asked)
    desks.deaf.clear()
    assert.deepStrictEqual(yield* gotIn(600_000), ["desk info test 1", "desk resolved test 1"])
    assert.deepStrictEqual(yield* listAlerts(10, "standing"), [])
  })
})
