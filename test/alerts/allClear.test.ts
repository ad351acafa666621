import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { explainAnswer } from "../../src/poller/readBase.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { makeAllClears } from "../../src/store/alerts/allClears.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls, haltSigning } from "../../src/store/controls/Controls.ts"
import { alertOverdue } from "../../src/submitter/Overdue.ts"
import { flow, round, states } from "../support/Flow.ts"
import { rounds } from "../support/Intents.ts"
import { it } from "../support/it.ts"
import { noReminders } from "../support/noReminders.ts"

/** Deliveries that the receivers took, in their order. */
const desks = (taken: Array<string>) =>
  Layer.succeed(
    Notifier,
    Notifier.of({
      receivers: ["desk", "log"],
      send: (receiver, { severity, kind, subject }) =>
        Effect.sync(() => void taken.push(`${receiver} ${severity} ${kind} ${subject}`)),
    }),
  )

/** Pages go to the desk alone, everything else to the log alone. */
const routes = {
  more: {
    alerts: {
      receivers: { desk: { webhook: { url: "http://127.0.0.1:1" } }, log: { log: {} } },
      routes: [
        { severity: ["page"], to: ["desk"] },
        { severity: ["ticket", "info"], to: ["log"] },
      ],
    },
  },
}

describe("the all-clear", () => {
  it.effect("of each halt goes to who got its page, as information, whatever ended it", () => {
    const taken: Array<string> = []
    return flow(
      (options) =>
        Effect.gen(function* () {
          const controls = yield* Controls
          const deliver = deliverOnce(options.treasury.name, noReminders).pipe(Effect.provide(desks(taken)))
          yield* haltSigning("operator", "ana: audit")
          yield* haltSigning("disk_full", "free space")
          yield* deliver
          yield* controls.resume({ scope: "all", reason: "looked", author: "ana" })
          yield* deliver
          yield* controls.release("disk_full", "space again")
          yield* deliver
          yield* deliver
          assert.deepStrictEqual(taken, [
            "desk page halt operator",
            "desk page halt disk_full",
            "desk info halt operator",
            "desk info halt disk_full",
          ])
        }).pipe(Effect.provide(Logger.layer([]))),
      routes,
    )
  })

  it.effect("of balance rows that did not fit comes once later ones are read", () =>
    flow((options, sandbox) =>
      Effect.gen(function* () {
        yield* rounds(options, sandbox, 2)
        const { timestamp = 0n } = (yield* (yield* Observations).watermark) ?? {}
        const overs = Effect.map(listAlerts(100, "all"), (all) =>
          all.flatMap(({ severity, name }) => (name === "balances_overflow" ? [severity] : [])).reverse(),
        )
        yield* explainAnswer(
          { _tag: "Overflow", at: timestamp + 1n, detail: "5,001 rows" },
          { known: timestamp, now: 0n },
        )
        yield* Effect.flatMap(makeAllClears, (raise) => raise(() => true))
        assert.deepStrictEqual(yield* overs, ["ticket"])
        yield* rounds(options, sandbox, 2)
        yield* Effect.flatMap(makeAllClears, (raise) => raise(() => true))
        yield* Effect.flatMap(makeAllClears, (raise) => raise(() => true))
        assert.deepStrictEqual(yield* overs, ["ticket", "info"])
      }).pipe(Effect.provide(Logger.layer([]))),
    ),
  )

  it.effect("of a payment past its bound says how it ended", () => {
    const taken: Array<string> = []
    return flow(function* (options, sandbox) {
      const deliver = deliverOnce(options.treasury.name, noReminders).pipe(Effect.provide(desks(taken)))
      yield* rounds(options, sandbox, 4, new Set(["confirm"]))
      yield* alertOverdue()
      yield* TestClock.adjust("31 minutes")
      yield* alertOverdue()
      yield* deliver
      assert.strictEqual(taken.length, 1, taken.join())
      for (let i = 0; i < 10 && !(yield* states).includes("confirmed"); i++) yield* round(options, sandbox)
      yield* deliver
      assert.deepStrictEqual(
        taken.map((line) => line.replace(/ \w{4}$/, "")),
        ["desk page intent", "desk info intent"],
      )
      assert.isEmpty(yield* (yield* AlertQueue).pending)
    }, routes)
  })
})
