import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import type { AsJson } from "../../src/cli/common/client.ts"
import { explainText } from "../../src/cli/explain.ts"
import { CycleConfig } from "../../src/config/ConfigInForce.ts"
import type { Treasury } from "../../src/config/Treasury.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import { type HoldReason, holdReasons } from "../../src/domain/Decision.ts"
import { peekRound } from "../../src/engine/loadRound.ts"
import { takeSnapshot } from "../../src/engine/snapshot.ts"
import { type Explained, explanationOf } from "../../src/http/explanationOf.ts"
import { decideRound } from "../../src/rules/decideRound.ts"
import { explainSubject } from "../../src/rules/explain/explain.ts"
import type { Snapshot } from "../../src/rules/Snapshot.ts"
import { disagreement } from "../../src/store/alerts/makeTrouble.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import type { Settings } from "../../src/store/database/Settings.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import {
  arrange,
  blockTime,
  explained,
  keys,
  now,
  payment,
  type Rows,
  remember,
  seesHead,
  type Words,
} from "../support/Explained.ts"
import { it } from "../support/it.ts"
import { attemptOf } from "../support/Payments.ts"
import { tempDir } from "../support/tempDir.ts"

interface Case {
  readonly words?: Words
  readonly rows?: Rows
  /** What is stored beside the rows. */
  readonly store?: Effect.Effect<
    unknown,
    unknown,
    Controls | ChainState | Settings | Drifts | Outbox | SpendLog | RuleStates
  >
  /** What no row says yet. */
  readonly snapshot?: Partial<Snapshot>
  /** The sentence, with the number or the name that decided. */
  readonly says: RegExp
  /** Seconds after which time alone ends it; undefined: what else has to happen says `after`. */
  readonly endsIn?: number
  readonly after?: RegExp
}

const pause = (scope: string, until?: number) =>
  Effect.flatMap(Controls, (controls) => controls.pause({ scope, reason: "audit of May", author: "ana", until }))
const recorded = Effect.fnUntraced(function* (...[more = {}]: Parameters<typeof payment>) {
  const outbox = yield* Outbox
  yield* outbox.record(payment(more))
  return { outbox, intent: payment(more) }
})
const signed = Effect.gen(function* () {
  const { outbox, intent } = yield* recorded()
  const reserved = yield* outbox.move(intent, "reserved", { detail: "permitted" })
  yield* outbox.persist(reserved, attemptOf(reserved, 1))
  const [flying] = yield* outbox.open
  return { outbox, flying }
})
const confirmed = Effect.fnUntraced(function* (...[more, settledAt]: readonly [Parameters<typeof payment>[0], bigint]) {
  const { outbox, intent } = yield* recorded(more)
  const reserved = yield* outbox.move(intent, "reserved", { detail: "permitted" })
  yield* outbox.persist(reserved, attemptOf(reserved, 1))
  const [flying] = yield* outbox.open
  yield* outbox.move(flying!, "confirmed", { detail: "paid", settledAt })
})
const spent = Effect.flatMap(SpendLog, (log) =>
  Effect.andThen(
    log.record({
      intentId: "8".repeat(64),
      k: 1,
      digest: "d",
      signature: "s",
      from: keys.reserve,
      to: keys.hot,
      assetId: payment().payment.assetId,
      amount: 1_900_000n,
      spentAt: now - 3_600_000,
      policy: "p",
      line: 1,
    }),
    log.close("8".repeat(64), undefined),
  ),
)

/** The network told of 18 transfers. */
const epoch = Effect.gen(function* () {
  const asOf = blockTime - 600_000_000_000n
  const readAt = yield* Clock.currentTimeMillis
  const told = { [keys.reserve]: { seq: 7, used: 18, limit: 20, asOf, readAt } }
  const startAt = asOf - 600_000_000_000n
  yield* (yield* ChainState).noteEpoch({ seq: 7, startAt, endsAtMillis: now + 1_800_000, told, readAt })
})

const submittedAs = (digit: string, amount = payment().payment.amount) => {
  const id = digit.repeat(64) as ReturnType<typeof payment>["id"]
  const toKey = keys.eve as ReturnType<typeof payment>["payment"]["toKey"]
  const eve = { ...payment().payment, to: "eve", toKey, amount }
  return recorded({ id, rule: "submit", subject: digit, payment: eve })
}

/** Our journal signed two more since. */
const sentInEpoch = Effect.gen(function* () {
  yield* epoch
  for (const digit of ["5", "6"]) {
    const { outbox, intent } = yield* submittedAs(digit)
    const reserved = yield* outbox.move(intent, "reserved", { detail: "permitted" })
    yield* outbox.persist(reserved, attemptOf(reserved, 1, { nonce: BigInt(digit) }))
  }
})

const dir = tempDir("explain")
const codeFile = join(dir, "rules.ts")
writeFileSync(
  codeFile,
  `const of = { from: "reserve", to: "hot", asset: "USDT", accounts: [{ party: "hot", asset: "USDT" }] }
const need = () => {
  throw new Error("not today")
}
export const rules = [{ name: "keep", code: { ...of, need } }]
`,
)

const cases = {
  halted: {
    store: Effect.flatMap(Controls, (controls) => controls.halt("foreign_payment", "who was that")),
    says: /^\(foreign payment\): who was that$/,
    after: /^the halt ends: if these payments were meant: "cofferer adopt --reason TEXT"; if not/,
  },
  paused: {
    store: pause("party:reserve", now + 600_000),
    says: /^\(party:reserve\) by ana: audit of May$/,
    endsIn: 600,
  },
  maintenance: {
    words: {
      more: {
        maintenance: [
          { name: "year-end", from: "2027-01-15T07:00:00Z", until: "2027-01-15T09:00:00Z", hold: "payments" },
        ],
      },
    },
    says: /^maintenance year-end until 2027-01-15 09:00Z$/,
    endsIn: 3_600,
  },
  outside_hours: {
    words: {
      keep: { during: "desk" },
      more: { hours: { desk: { weekdays: "monday:friday", times: "10:00-18:00", location: "UTC" } } },
    },
    says: /^outside desk; it opens 2027-01-15 10:00Z, in 2 h$/,
    endsIn: 7_200,
  },
  not_due: {
    words: {
      instead: [
        {
          name: "keep",
          payout: { from: "reserve", to: "hot", asset: "USDT", amount: "40" },
          schedule: { cron: "0 9 * * *", location: "UTC" },
        },
      ],
    },
    rows: { firing: false },
    says: /^next planned for 2027-01-15T09:00Z$/,
    endsIn: 3_600,
  },
  locked: { store: pause("lock:keep"), says: /^audit of May; unlock: .*lock:keep/, after: /unlocks it: .*lock:keep/ },
  code: {
    words: { instead: [codeFile] },
    says: /^its code fails at rules\.ts:3:\d+: not today$/,
    after: /^its code gives a valid answer: correct it, then "cofferer reload/,
  },
  inhibited: {
    words: {
      keep: { inhibitedBy: "alarm" },
      rules: [
        {
          name: "alarm",
          topUp: { from: "reserve", levels: [{ party: "eve", asset: "USDT", below: "1", target: "2" }] },
          for: "1h",
        },
      ],
    },
    store: remember("alarm", "eve/USDT"),
    says: /^while alarm fires$/,
    after: /alarm no longer fires/,
  },
  no_data: {
    words: {
      instead: [
        {
          name: "keep",
          topUp: { from: "reserve", levels: [{ party: "cold", asset: "USDT", below: "1_000", target: "2_000" }] },
        },
      ],
    },
    says: /^no balance of cold\/USDT was ever seen$/,
    after: /^a balance of cold\/USDT is seen, or the rule has onNoData: zero$/,
  },
  stale: { words: { keep: { maxAge: "500ms" } }, says: /older than 0\.5 s$/, after: /newer block/ },
  catching_up: { rows: { checked: false }, says: /not yet compared/, after: /compared/ },
  disagreement: {
    store: Effect.flatMap(disagreement, (d) => d.note("b shows 3 where a shows 4")),
    says: /^b shows 3 where a shows 4$/,
    after: /gateways agree/,
  },
  drift: {
    store: Effect.flatMap(Drifts, (drifts) => {
      const { assetId: asset } = payment().payment
      const account = { party: keys.hot, asset, market: "", type: "ACCOUNT_TYPE_GENERAL" }
      const differing = [{ ...account, stored: 50_000n, reported: 4n }]
      return drifts.note({ differing, agreeing: new Set(), listed: 1n, until: 1n })
    }),
    says: /balance differ since 2027-01-15T08:00:00Z$/,
    after: /see reconcile/,
  },
  chain_unsettled: { store: seesHead(257), says: /difficulty 257/, after: /work parameters are valid/ },
  in_band: {
    words: { keep: { for: "30s" } },
    rows: { hot: 100_000n },
    says: /^1,000\.00 \(trigger 1,000\)$/,
    after: /^hot\/USDT falls below 1,000 and stays so for 30 s, seen twice$/,
  },
  pending: {
    words: { keep: { for: "90s" } },
    says: /^500\.00 is below 1,000; must stay so for 30 s$/,
    endsIn: 30,
  },
  in_flight: {
    store: recorded(),
    says: /^123\.45 USDT is under way \(proposed\)$/,
    after: /^what is under way ends: "cofferer intents show \w{4}"/,
  },
  settling: {
    store: confirmed({ rule: "other", subject: "x" }, blockTime + 2_000_000_000n),
    says: /^the payment of 08:00:01Z is newer than the balances; they end at 07:59:59Z$/,
    after: /newer block/,
  },
  cooldown: {
    words: { keep: { cooldown: "10m" } },
    store: confirmed({}, blockTime - 60_000_000_000n),
    says: /^600 s left$/,
    endsIn: 600,
  },
  unresolved: {
    store: Effect.gen(function* () {
      const { outbox, flying } = yield* signed
      yield* outbox.move(flying!, "manual", { detail: "block 70 says yes and no" })
    }),
    says: /^an earlier payment is manual: block 70 says yes and no$/,
    after: /^a person resolves it: "cofferer intents resolve \w{4} --reason TEXT"$/,
  },
  awaiting_approval: {
    store: Effect.flatMap(recorded(), ({ outbox, intent }) =>
      outbox.move(intent, "awaiting_approval", { detail: "two of three" }),
    ),
    says: /^123\.45 USDT waits for approval$/,
    after: /^operators approve or reject it: "cofferer intents show \w{4}"$/,
  },
  too_small: {
    words: { keep: { min: { USDT: "1_600" } } },
    says: /^1,500\.00 is below the minimum of 1,600\.00$/,
    after: /grows to 1,600\.00/,
  },
  asset_status: {
    rows: { status: "STATUS_PENDING_LISTING" },
    says: /^USDT is pending listing$/,
    after: /USDT is listed as pinned/,
  },
  policy: {
    words: {
      policy: {
        allow: [
          { from: "reserve", to: ["hot"], asset: "USDT", perTransfer: "1_200", per24h: "20_000", transfersPer24h: 9 },
        ],
      },
      keep: { mode: "shadow" },
    },
    says: /^1,500 is above 1,200 per transfer \(policy line 1\)$/,
    after: /policy line permits/,
  },
  limit: {
    store: spent,
    says: /^19,000 of 20,000 in 24 h are used; 1,500 more is too much \(policy line 1\); free again about 2027-01-16 07:00Z$/,
    endsIn: 82_800,
  },
  quota: {
    store: sentInEpoch,
    says: /^reserve used 20 of 20 transfers of this epoch; the next epoch begins about 2027-01-15 08:30Z$/,
    endsIn: 1_800,
  },
  fee: {
    words: {
      policy: {
        maxFee: "0.01%",
        allow: [
          {
            from: "reserve",
            to: ["hot"],
            asset: "USDT",
            perTransfer: "9_000",
            per24h: "20_000",
            transfersPer24h: 9,
          },
        ],
      },
    },
    says: /^the network takes 1\.50, more than maxFee allows for 1,500\.00$/,
    after: /maxFee/,
  },
  short: {
    rows: { reserve: 140_000n },
    says: /^reserve has 1,400\.00; 1,500\.00 and a fee of at most 3\.00 are needed$/,
    after: /reserve is funded/,
  },
  yielded: {
    words: {
      rules: [
        {
          name: "first",
          topUp: { from: "reserve", levels: [{ party: "eve", asset: "USDT", below: "1", target: "5_000" }] },
          priority: 1,
        },
      ],
    },
    rows: { reserve: 600_000n },
    store: remember("first", "eve/USDT"),
    says: /took the funds: reserve has 6,000\.00, 5,010\.00 of it for other payments; 1,500\.00 and a fee of at most 3\.00 are needed$/,
    after: /higher priority/,
  },
} satisfies Record<HoldReason, Case>

/** The explanation of "keep", from the rows alone; or, where no row says it yet, from the snapshot of them. */
const explanation = Effect.fnUntraced(function* (treasury: Treasury, snapshot: Partial<Snapshot> | undefined) {
  if (snapshot === undefined) {
    const answer = yield* explanationOf({ treasury, mode: "live" }, { name: "keep" })
    if (!("about" in answer) || answer.about !== "rule") throw new Error(JSON.stringify(answer))
    return {
      first: answer.subjects[0]!,
      text: explainText(JSON.parse(JSON.stringify(answer)) as AsJson<Explained>, true),
    }
  }
  const memories = new Map((yield* (yield* RuleStates).all).map((m) => [`${m.rule}|${m.subject}`, m]))
  return yield* Effect.gen(function* () {
    const taken = { ...(yield* takeSnapshot(memories)), ...snapshot }
    const first = explainSubject(decideRound(yield* peekRound(taken, memories)).conclusions[0]!.outcome.facts)
    return { first, text: first.sentence }
  }).pipe(Effect.provideService(CycleConfig, { treasury, mode: "live" }))
})

describe("explain", () => {
  it("reaches every reason for silence", () => {
    assert.sameMembers(Object.keys(cases), [...holdReasons])
  })

  for (const [reason, one] of Object.entries<Case>(cases)) {
    it.effect(`says of ${reason} what decided, and what would end it`, () =>
      explained(one.words ?? {}, function* (treasury) {
        yield* arrange(one.rows)
        yield* one.store ?? Effect.void
        const { first, text } = yield* explanation(treasury, one.snapshot)
        assert.strictEqual(first.reason, reason, first.sentence)
        const check = first.checks.find(({ sign }) => sign === "holds")
        assert.strictEqual(check?.reason, reason)
        assert.match(check?.detail ?? "", one.says)
        assert.include(text, check?.detail ?? "?")
        const yielded = first.checks.find((c) => c.reason === "yielded")
        const inBand = first.checks.find((c) => c.reason === "in_band")
        if (reason === "code") assert.strictEqual(inBand?.sign, "not_reached", inBand?.detail)
        if (["quota", "short"].includes(reason)) assert.strictEqual(yielded?.sign, "passed", yielded?.detail)
        if (one.endsIn === undefined) assert.match(first.next.after.join("\n"), one.after ?? /\?/)
        else assert.strictEqual(first.next.notBefore, now + one.endsIn * 1_000)
        assert.deepStrictEqual(
          first.checks.map((c) => c.reason),
          [...holdReasons],
        )
      }),
    )
  }

  it.effect("asks nobody to resolve a payment that is unknown, since the ledger shows its end", () =>
    explained({}, function* (treasury) {
      yield* arrange()
      const { outbox, flying } = yield* signed
      yield* outbox.move(flying!, "unknown", { detail: "no answer" })
      const { first } = yield* explanation(treasury, undefined)
      assert.match(first.sentence, /holds: unresolved, an earlier payment is unknown: no answer$/)
      assert.match(
        first.next.after.join(),
        /^the ledger shows by itself how the payment ended: "cofferer intents show /,
      )
    }),
  )

  it.effect("says of a cooldown that is no obstacle that nothing was paid in it", () =>
    explained({ keep: { cooldown: "10m" } }, function* (treasury) {
      yield* arrange({ hot: 0n })
      const { text } = yield* explanation(treasury, undefined)
      assert.match(text, / cooldown +passed +nothing was paid or asked for in the last 10 min\n/)
    }),
  )

  it.effect("says of a payer that has more than is needed how much of it is set aside", () =>
    explained({ keep: { floor: { USDT: "200" } } }, function* (treasury) {
      yield* arrange({ reserve: 1_000_000n })
      yield* submittedAs("5", baseUnits(830_000n))
      const { first } = yield* explanation(treasury, undefined)
      assert.match(
        first.sentence,
        /reserve has 10,000\.00 and keeps 200, 8,300\.25 of it for other payments; 1,500\.00 and/,
      )
    }),
  )

  it.effect("calls no need within the limits of a day that is above what one transfer may have", () =>
    explained(cases.policy.words, function* (treasury) {
      yield* arrange()
      const { first } = yield* explanation(treasury, undefined)
      assert.match(first.checks.find(({ reason }) => reason === "limit")?.detail ?? "", /^not judged: /)
    }),
  )

  it.effect("counts what is decided and not signed among the transfers of the epoch", () =>
    explained({}, function* (treasury) {
      yield* arrange({ hot: 0n })
      yield* Effect.andThen(epoch, submittedAs("5"))
      const { text } = yield* explanation(treasury, undefined)
      assert.match(text, / quota +passed +reserve used 19 of 20 transfers of this epoch; /)
    }),
  )

  it.effect("keeps what was observed apart from what was rehearsed", () =>
    explained({ keep: { mode: "shadow" } }, function* (treasury) {
      yield* arrange({ hot: 0n })
      const { payment: paid } = payment()
      yield* (yield* RuleStates).addTrial("keep", { ...paid, amount: 150_000n }, 25n)
      const { first, text } = yield* explanation(treasury, undefined)
      assert.match(first.sentence, /nothing to do: 1,500\.00 /)
      assert.match(text, /observed +hot\/USDT has 0\.00 USDT, 1,500\.00 rehearsed\n/)
      assert.match(text, /reserve\/USDT \(payer\) has 100,000\.00 USDT, 98,499\.75 rehearsed, /)
    }),
  )
})
