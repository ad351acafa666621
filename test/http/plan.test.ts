import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { explainText } from "../../src/cli/explain.ts"
import { planText } from "../../src/cli/plan.ts"
import { treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import type { Treasury } from "../../src/config/Treasury.ts"
import { explanationOf, type RuleAnswer } from "../../src/http/explanationOf.ts"
import { planOf } from "../../src/http/planOf.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { arrange, explained, explainedFields, explainedTreasury, line, payment } from "../support/Explained.ts"
import { inTransaction } from "../support/inTransaction.ts"
import { it } from "../support/it.ts"
import { deskFields } from "../support/Operators.ts"
import { testStore } from "../support/TestStore.ts"
import { treasuryText } from "../support/treasury.ts"

const live = (treasury: Treasury) => ({ treasury, mode: "live" as const })
const shown = (treasury: Treasury, inForce?: Treasury, asLastSeen = false) =>
  Effect.map(
    planOf({ plan: live(treasury), inForce: inForce === undefined ? undefined : live(inForce), asLastSeen }),
    (answer) => ({ ...answer, text: planText(answer, !asLastSeen) }),
  )

const onTrial = {
  name: "keep",
  mode: "shadow",
  topUp: { from: "reserve", levels: [{ party: "hot", asset: "USDT", below: "1_000", target: "2_000" }] },
}

describe("a plan", () => {
  it.effect("says what would be paid, and stores nothing of it", () =>
    explained({}, function* (treasury) {
      yield* arrange()
      const before = { head: (yield* (yield* Journal).head).seq, states: yield* (yield* RuleStates).all }
      const { plan, text } = yield* shown(treasury)
      assert.strictEqual(plan.fires, 1)
      assert.include(text, "now       keep hot/USDT pays 1,500.00 USDT reserve -> hot: 500.00 is below 1,000")
      assert.deepStrictEqual(
        { head: (yield* (yield* Journal).head).seq, states: yield* (yield* RuleStates).all },
        before,
      )
      assert.lengthOf(yield* (yield* Outbox).recent(5), 0)
    }),
  )

  it.effect.each([
    [50_000n, /keep hot\/USDT pays .* 500\.00 is below 1,000 \(on trial: only rehearsed\)$/m],
    [200_000n, /idle {6}keep hot\/USDT has nothing to do: .* \(on trial\)$/m],
  ] as const)("marks a rule on trial, as its explanation does, with %d base units", ([hot, says]) => {
    return explained({ instead: [onTrial] }, function* (treasury) {
      yield* arrange({ hot })
      const { plan, text } = yield* shown(treasury)
      assert.match(text, says)
      assert.containSubset(plan.subjects, [{ rule: "keep", rehearsed: true, trial: true }])
      const answer = (yield* explanationOf(live(treasury), { name: "keep" })) as RuleAnswer
      const why = explainText(answer, true)
      assert.include(why, "\n  on trial (mode: shadow): it decides, but nothing is paid or requested\n")
      assert.match(why, /next .*; it would be rehearsed then, not paid$/m)
    })
  })

  it.effect("of rules whose trial ends leaves what the trial has counted so far", () => {
    return explained({ instead: [onTrial] }, function* (treasury) {
      yield* arrange()
      const states = yield* RuleStates
      yield* states.trials(["keep"])
      yield* states.addTrial("keep", payment().payment, 0n)
      const { plan, difference } = yield* shown(yield* explainedTreasury(), treasury)
      assert.deepStrictEqual([plan.fires, difference?.onlyChanged.length], [1, 1])
      yield* explanationOf(live(yield* explainedTreasury()), { name: "keep" })
      const [kept] = yield* states.trials(["keep"])
      assert.deepStrictEqual([kept?.payments, kept?.moved.size], [1, 2])
    })
  })

  it.effect("says what follows once a condition has held for its time", () =>
    explained({ keep: { for: "90s" } }, function* (treasury) {
      yield* arrange()
      const { plan, text } = yield* shown(treasury)
      assert.strictEqual(plan.fires, 1)
      assert.include(text, "now       nothing is paid or asked for")
      assert.include(text, "soon      keep hot/USDT: 1,500.00 USDT reserve -> hot, if it stays so for 30 s more")
    }),
  )

  it.effect("compares base units where a changed file has other decimals, and warns of them", () =>
    explained({}, function* (treasury) {
      yield* arrange({ hot: 0n })
      const id = "c".repeat(64)
      const changed = yield* explainedTreasury({ more: { assets: { USDT: { id, decimals: 3 } } } })
      const { difference, ...answer } = yield* shown(changed, treasury)
      assert.deepStrictEqual(
        difference?.onlyInForce.map(({ amount, units }) => [amount, units]),
        [["2,000.00", "200000"]],
      )
      const warning = "1 USDT is 100 base units in force and would be 1000"
      assert.include(answer.text, `WARNING   USDT has 2 decimals in force and 3 in the changed file: ${warning}`)
      assert.match(answer.text, /no longer 2,000\.00 USDT reserve -> hot \(keep hot\/USDT\), 200000 base units/)
      const each = "9,000 (9000000 base units) each, before 9,000 (900000 base units)"
      assert.include(answer.text, `now permitted: policy line 1, reserve -> hot, eve, cold, USDT: ${each}`)
      const same = yield* shown(treasury, treasury)
      assert.include(same.text, "the file equals what is in force")
    }),
  )

  it.effect("compares what a changed file permits no longer by the values of the changed file", () =>
    explained({}, function* () {
      yield* arrange()
      const policy = { allow: [{ ...line, approval: "desk" }] }
      const [slow, fast] = [
        yield* explainedTreasury({ policy, more: deskFields(1, "4h") }),
        yield* explainedTreasury({ policy, more: deskFields(2, "1h") }),
      ]
      const { text } = yield* shown(fast, slow)
      assert.match(
        text,
        /no longer permitted: policy line 1: 1 of .* must approve, now 2 of .*, they have 4 h, now 60 min$/m,
      )
      assert.notMatch(text, /no longer permitted: .*before/)
    }),
  )

  it.effect("says why a subject is silent", () =>
    explained({}, function* (treasury) {
      yield* arrange({ hot: 100_000n })
      const calm = yield* shown(treasury)
      assert.strictEqual(calm.plan.fires, 0)
      assert.include(calm.text, "idle      keep hot/USDT has nothing to do: 1,000.00 (trigger 1,000)")
    }),
  )

  it.effect("tells what a changed file would do otherwise, over the same knowledge", () =>
    explained({}, function* (treasury) {
      yield* arrange({ hot: 100_000n })
      const changed = yield* explainedTreasury({
        instead: [
          {
            name: "keep",
            topUp: { from: "reserve", levels: [{ party: "hot", asset: "USDT", below: "1_500", target: "2_000" }] },
            priority: 50,
          },
        ],
        rules: [
          {
            name: "eves",
            topUp: { from: "reserve", levels: [{ party: "eve", asset: "USDT", below: "1", target: "5" }] },
          },
        ],
        policy: {
          allow: [
            {
              from: "reserve",
              to: ["hot", "eve"],
              asset: "USDT",
              perTransfer: "8_000",
              per24h: "30_000",
              transfersPer24h: 9,
            },
          ],
        },
      })
      const { seq } = yield* inTransaction((yield* Journal).append({ kind: "config", subject: "test", body: {} }))
      yield* (yield* Approvals).putTerms({ seq, terms: treasuryTermsOf(live(treasury)), alerts: treasury })
      const { difference, plan, text } = yield* shown(changed, treasury)
      assert.match(
        text,
        /^HALT {6}a restart .* 30,000 in 24 h, .* "cofferer terms accept [0-9a-f]{8}" after the restart$/m,
      )
      assert.strictEqual(plan.fires, 2)
      assert.deepStrictEqual(difference?.rules, [
        { rule: "keep", change: "changed", words: ["topUp.levels.0.below: 1_000 -> 1_500"] },
        { rule: "eves", change: "added", words: [] },
      ])
      assert.deepStrictEqual(difference?.onlyInForce, [])
      assert.deepStrictEqual(
        difference?.onlyChanged.map(({ rule, amount }) => [rule, amount]),
        [
          ["keep", "1,000.00"],
          ["eves", "5.00"],
        ],
      )
      assert.match(text, /now permitted: policy line 1, .*: 30,000 in 24 h, before 20,000/)
      assert.match(text, /no longer permitted: policy line 1, .*: 9,000 each, now 8,000/)
      const back = yield* shown(treasury, changed)
      assert.deepStrictEqual(
        back.difference?.rules.map(({ rule, change }) => [rule, change]),
        [
          ["eves", "removed"],
          ["keep", "changed"],
        ],
      )
      assert.lengthOf(back.difference?.onlyInForce ?? [], 2)
      assert.match((yield* shown(treasury, treasury)).text, /the file equals what is in force$/)
    }),
  )

  it.effect("of a store without a daemon is that of its last look", () =>
    explained({}, function* (treasury) {
      yield* arrange({ checked: false })
      const { plan, text } = yield* shown(treasury, undefined, true)
      assert.strictEqual(plan.fires, 1)
      assert.include(text, "no daemon runs: computed from the balances that it stored last")
    }),
  )
})

describe("the commands explain and plan", () => {
  it.live("answer from the database without a daemon, with their exit codes", () => {
    const store = testStore()
    const dir = mkdtempSync(join(tmpdir(), "cofferer-plan-"))
    const [file, changed] = [join(dir, "treasury.yaml"), join(dir, "changed.yaml")]
    writeFileSync(file, treasuryText(explainedFields()))
    writeFileSync(
      changed,
      treasuryText(explainedFields({ rules: [{ name: "news", notify: { asset: "any", becomes: ["enabled"] } }] })),
    )
    const call = (...args: ReadonlyArray<string>) =>
      Effect.promise(() => callCofferer([...args, "--config", file, "--data", store.dir]))
    return Effect.gen(function* () {
      yield* arrange({ at: Date.now() }).pipe(Effect.provide(store.layer()))
      const why = yield* call("explain", "keep", "hot")
      assert.strictEqual(why.code, 0, why.stderr)
      assert.match(why.stdout, /^no daemon runs: /)
      assert.match(why.stdout, /\n {2}catching up +HOLDS +not yet compared with the gateway's balances/)
      const json = yield* call("explain", "keep", "-o", "json")
      assert.containSubset(JSON.parse(json.stdout), {
        running: false,
        about: "rule",
        subjects: [{ subject: "hot/USDT" }],
      })
      const then = yield* call("explain", "keep", "--at", "30s")
      assert.match(
        then.stdout,
        /^no daemon runs: .*\n\nkeep hot\/USDT: nothing is known of |^no daemon runs: .*\n\n.* held at /,
      )
      for (const [code, says, args] of [
        [4, /did you mean "keep"\?\n$/, ["explain", "kepp"]],
        [4, /journal knows no payment/, ["explain", "0".repeat(64)]],
        [2, /such as 5m/, ["explain", "keep", "--at", "soon"]],
        [2, /such as 5m/, ["explain", "keep", "--at", "5"]],
      ] as const) {
        const refused = yield* call(...args)
        assert.deepStrictEqual([refused.code, refused.stdout], [code, ""], refused.stderr)
        assert.match(refused.stderr, says)
      }
      const fires = yield* call("plan")
      assert.strictEqual(fires.code, 9, fires.stderr)
      assert.match(fires.stdout, /\nnow +keep hot\/USDT pays 1,500\.00 USDT reserve -> hot/)
      assert.strictEqual(fires.stderr, "cofferer: 1 payment would be made\n")
      yield* arrange({ at: Date.now(), hot: 100_000n, firing: false }).pipe(Effect.provide(store.layer()))
      const calm = yield* Effect.promise(() => callCofferer(["plan", changed, "--data", store.dir, "-o", "json"]))
      assert.strictEqual(calm.code, 0, calm.stderr)
      assert.containSubset(JSON.parse(calm.stdout), { running: false, plan: { fires: 0, mode: "live" } })
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          store.remove()
          rmSync(dir, { recursive: true, force: true })
        }),
      ),
    )
  })
})
