import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { prepare } from "../../src/daemon.ts"
import type { Alert } from "../../src/domain/alerts/Alert.ts"
import { Health } from "../../src/gateway/Health.ts"
import { ackAlert } from "../../src/http/alertVerbs.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { makeReminders } from "../../src/store/alerts/LiveAlerts.ts"
import { raise } from "../../src/store/alerts/raise.ts"
import { type FlowSetup, flow } from "../support/Flow.ts"
import { addressesOf, startFront } from "../support/Fronts.ts"
import { it } from "../support/it.ts"

const names = ["a", "b", "c", "d"]
const alerts = {
  receivers: { desk: { log: {} }, team: { log: {} }, log: { log: {} } },
  routes: [{ severity: ["page", "ticket", "info"], to: ["log"] }],
  conditions: { stale: { alert: false } },
}
const setup: FlowSetup = {
  gateways: (url) =>
    Effect.map(
      Effect.forEach(names, (name) => startFront(name, url)),
      addressesOf,
    ),
  network: { quorum: 2 },
  more: { alerts },
}

/** Alerts of health that were raised since the last call, "severity: text"; a person acknowledges them. */
const heard = Effect.gen(function* () {
  const own = (yield* listAlerts(100, "standing")).filter(({ name, ackedAt }) => name === "health" && ackedAt === null)
  for (const { seq } of own) yield* ackAlert({ seq, author: "ana", reason: "looked" })
  return own.map(({ severity, detail }) => `${severity}: ${detail.replace(/[;.:(] .*/, "")}`).toReversed()
})

/** Takes what is due, but for these receivers. */
const takeAll = (deaf: ReadonlyArray<string>) =>
  Effect.flatMap(AlertQueue, ({ due, delivered }) =>
    Effect.flatMap(due(100), (all) =>
      Effect.forEach(all, (one) => (deaf.includes(one.receiver) ? Effect.void : delivered(one))),
    ),
  )

/** Rounds of the loop, one every five seconds. */
const pass = (seconds: number, ...deaf: ReadonlyArray<string>) =>
  Effect.repeat(Effect.andThen(Effect.andThen(watchHealth(), takeAll(deaf)), TestClock.adjust("5 seconds")), {
    times: seconds / 5 - 1,
  })

const down = (...gateways: ReadonlyArray<string>) =>
  Effect.flatMap(Health, ({ note }) =>
    Effect.forEach(gateways, (gateway) =>
      Effect.repeat(note(gateway, { outcome: "timeout", detail: "no answer", mark: undefined }), { times: 9 }),
    ),
  )
const up = (...gateways: ReadonlyArray<string>) =>
  Effect.flatMap(Health, ({ note }) =>
    Effect.forEach(gateways, (gateway) =>
      Effect.repeat(note(gateway, { outcome: "ok", detail: "", mark: undefined }), { times: 30 }),
    ),
  )
/** Passes time in which these gateways do not answer. */
const passDown = (seconds: number, ...gateways: ReadonlyArray<string>) =>
  Effect.repeat(Effect.andThen(down(...gateways), pass(5)), { times: seconds / 5 - 1 })

const elsewhere = (gateway: string, chain?: string) =>
  Effect.flatMap(Health, ({ noteChain }) => noteChain(gateway, chain))

describe("a second cause of a condition whose alert is acknowledged", () => {
  it.effect("is alerted to where a further gateway is down, and pages once each time too few are left", () =>
    flow(function* () {
      yield* up(...names)
      yield* passDown(65, "a")
      assert.deepStrictEqual(yield* heard, ["ticket: No usable answer from 1 gateway"])
      yield* passDown(50, "a", "b")
      assert.deepStrictEqual(yield* heard, [])
      yield* passDown(30, "a", "b")
      assert.deepStrictEqual(yield* heard, ["ticket: Now also b"])
      yield* passDown(120, "a", "b", "c")
      assert.deepStrictEqual(yield* heard, ["page: No usable answer from 3 gateways"])
      yield* passDown(120, "a", "b", "c", "d")
      assert.deepStrictEqual(yield* heard, ["ticket: Now also d"])
      yield* up("c", "d")
      yield* passDown(120, "a", "b")
      assert.deepStrictEqual(yield* heard, [])
      yield* passDown(120, "a", "b", "c")
      assert.deepStrictEqual(yield* heard, ["page: Now also c, too few that agree"])
    }, setup),
  )

  it.effect("is alerted to where a further gateway is on another chain", () =>
    flow(function* () {
      yield* up(...names)
      yield* elsewhere("a", "other")
      yield* pass(30)
      assert.deepStrictEqual(yield* heard, ["ticket: Wrong chain, not sandbox-1"])
      yield* elsewhere("b", "third")
      yield* pass(30)
      assert.deepStrictEqual(yield* heard, ["ticket: Now also b"])
      yield* elsewhere("c", "fourth")
      yield* pass(30)
      assert.deepStrictEqual(yield* heard, ["page: Wrong chain, not sandbox-1"])
      for (const name of names) yield* elsewhere(name)
      yield* pass(5)
      assert.deepStrictEqual(
        (yield* listAlerts(100, "standing")).filter(({ name }) => name === "health"),
        [],
        "one all-clear ends them",
      )
    }, setup),
  )

  it.effect.each([
    ["is down", passDown(70, "a", "c"), ["page: No usable answer from 2 gateways"]],
    [
      "is on another chain",
      Effect.andThen(elsewhere("c", "other"), passDown(70, "a")),
      ["page: No usable answer from 1 gateway", "ticket: Now also c"],
    ],
  ] as const)("pages once where the last that is needed %s, and others are down and elsewhere", ([, breaks, told]) =>
    flow(function* () {
      yield* up(...names)
      yield* elsewhere("b", "other")
      yield* passDown(65, "a")
      assert.deepStrictEqual((yield* heard).toSorted(), [
        "ticket: No usable answer from 1 gateway",
        "ticket: Wrong chain, not sandbox-1",
      ])
      yield* breaks
      assert.deepStrictEqual((yield* heard).toSorted(), [...told])
    }, setup),
  )

  it.effect("pages once where too few are on our chain, and one of those is down as well", () =>
    flow(function* () {
      yield* up(...names)
      for (const name of ["b", "c", "d"]) yield* elsewhere(name, "other")
      yield* pass(30)
      assert.deepStrictEqual(yield* heard, ["page: Wrong chain, not sandbox-1"])
      yield* passDown(90, "a")
      assert.deepStrictEqual(yield* heard, ["ticket: No usable answer from 1 gateway"])
    }, setup),
  )

  it.effect("is alerted to where a further receiver takes nothing, and pages where a page waits", () =>
    flow(function* () {
      const waits = (dedup: string, severity: "page" | "ticket", receiver: string) =>
        Effect.flatMap(AlertQueue, ({ raise }) =>
          raise({ dedup, severity, kind: "test", subject: dedup, detail: "", fields: {}, to: [receiver] }),
        )
      yield* up(...names)
      yield* waits("one", "ticket", "desk")
      yield* pass(70, "desk", "team")
      assert.deepStrictEqual(yield* heard, ["ticket: desk has not taken 1 alert for 1 min"])
      yield* waits("two", "ticket", "team")
      yield* pass(70, "desk", "team")
      assert.deepStrictEqual(yield* heard, ["ticket: Now also team"])
      yield* waits("three", "page", "desk")
      yield* pass(70, "desk", "team")
      assert.deepStrictEqual(yield* heard, [
        "page: desk has not taken 2 alerts for 3 min, team has not taken 2 alerts for 2 min",
      ])
      yield* waits("four", "page", "team")
      yield* pass(70, "desk", "team")
      assert.deepStrictEqual(yield* heard, ["page: Now also a page to team"])
    }, setup),
  )
})

describe("a gateway that was on another chain", () => {
  it.effect("has its all-clear though another gateway is down for ever", () =>
    flow(function* () {
      yield* up(...names)
      yield* elsewhere("a", "other")
      yield* passDown(60, "b")
      yield* elsewhere("a")
      yield* passDown(60, "b")
      const standing = (yield* listAlerts(100, "standing")).filter(({ name }) => name === "health")
      assert.deepStrictEqual(
        standing.map(({ subject }) => subject),
        ["gateway down"],
      )
    }, setup),
  )
})

describe("balances that stop", () => {
  it.effect("page where the alert of their cause is switched off", () =>
    flow(
      function* () {
        yield* up(...names)
        yield* passDown(120, ...names)
        assert.deepStrictEqual(yield* heard, ["page: No balance was read yet"])
      },
      { ...setup, more: { alerts: { ...alerts, conditions: { gateway_down: { alert: false } } } } },
    ),
  )
})

describe("a receiver that has not taken an alert", () => {
  const undelivered = Effect.map(heard, (all) => all.filter((one) => one.includes("has not taken")))
  const waits = (dedup: string, severity: "page" | "ticket", more: Partial<Alert> = {}) =>
    Effect.flatMap(AlertQueue, ({ raise }) =>
      raise({ dedup, severity, kind: "test", subject: dedup, detail: "", fields: {}, to: ["desk"], ...more }),
    )

  it.effect("has the time from the start of the daemon on", () =>
    flow(function* (options) {
      yield* up(...names)
      yield* waits("one", "page")
      yield* pass(10, "desk")
      yield* TestClock.adjust("6 minutes")
      yield* prepare(options)
      yield* pass(30, "desk")
      assert.deepStrictEqual(yield* undelivered, [])
      yield* pass(60, "desk")
      assert.deepStrictEqual(yield* undelivered, ["page: desk has not taken 1 alert for 1 min"])
    }, setup),
  )

  it.effect("is not said to be over by a restart, while an alert waits for it", () =>
    flow(function* (options) {
      const standing = Effect.map(listAlerts(100, "standing"), (all) =>
        all.flatMap(({ name, seq }) => (name === "health" ? [seq] : [])),
      )
      yield* up(...names)
      yield* waits("one", "ticket")
      yield* pass(70, "desk")
      const ticket = yield* standing
      assert.strictEqual(ticket.length, 1)
      yield* prepare(options)
      for (const seconds of [30, 60]) {
        yield* pass(seconds, "desk")
        assert.deepStrictEqual(yield* standing, ticket)
      }
      yield* pass(10)
      assert.deepStrictEqual(yield* standing, [])
    }, setup),
  )

  it.effect("has the time from each repetition on, whatever clock the alert was raised by", () =>
    flow(function* () {
      yield* up(...names)
      yield* TestClock.adjust("2 hours")
      yield* waits("one", "ticket", { repeats: true })
      yield* pass(10)
      yield* TestClock.adjust("-1 hours")
      yield* waits("two", "ticket")
      yield* pass(10)
      yield* TestClock.adjust("12 hours")
      yield* (yield* makeReminders)({ repeatMillis: 36_000_000, steps: [], forgetful: new Set(), hasRule: () => true })
      assert.notDeepEqual(yield* (yield* AlertQueue).due(10, "desk"), [])
      yield* pass(30, "desk")
      assert.deepStrictEqual(yield* undelivered, [])
    }, setup),
  )

  it.effect("has all the time in which an alert waits for its group", () =>
    flow(
      function* () {
        yield* up(...names)
        const facts = { asset: "x", symbol: "X", from: "a", to: "b", what: "w", seq: 1, words: "changed" }
        yield* raise("asset_changed", { ...facts, severity: "ticket" }, ["desk"])
        yield* pass(240)
        assert.deepStrictEqual(yield* undelivered, [])
      },
      { ...setup, more: { alerts: { ...alerts, groupWait: "5m" } } },
    ),
  )

  it.effect("takes pages, though it refuses one ticket for ever", () =>
    flow(function* () {
      yield* up(...names)
      yield* waits("one", "ticket")
      yield* pass(70, "desk")
      assert.deepStrictEqual(yield* undelivered, ["ticket: desk has not taken 1 alert for 1 min"])
      yield* waits("two", "page")
      yield* pass(10, "desk")
      assert.deepStrictEqual(yield* undelivered, [])
    }, setup),
  )
})
