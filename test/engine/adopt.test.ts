import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { remindersOf } from "../../src/alerts/AlertLoop.ts"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import { adoptRules } from "../../src/engine/adoptRules.ts"
import { reloadConfig } from "../../src/http/reload.ts"
import type { RuleMemory } from "../../src/rules/RuleMemory.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { makeAllClears } from "../../src/store/alerts/allClears.ts"
import { makeTrouble } from "../../src/store/alerts/makeTrouble.ts"
import { raise } from "../../src/store/alerts/raise.ts"
import { Database } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { daemonHere } from "../support/daemonHere.ts"
import { alice, bob, type FlowServices } from "../support/Flow.ts"
import { type Body, effectOf, type Work } from "../support/it.ts"
import { chainId, usdt } from "../support/TestSandbox.ts"
import { type Fields, treasuryText } from "../support/treasury.ts"
import { twice } from "../support/twice.ts"

type Rules = ReadonlyArray<Fields>

const monthly = "0 9 1 * *"
const daily = "0 9 * * *"
const fee = (cron: string, payout: Fields = {}, name = "fee"): Rules => [
  {
    name,
    payout: { from: "alice", to: "bob", asset: "USDT", amount: "40", ...payout },
    schedule: { cron, location: "UTC", missed: "once" },
  },
]
const text = (rules: Rules) =>
  treasuryText({
    name: "adopt",
    mode: "observe",
    network: { chainId, gateways: { sandbox: "http://127.0.0.1:1" } },
    assets: { USDT: { id: usdt, decimals: 6 } },
    parties: {
      alice: { publicKey: alice, signer: { sandbox: "alice" } },
      bob: { publicKey: bob },
      eve: { publicKey: publicKeyOf("test", "eve") },
    },
    rules: [
      {
        name: "keep-eve",
        topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "10", target: "20" }] },
      },
      ...rules,
    ],
    policy: {
      allow: [
        { from: "alice", to: ["bob", "eve"], asset: "USDT", perTransfer: "200", per24h: "400", transfersPer24h: 40 },
      ],
    },
  })

const seconds = (time: string): number => Date.parse(time) / 1_000
const memoryOf = (more: Pick<RuleMemory, "rule" | "subject"> & Partial<RuleMemory>): RuleMemory => ({
  episode: 1,
  firingSince: undefined,
  observations: 0,
  lastObservation: 0n,
  state: "inactive",
  reason: "not_due",
  detail: "",
  reasonSince: 0,
  decidedAt: 0,
  ...more,
})
const fees = { rule: "fee", subject: "bob/USDT" }
/** All is done up to the first of March. */
const paidInMarch = memoryOf({ ...fees, episode: seconds("2026-03-01T09:00:00Z") })

const remembered = ({ rule, subject }: Pick<RuleMemory, "rule" | "subject">) =>
  Effect.map(
    Effect.flatMap(RuleStates, ({ all }) => all),
    (all) => all.find((memory) => memory.rule === rule && memory.subject === subject),
  )
const remember = (memory: RuleMemory) => Effect.flatMap(RuleStates, ({ save }) => save(memory, undefined))

/** A treasury's files and store: `start` runs with the rules as a new process, `reload` within it. */
const installed = (use: Body<[machine: ReturnType<typeof machineIn>], never>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "cofferer-adopt-"))),
    (dir) => Effect.andThen(TestClock.setTime(Date.parse("2026-03-10T10:00:00Z")), effectOf(use(machineIn(dir)))),
    (dir) => Effect.sync(() => rmSync(dir, { recursive: true, force: true })),
  )

const machineIn = (dir: string) => {
  const file = join(dir, "treasury.yaml")
  const write = (rules: Rules) => Effect.sync(() => writeFileSync(file, text(rules)))
  const begun = <A>(rules: Rules, prepared: typeof prepare, use: Work<FlowServices, A>) =>
    Effect.gen(function* () {
      yield* write(rules)
      const treasury = yield* loadTreasury(file)
      const options = { treasury, mode: treasury.mode, dataDir: dir }
      const layer = daemonHere(options)
      return yield* prepared(options).pipe(Effect.andThen(effectOf(use)), Effect.provide(layer))
    })
  return {
    start: <A>(rules: Rules, use: Work<FlowServices, A>) => begun(rules, prepare, use),
    startTwice: <A>(rules: Rules, use: Work<FlowServices, A>) =>
      begun(rules, (options) => Effect.provideServiceEffect(prepare(options), Database, twice), use),
    reload: Effect.fnUntraced(function* (rules: Rules) {
      yield* write(rules)
      const reloaded = yield* reloadConfig({ author: "tester", reason: "a test", allowWeaker: false })
      assert.strictEqual(reloaded._tag, "Reloaded")
    }),
  }
}

const told = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT severity, detail FROM alerts WHERE kind = 'payout' ORDER BY seq`
  return rows.map((row) => `${row["severity"]} ${row["detail"]}`)
})
const episodeOf = (of: Pick<RuleMemory, "rule" | "subject">) => Effect.map(remembered(of), (memory) => memory?.episode)
/** Files are put in force now. */
const now = seconds("2026-03-10T10:00:00Z")

describe("a payout whose plan is another one than before", () => {
  it.effect("owes nothing that the new plan says of the time before a reload", () =>
    installed(({ start, reload }) =>
      start(fee(monthly), function* () {
        yield* remember(paidInMarch)
        yield* reload(fee(daily))
        assert.strictEqual(yield* episodeOf(fees), now)
        yield* reload(fee(monthly))
        assert.strictEqual(yield* episodeOf(fees), now, "what is done stays done")
      }),
    ),
  )

  it.effect("owes nothing of the time in which it was not there", () =>
    installed(({ start, reload }) =>
      start(fee(daily), function* () {
        yield* remember(paidInMarch)
        yield* reload([])
        assert.strictEqual(yield* episodeOf(fees), paidInMarch.episode)
        yield* reload(fee(daily))
        assert.strictEqual(yield* episodeOf(fees), now)
      }),
    ),
  )

  it.effect("owes nothing of before a start with it, whether it changed or came back", () =>
    installed(function* ({ start }) {
      yield* start(fee(monthly), remember(paidInMarch))
      assert.strictEqual(yield* start(fee(daily), episodeOf(fees)), now)
      yield* start([], Effect.void)
      yield* TestClock.adjust("30 days")
      assert.strictEqual(yield* start(fee(daily), episodeOf(fees)), now + 30 * 86_400)
    }),
  )

  it.effect("owes nothing of before a start with it, where its name was that of a rule which counts its needs", () =>
    installed(function* ({ start }) {
      const filled = { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "100", target: "200" }] }
      yield* start([{ name: "fee", topUp: filled }], remember(memoryOf({ ...fees, episode: 3 })))
      assert.strictEqual(yield* start(fee(monthly), episodeOf(fees)), now)
    }),
  )

  it.effect("owes what an outage kept from being paid under the same plan", () =>
    installed(function* ({ start, reload }) {
      yield* start(fee(daily), remember(paidInMarch))
      assert.strictEqual(yield* start(fee(daily), episodeOf(fees)), paidInMarch.episode)
      const dearer = fee(daily, { amount: "50" })
      assert.strictEqual(yield* start(dearer, episodeOf(fees)), paidInMarch.episode)
      yield* start(dearer, reload(fee(daily)))
      assert.strictEqual(yield* start(fee(daily), episodeOf(fees)), paidInMarch.episode)
    }),
  )
})

describe("a rule that is gone", () => {
  const tops: Rules = [
    {
      name: "keep-bob",
      topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "100", target: "200" }] },
      for: "30m",
    },
  ]
  const bobs = { rule: "keep-bob", subject: "bob/USDT" }
  const eves = { rule: "keep-eve", subject: "eve/USDT" }
  const timed = (of: typeof bobs) =>
    memoryOf({
      ...of,
      episode: 7,
      firingSince: 1_773_000_000_000,
      observations: 1,
      lastObservation: 5n,
      state: "pending",
    })
  const timerOf = (of: typeof bobs) =>
    Effect.map(remembered(of), (memory) => [memory?.episode, memory?.firingSince, memory?.observations])
  const rememberBoth = Effect.andThen(remember(timed(bobs)), remember(timed(eves)))

  it.effect("keeps no timer, only its count, and leaves the others theirs", () =>
    installed(function* ({ start, reload }) {
      yield* start(tops, function* () {
        yield* rememberBoth
        yield* reload([])
        assert.deepStrictEqual(yield* timerOf(bobs), [7, undefined, 0])
        assert.deepStrictEqual(yield* timerOf(eves), [7, timed(eves).firingSince, 1])
      })
      yield* start(tops, remember(timed(bobs)))
      assert.deepStrictEqual(yield* start([], timerOf(bobs)), [7, undefined, 0])
    }),
  )

  it.effect("begins anew when it comes back, though an earlier process left it its timer", () =>
    installed(({ start, reload }) =>
      start([], function* () {
        yield* rememberBoth
        yield* reload(tops)
        assert.deepStrictEqual(yield* timerOf(bobs), [7, undefined, 0])
      }),
    ),
  )

  it.effect("keeps its timer over a restart where it is not gone", () =>
    installed(function* ({ start }) {
      yield* start(tops, rememberBoth)
      assert.deepStrictEqual(yield* start(tops, timerOf(bobs)), [7, timed(bobs).firingSince, 1])
      assert.deepStrictEqual(yield* start([...tops, ...fee(daily)], timerOf(bobs)), [7, timed(bobs).firingSince, 1])
    }),
  )

  it.effect("keeps no timer where its asset's name stands for another asset now", () =>
    installed(({ start }) =>
      start(tops, function* () {
        yield* rememberBoth
        const { treasury, mode } = (yield* ConfigInForce).now()
        const adoptAfter = Effect.fnUntraced(function* (id: string) {
          const former = { ...treasury, assets: new Map([["USDT", { ...treasury.assets.get("USDT")!, id }]]) }
          yield* (yield* Database).write(adoptRules(treasury.rules, mode, former, treasury.rules))
        })
        yield* adoptAfter(usdt)
        assert.deepStrictEqual(yield* timerOf(bobs), [7, timed(bobs).firingSince, 1])
        yield* adoptAfter("ab".repeat(32))
        assert.deepStrictEqual(yield* timerOf(bobs), [7, undefined, 0])
      }),
    ),
  )

  const held = memoryOf({
    ...fees,
    episode: seconds("2026-02-01T09:00:00Z"),
    firingSince: 1,
    reason: "short",
    detail: "alice has 3.00",
    state: "holding",
  })
  for (const [how, rules] of [
    ["has another plan", fee(daily)],
    ["has another name", fee(monthly, {}, "dues")],
    ["pays somebody else", fee(monthly, { to: "eve" })],
    ["is gone", []],
  ] as const) {
    const said =
      /^ticket bob\/USDT was due and held \(short: alice has 3\.00\).* if it is still owed.*"cofferer submit"/
    it.effect(`tells people where it was due and held, and now ${how}`, () =>
      installed(({ start, reload }) =>
        start(fee(monthly), function* () {
          yield* remember(held)
          yield* reload(fee(monthly, { amount: "50" }))
          assert.deepStrictEqual(yield* told, [], "it is owed as before")
          yield* reload(rules)
          const [ticket, ...others] = yield* told
          assert.match(ticket ?? "", said)
          assert.deepStrictEqual(others, [])
          yield* reload(fee(monthly))
          assert.lengthOf(yield* told, 1, "once")
        }),
      ),
    )
    it.effect(`tells them at a start whose transaction ran twice too, where it now ${how}`, () =>
      installed(function* ({ start, startTwice }) {
        yield* start(fee(monthly), remember(held))
        const [alerts, episode] = yield* startTwice(rules, Effect.all([told, episodeOf(fees)]))
        assert.match(alerts.join(), said)
        assert.strictEqual(yield* start(rules, episodeOf(fees)), episode, "what the store has is what counts")
      }),
    )
    it.effect(`tells them at a start with it too, where it now ${how}`, () =>
      installed(function* ({ start }) {
        yield* start(fee(monthly), remember(held))
        assert.deepStrictEqual(yield* start(fee(monthly), told), [])
        assert.match((yield* start(rules, told)).join(), said)
      }),
    )
  }
})

describe("a payout that is decided, and then not evaluated with new balances", () => {
  for (const [how, rules] of [
    ["has another plan", fee(daily)],
    ["is gone", []],
  ] as const)
    it.effect(`is not called unpaid where it ${how}: people would pay it once more`, () =>
      installed(({ start, reload }) =>
        start(fee(monthly), function* () {
          // A round without new balances leaves the timer of the round that decided.
          yield* remember(memoryOf({ ...paidInMarch, firingSince: 1, reason: "catching_up", state: "holding" }))
          yield* reload(rules)
          assert.deepStrictEqual(yield* told, [])
        }),
      ),
    )
})

describe("a payout that was planned while nothing ran", () => {
  for (const [how, rules, count] of [
    ["has another name", fee(monthly, {}, "dues"), 1],
    ["pays somebody else", fee(monthly, { to: "eve" }), 1],
    ["has another plan", fee(daily), 1],
    ["is as before", fee(monthly), 0],
    ["is gone", [], 1],
  ] as const) {
    it.effect(`is told of once at a start with it where nobody pays it: it ${how}`, () =>
      installed(function* ({ start }) {
        yield* start(fee(monthly), remember(paidInMarch))
        yield* TestClock.setTime(Date.parse("2026-04-01T09:05:00Z"))
        const tickets = yield* start(rules, told)
        assert.lengthOf(tickets, count)
        if (count > 0) {
          assert.match(tickets.join(), /^ticket bob\/USDT was due .*planned for 2026-04-01T09:00Z, and not decided/)
        }
        assert.lengthOf(yield* start(rules, told), count)
      }),
    )
  }

  it.effect("is told of with each of its times, where several came", () =>
    installed(function* ({ start }) {
      yield* start(fee(monthly), remember(paidInMarch))
      yield* TestClock.setTime(Date.parse("2026-06-02T09:05:00Z"))
      const tickets = yield* start(fee(daily), told)
      assert.match(tickets.join(), /planned for each time from 2026-04-01T09:00Z to 2026-06-01T09:00Z, and not decided/)
    }),
  )

  it.effect("is not told of where it is removed before its time", () =>
    installed(function* ({ start }) {
      yield* start(fee(monthly), remember(paidInMarch))
      assert.deepStrictEqual(yield* start([], told), [])
      yield* TestClock.setTime(Date.parse("2026-04-01T09:05:00Z"))
      assert.deepStrictEqual(yield* start([], told), [])
    }),
  )
})

describe("an alert rule that fires", () => {
  it.effect("goes on through a reload, and fires anew once it was away", () => {
    const name = "low"
    const when = { balance: { party: "bob", asset: "USDT", below: "100" } }
    const low = { name, notify: { when, severity: "page" } }
    const stateOf = Effect.map(remembered({ rule: name, subject: "when" }), (memory) => memory?.state)
    return installed(({ start, reload }) =>
      start([low], function* () {
        yield* remember(memoryOf({ rule: name, subject: "when", state: "acting", firingSince: 1 }))
        yield* reload([low, ...fee(daily)])
        assert.strictEqual(yield* stateOf, "acting")
        yield* reload([])
        assert.strictEqual(yield* stateOf, "inactive", "its all-clear is sent")
      }),
    )
  })
})

const asks: Rules = [{ name: "fund", request: { from: "eve", to: "bob", asset: "USDT", below: "100", target: "200" } }]
const tops: Rules = [
  {
    name: "fund",
    topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "100", target: "200" }] },
  },
]
const funds = { rule: "fund", subject: "bob/USDT" }

describe("a funding request", () => {
  for (const [how, rules] of [
    ["is gone", []],
    ["pays by itself", tops],
  ] as const) {
    it.effect(`ends with its rule, which now ${how}, and whose need asks anew once it is back`, () =>
      installed(({ start, reload }) =>
        start(asks, function* () {
          const states = yield* RuleStates
          yield* remember(memoryOf({ ...funds, firingSince: 1, state: "holding" }))
          const asked = { from: "alice", to: "bob", asset: "USDT", amount: baseUnits(1n), decimals: 6 }
          yield* states.recordRequest({ ...funds, ...asked, episode: 1, detail: "low" })
          const open = Effect.map(states.requests(0), (all) => all.filter(({ endedAt }) => endedAt === undefined))
          yield* reload([...asks, ...fee(daily)])
          assert.lengthOf(yield* open, 1)
          yield* reload(rules)
          assert.lengthOf(yield* open, 0)
          assert.isUndefined((yield* remembered(funds))?.firingSince, "its next need has another number")
        }),
      ),
    )
  }
})

const standing = Effect.gen(function* () {
  const { treasury, alerts } = (yield* ConfigInForce).now()
  yield* (yield* makeAllClears)(remindersOf({ ...treasury, ...alerts }).hasRule)
  return (yield* listAlerts(9, "standing")).map((alert) => alert.name)
})

describe("an alert about a rule", () => {
  it.effect("that is late ends once its plan is replaced, or its time is concluded, by whatever rule", () =>
    installed(({ start, reload }) =>
      start(fee(monthly), function* () {
        const first = "2026-03-01T09:00:00.000Z"
        const late = { ...fees, account: fees.subject, words: "", from: "", to: "", first, times: 0 }
        yield* remember(memoryOf({ ...fees, episode: seconds("2026-02-01T09:00:00Z") }))
        yield* raise("payout_late", { ...late, firstMillis: Date.parse(first) })
        assert.deepStrictEqual(yield* standing, ["payout_late"])
        yield* reload(fee(daily))
        assert.deepStrictEqual(yield* standing, ["payout_unowed"], "it is owed no longer")
      }),
    ),
  )

  it.effect("begins anew where the rule comes back", () =>
    installed(({ start, reload }) =>
      start(tops, function* () {
        const failing = makeTrouble(yield* Settings, "code/fund", 0)
        yield* failing.note("throws")
        yield* remember(memoryOf({ ...funds, reason: "no_data", reasonSince: 1 }))
        yield* reload([])
        assert.isUndefined(yield* failing.now)
        assert.isUndefined((yield* remembered(funds))?.reason)
      }),
    ),
  )

  const facts = { rule: "fund", account: "bob/USDT", severity: "ticket" } as never
  const when = { balance: { party: "bob", asset: "USDT", below: "100" } }
  for (const [name, rules] of [
    ["rule_fires", [{ name: "fund", notify: { when, severity: "page" } }]],
    ["request", asks],
    ["payout_late", fee(daily, {}, "fund")],
    ["balance_unknown", asks],
  ] as const) {
    it.effect(`ends once its name is that of a rule which cannot raise it: ${name}`, () =>
      installed(({ start, reload }) =>
        start([], function* () {
          yield* reload(rules)
          yield* raise(name, facts)
          assert.deepStrictEqual(yield* standing, [name])
          yield* reload(name === "balance_unknown" ? [{ name: "fund", notify: { when, severity: "page" } }] : tops)
          assert.deepStrictEqual(yield* standing, [])
        }),
      ),
    )
  }
})
