import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decideOnce } from "../../src/engine/Engine.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { ProofOfWork } from "../../src/pow/ProofOfWork.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { compareHistory } from "../../src/submitter/audit/adopt.ts"
import { feeParametersOf } from "../../src/submitter/SigningFacts.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { alertIfTooSlow } from "../../src/submitter/solveWork.ts"
import { alice, flow, round } from "../support/Flow.ts"
import { behind, withoutTransfers } from "../support/Instead.ts"
import { rounds, ruleState } from "../support/Intents.ts"
import { usdt } from "../support/TestSandbox.ts"
import { isWoken } from "../support/woken.ts"

describe("a rule", () => {
  it.effect("is pending while its need is new, acts, and then rests", () =>
    flow(function* (options, sandbox) {
      const seen = new Set<string | undefined>()
      for (let i = 0; i < 8; i++) {
        yield* round(options, sandbox, new Set(["decide"]))
        yield* decideOnce()
        seen.add((yield* ruleState("keep-bob"))?.state)
      }
      assert.deepStrictEqual([...seen], ["pending", "acting", "holding", "inactive"])
    }),
  )
})

describe("the cap of a fee", () => {
  it.effect("is that of the asset's quantum while its listing is recent", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 1)
      const before = yield* feeParametersOf(usdt)
      assert.isDefined(before)
      assert.isDefined(before?.cap)
      yield* TestClock.adjust("400 days")
      const after = yield* feeParametersOf(usdt)
      assert.isDefined(after)
      assert.isUndefined(after?.cap)
    }),
  )
})

describe("a comparison with all that the gateway lists", () => {
  it.effect("counts the transfers, and finds none that the journal does not know", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 6)
      const found = yield* compareHistory([alice])
      assert.deepInclude(found, { transfers: 1, differences: [], unlisted: [] })
    }),
  )

  it.effect("names the keys of which nothing is listed", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 1, new Set(["submit", "confirm", "reconcile"]))
      assert.deepInclude(yield* compareHistory([alice]), { transfers: 0, unlisted: [alice] })
    }, behind(withoutTransfers)),
  )
})

describe("work that no machine finds in time", () => {
  it.effect("calls people once a day, and says why nothing is signed", () =>
    flow(function* (options, sandbox) {
      yield* rounds(options, sandbox, 1)
      const head = yield* Effect.flatMap(GatewayReader, (chain) => chain.head)
      const real = yield* ProofOfWork
      const harder = {
        ...real,
        judge: (work: Parameters<typeof real.judge>[0]) => real.judge({ ...work, difficulty: 200 }),
      }
      const judged = Effect.provideService(alertIfTooSlow(head), ProofOfWork, harder)
      yield* isWoken("alerts")
      assert.isUndefined(yield* alertIfTooSlow(head))
      assert.include(yield* judged, "the network's proof of work would not be ready")
      assert.isTrue(yield* isWoken("alerts"))
      yield* judged
      assert.isFalse(yield* isWoken("alerts"), "the same day")
    }),
  )
})

describe("a payment that waits", () => {
  it.effect("wakes the alert loop once it has waited too long", () =>
    flow(
      function* (options, sandbox) {
        yield* rounds(options, sandbox, 3)
        yield* TestClock.adjust("1 minute")
        yield* rounds(options, sandbox, 3, new Set(["submit", "confirm"]))
        yield* (yield* Controls).halt("operator", "looks at it")
        yield* submitOnce()
        yield* isWoken("alerts")
        yield* submitOnce()
        assert.isFalse(yield* isWoken("alerts"), "it has just begun")
        yield* TestClock.adjust("2 hours")
        yield* submitOnce()
        assert.isTrue(yield* isWoken("alerts"))
        yield* submitOnce()
        assert.isFalse(yield* isWoken("alerts"))
      },
      {
        rules: [
          {
            name: "wage",
            payout: { from: "alice", to: "eve", asset: "USDT", amount: "30" },
            schedule: { cron: "1 8 * * *" },
          },
        ],
      },
    ),
  )
})
