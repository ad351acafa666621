import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { byOneConfig, ConfigInForce, treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { Payment } from "../../src/domain/Decision.ts"
import { nanosOf } from "../../src/domain/Time.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { pauseScope, resumeScope } from "../../src/http/controlVerbs.ts"
import { reloadConfig } from "../../src/http/reload.ts"
import { acceptTerms } from "../../src/http/termsApproval.ts"
import { termsHash } from "../../src/rules/policy/storedTerms.ts"
import type { RuleMemory } from "../../src/rules/RuleMemory.ts"
import { publicKeyOf, writeKeys } from "../../src/sandbox/Keys.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { makeAllClears } from "../../src/store/alerts/allClears.ts"
import { raise } from "../../src/store/alerts/raise.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls, holdsOf } from "../../src/store/controls/Controls.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { daemonHere } from "../support/daemonHere.ts"
import { alice, bob, eve, type FlowServices } from "../support/Flow.ts"
import { type Body, effectOf, it } from "../support/it.ts"
import { chainId, usdt, vega } from "../support/TestSandbox.ts"
import { treasuryText } from "../support/treasury.ts"

const textWith = (
  { bobs = "bob", key = bob, symbol = "USDT", id = usdt, rule = "keep-bob", mode = "observe", asks = false } = {},
  isRuled = true,
) =>
  treasuryText({
    name: "renamed",
    mode,
    network: { chainId, gateways: { sandbox: "http://127.0.0.1:1" } },
    assets: { [symbol]: { id, decimals: 6 } },
    parties: {
      alice: { publicKey: alice, signer: { sandbox: "alice" } },
      [bobs]: { publicKey: key },
      desk: { publicKey: publicKeyOf("test", "dan") },
    },
    rules: isRuled
      ? [
          {
            name: rule,
            ...(asks
              ? { request: { from: "desk", to: bobs, asset: symbol, below: "10", target: "20" } }
              : { topUp: { from: "alice", levels: [{ party: bobs, asset: symbol, below: "10", target: "20" }] } }),
          },
        ]
      : [],
    policy: {
      allow: [{ from: "alice", to: [bobs], asset: symbol, perTransfer: "200", per24h: "400", transfersPer24h: 40 }],
    },
  })
const text = textWith()
const robert = textWith({ bobs: "robert" })
const dollars = textWith({ symbol: "USDX" })
const fund = textWith({ rule: "fund-bob" })

const machine = (use: Body<[run: ReturnType<typeof lifeIn>], never>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "cofferer-renamed-"))),
    (dir) => effectOf(use(lifeIn(dir))),
    (dir) => Effect.sync(() => rmSync(dir, { recursive: true, force: true })),
  )

const lifeIn = (dir: string) => (written: string, use: Body<[], FlowServices>) =>
  Effect.gen(function* () {
    writeFileSync(join(dir, "treasury.yaml"), written)
    writeKeys(join(dir, "sandbox"), "test", ["alice"])
    const treasury = yield* loadTreasury(join(dir, "treasury.yaml"))
    const options = { treasury, mode: treasury.mode, dataDir: dir }
    const layer = daemonHere(options)
    return yield* prepare(options).pipe(Effect.andThen(Effect.suspend(() => effectOf(use()))), Effect.provide(layer))
  })

const rewrite = (written: string) =>
  Effect.map(ConfigInForce, ({ now }) => writeFileSync(now().treasury.files[0], written))
const reload = (written: string, allowWeaker = false) =>
  Effect.andThen(rewrite(written), reloadConfig({ author: "ana", reason: "a name", allowWeaker }))
const pause = (scope: string) =>
  Effect.flatMap(ConfigInForce, ({ now }) => pauseScope(now().treasury, { scope, reason: "audit", author: "ana" }))
const resume = (scope: string) =>
  Effect.flatMap(ConfigInForce, ({ now }) =>
    resumeScope({ treasury: now().treasury, dataDir: "/nowhere" }, { scope, reason: "looked", author: "ana" }),
  )
const scopes = Effect.flatMap(Controls, ({ pauses }) => Effect.map(pauses, (all) => all.map(({ scope }) => scope)))

/** A payment that was decided before anything had another name. */
const payment = {
  from: "alice",
  fromKey: alice,
  to: "bob",
  toKey: bob,
  asset: "USDT",
  assetId: usdt,
  amount: 1n,
} as unknown as Payment
const holds = holdsOf({ rule: "keep-bob", payment, state: "reserved" })

describe("a pause of what has another name now", () => {
  it.effect("stays on the party's key after a rename, and ends by its new name", () =>
    machine(function* (run) {
      yield* run(text, function* () {
        yield* pause("party:bob")
        assert.containSubset(yield* reload(robert), { _tag: "Reloaded" })
        assert.deepStrictEqual(yield* scopes, ["party:robert"])
        assert.lengthOf(yield* holds, 1)
      })
      yield* run(textWith({ bobs: "rob" }), function* () {
        assert.deepStrictEqual(yield* scopes, ["party:rob"])
        assert.lengthOf(yield* holds, 1)
        assert.containSubset(yield* resume("party:rob"), { ended: 1 })
        assert.deepStrictEqual(yield* scopes, [])
        assert.deepStrictEqual(yield* holds, [])
      })
    }),
  )

  it.effect("holds for another key that the party has after a reload, or after a start", () =>
    machine(function* (run) {
      yield* run(textWith({ mode: "live" }), function* () {
        yield* pause("party:bob")
        assert.containSubset(yield* reload(textWith({ mode: "live", key: eve }), true), { _tag: "Reloaded" })
        assert.include(yield* scopes, "party:bob")
        yield* resume("party:bob")
        yield* pause("asset:USDT")
      })
      yield* run(textWith({ mode: "live", key: eve, id: vega }), function* () {
        const { treasury } = (yield* ConfigInForce).now()
        yield* acceptTerms({ hash: termsHash(treasuryTermsOf({ treasury })), author: "ana", reason: "moved" })
        assert.include(yield* scopes, "asset:USDT")
      })
    }),
  )

  it.effect("is kept by a reload while the clock is ahead: it is not over by blocks", () =>
    machine(function* (run) {
      const now = 1_800_000_000_000
      const ahead = now + 7_200_000
      const pauseUntil = (scope: string) =>
        Effect.flatMap(Controls, (controls) =>
          controls.pause({ scope, reason: "audit", author: "ana", until: now + 3_600_000 }),
        )
      yield* TestClock.setTime(now)
      yield* run(textWith({ mode: "live" }), function* () {
        yield* (yield* Observations).rebase([], { timestamp: nanosOf(now), height: 9n })
        yield* pauseUntil("party:bob")
        yield* TestClock.setTime(ahead)
        assert.containSubset(yield* reload(textWith({ mode: "live", key: eve }), true), { _tag: "Reloaded" })
        yield* TestClock.setTime(now)
        assert.deepStrictEqual(yield* scopes, [`party:${bob}`, "party:bob"])
        const ends = (yield* Effect.flatMap(Controls, ({ pauses }) => pauses)).map(({ until }) => until)
        assert.deepStrictEqual(ends, [now + 3_600_000, now + 3_600_000])
        yield* pauseUntil("rule:keep-bob")
        yield* TestClock.setTime(ahead)
        const renamed = textWith({ mode: "live", key: eve, rule: "fund-bob" })
        assert.containSubset(yield* reload(renamed, true), { _tag: "Refused" })
      })
    }),
  )

  it.effect("stays on the asset's id", () =>
    machine((run) =>
      run(text, function* () {
        yield* pause("asset:USDT")
        assert.containSubset(yield* reload(dollars), { _tag: "Reloaded" })
        assert.deepStrictEqual(yield* scopes, ["asset:USDX"])
        assert.lengthOf(yield* holds, 1)
      }),
    ),
  )
})

describe("a stop of a rule that the file has under another name", () => {
  it.effect("blocks a reload, and shows its line and the verb that ends it", () =>
    machine((run) =>
      run(text, function* () {
        yield* pause("rule:keep-bob")
        const refused = yield* reload(fund)
        assert.containSubset(refused, { _tag: "Refused", isConfig: false })
        const detail = refused._tag === "Refused" ? refused.detail : ""
        assert.match(detail, /treasury\.yaml:\d+:\d+ {2}rule:keep-bob stops a rule that the file has no more: audit/)
        assert.include(detail, '"cofferer resume --scope rule:keep-bob --reason TEXT"')
        yield* resume("rule:keep-bob")
        assert.containSubset(yield* reload(fund), { _tag: "Reloaded" })
        assert.deepStrictEqual(yield* scopes, [])
      }),
    ),
  )
})

describe("a stop of a rule that a start's file has under another name", () => {
  for (const scope of ["rule:keep-bob", "lock:keep-bob"]) {
    it.effect(`(${scope}) stops each rule that is new, until it is resumed`, () =>
      machine(function* (run) {
        yield* run(text, () => pause(scope))
        const stop = scope.replace("keep", "fund")
        for (let start = 0; start < 2; start++) {
          yield* run(fund, function* () {
            assert.deepStrictEqual(yield* scopes, [scope, stop])
            const [, paused] = yield* Effect.flatMap(Controls, ({ pauses }) => pauses)
            assert.strictEqual(paused?.reason, `${scope} stops a rule that the file has no more: audit`)
          })
        }
        yield* run(text, function* () {
          assert.deepStrictEqual(yield* scopes, [scope, stop], "nothing is new")
        })
        yield* run(fund, function* () {
          yield* resume(scope)
          yield* resume(stop)
        })
        yield* run(fund, function* () {
          assert.deepStrictEqual(yield* scopes, [])
        })
      }),
    )
  }
})

it.effect("a stop of a rule holds where a start's file gives it back a name that it had", () =>
  machine(function* (run) {
    yield* run(fund, () => byOneConfig(decideOnce()))
    yield* run(text, () => pause("rule:keep-bob"))
    yield* run(fund, function* () {
      assert.deepStrictEqual(yield* scopes, ["rule:keep-bob", "rule:fund-bob"])
    })
  }),
)

describe("a refused reload and its alert", () => {
  it.effect("begin and end together, though a write between them fails", () =>
    machine((run) =>
      run(text, function* () {
        const sql = yield* SqlClient.SqlClient
        const spoilt = Effect.fnUntraced(function* (table: string, written: string) {
          yield* sql.unsafe(`CREATE TRIGGER spoilt BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'full'); END`)
          assert.strictEqual((yield* Effect.exit(reload(written)))._tag, "Failure")
          yield* sql.unsafe("DROP TRIGGER spoilt")
        })
        const standing = Effect.map(listAlerts(9, "standing"), (all) =>
          all.filter(({ name }) => name === "reload_refused"),
        )
        yield* spoilt("settings", "name: 3")
        assert.lengthOf(yield* standing, 0)
        yield* reload("name: 3")
        assert.lengthOf(yield* standing, 1)
        yield* spoilt("alerts", text)
        yield* reload(text)
        assert.lengthOf(yield* standing, 0)
      }),
    ),
  )
})

const live = { mode: "live" }
/** Accepts the terms of the file, where nobody is named who must agree. */
const accept = Effect.gen(function* () {
  const { treasury } = (yield* ConfigInForce).now()
  yield* acceptTerms({ hash: termsHash(treasuryTermsOf({ treasury })), author: "ana", reason: "meant" })
})

describe("a party that is removed while it is paused", () => {
  const carl = textWith({ ...live, bobs: "carl", key: eve })
  const back = textWith({ ...live, key: eve })

  it.effect("is paused under its name, should a reload bring that back with another key", () =>
    machine((run) =>
      run(textWith(live), function* () {
        yield* pause("party:bob")
        for (const written of [carl, back]) {
          assert.containSubset(yield* reload(written, true), { _tag: "Reloaded" })
          assert.deepStrictEqual(yield* scopes, [`party:${bob}`, "party:bob"])
        }
        assert.containSubset(yield* resume("party:bob"), { ended: 1 })
        assert.deepStrictEqual(yield* scopes, [`party:${bob}`])
      }),
    ),
  )

  it.effect("or a start", () =>
    machine(function* (run) {
      yield* run(textWith(live), () => pause("party:bob"))
      for (const written of [carl, back]) {
        yield* run(written, function* () {
          yield* accept
          assert.deepStrictEqual(yield* scopes, [`party:${bob}`, "party:bob"])
        })
      }
    }),
  )
})

const needed: RuleMemory = {
  rule: "keep-bob",
  subject: "bob/USDT",
  episode: 3,
  firingSince: 1,
  observations: 9,
  lastObservation: 5n,
  state: "pending",
  reason: "pending",
  detail: "",
  reasonSince: 1,
  decidedAt: 1,
}
const remember = Effect.flatMap(RuleStates, ({ save }) => save(needed, undefined))
const timer = Effect.map(
  Effect.flatMap(RuleStates, ({ all }) => all),
  (all) => all.map(({ episode, firingSince, observations }) => [episode, firingSince, observations]),
)

describe("a rule whose account has another key now", () => {
  it.effect("waits anew after a reload, or a start: the need was of the other account", () =>
    machine(function* (run) {
      yield* run(textWith(live), function* () {
        yield* remember
        yield* reload(textWith({ ...live, rule: "keep-bob" }), true)
        assert.deepStrictEqual(yield* timer, [[3, 1, 9]])
        yield* reload(textWith({ ...live, key: eve }), true)
        assert.deepStrictEqual(yield* timer, [[3, undefined, 0]])
        yield* remember
      })
      yield* run(textWith({ ...live, key: eve }), function* () {
        assert.deepStrictEqual(yield* timer, [[3, 1, 9]], "nothing changed")
      })
      yield* run(textWith(live), function* () {
        yield* accept
        assert.deepStrictEqual(yield* timer, [[3, undefined, 0]])
      })
    }),
  )

  it.effect("asks people for money to the new key alone", () =>
    machine((run) =>
      run(textWith({ ...live, asks: true }), function* () {
        yield* remember
        const states = yield* RuleStates
        const ask = { rule: "keep-bob", episode: 3, from: "desk", to: "bob", asset: "USDT", detail: "low" }
        yield* states.recordRequest({ ...ask, subject: "bob/USDT", amount: baseUnits(1n), decimals: 6 })
        yield* raise("request", { ...ask, account: "bob/USDT", amount: "1", command: bob })
        const standing = Effect.gen(function* () {
          yield* (yield* makeAllClears)(() => true)
          return (yield* listAlerts(9, "standing")).filter(({ name }) => name === "request")
        })
        const open = Effect.map(states.requests(0), (all) => all.filter(({ endedAt }) => endedAt === undefined))
        assert.lengthOf(yield* standing, 1)
        yield* reload(textWith({ ...live, asks: true, key: eve }), true)
        assert.lengthOf(yield* open, 0)
        assert.lengthOf(yield* standing, 0, "its command pays the old key")
      }),
    ),
  )
})

describe("two receivers of one policy line that exchange their keys", () => {
  const exchanged = (bobs: string, eves: string, below = "10") =>
    treasuryText({
      name: "renamed",
      mode: "live",
      network: { chainId, gateways: { sandbox: "http://127.0.0.1:1" } },
      assets: { USDT: { id: usdt, decimals: 6 } },
      parties: {
        alice: { publicKey: alice, signer: { sandbox: "alice" } },
        bob: { publicKey: bobs },
        eve: { publicKey: eves },
      },
      rules: [
        { name: "keep-bob", topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below, target: "20" }] } },
      ],
      policy: {
        allow: [
          { from: "alice", to: ["bob", "eve"], asset: "USDT", perTransfer: "200", per24h: "400", transfersPer24h: 40 },
        ],
      },
    })

  it.effect("are two other accounts, though the terms are the same, and from then on these", () =>
    machine((run) =>
      run(exchanged(bob, eve), function* () {
        yield* pause("party:bob")
        yield* remember
        assert.containSubset(yield* reload(exchanged(eve, bob)), { _tag: "Reloaded", weaker: [] })
        assert.sameMembers([...(yield* scopes)], ["party:bob", "party:eve"])
        assert.deepStrictEqual(yield* timer, [[3, undefined, 0]])
        yield* remember
        assert.containSubset(yield* reload(exchanged(eve, bob, "11")), { _tag: "Reloaded" })
        assert.deepStrictEqual(yield* timer, [[3, 1, 9]])
      }),
    ),
  )
})
