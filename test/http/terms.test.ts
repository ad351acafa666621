import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { viewText } from "../../src/cli/status.ts"
import { byOneConfig, ConfigInForce, treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import { loadTreasury, treasuryOf } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { operatorsInForce, takeAgreement, treasuryPlace } from "../../src/http/agreeing.ts"
import { silenceAlerts } from "../../src/http/alertVerbs.ts"
import { haltAll } from "../../src/http/controlVerbs.ts"
import { exposeMetrics } from "../../src/http/exposeMetrics.ts"
import { reloadConfig } from "../../src/http/reload.ts"
import { readView } from "../../src/http/StatusView.ts"
import { acceptTerms, settleTerms, termsChangeOf, termsLoop } from "../../src/http/termsApproval.ts"
import { type DaemonOptions, storeLayer } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { termsHash } from "../../src/rules/policy/storedTerms.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { agreementText, expiryFrom } from "../../src/tx/Approval.ts"
import { daemonHere } from "../support/daemonHere.ts"
import { type Flow, type FlowServices, type FlowSetup, flow, paid, round } from "../support/Flow.ts"
import { halts } from "../support/Intents.ts"
import { type Body, effectOf, it } from "../support/it.ts"
import { knowsChain } from "../support/knowsChain.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"

type Sandbox = Parameters<Flow>[1]
const named: FlowSetup = { more: deskFields(), alice: { floor: { USDT: "50" } } }
const unnamed: FlowSetup = { alice: { floor: { USDT: "50" } } }

/** Writes the treasury's file with other texts in the places of some, and reads it. */
const written = (options: DaemonOptions, ...edits: ReadonlyArray<readonly [from: string, to: string]>) => {
  let text = JSON.stringify(options.treasury.document.value)
  for (const [from, to] of edits) {
    assert.include(text, from)
    text = text.replace(from, to)
  }
  const file = join(options.dataDir, "treasury.yaml")
  writeFileSync(file, text)
  return Effect.map(loadTreasury(file), (treasury) => ({ ...options, treasury, mode: treasury.mode }))
}
const wider = (options: DaemonOptions, each = "300") =>
  written(options, ['"perTransfer":"200"', `"perTransfer":"${each}"`])
const hashOf = (options: DaemonOptions): string => termsHash(treasuryTermsOf(options))

/** One life of a daemon; its end is abrupt. */
const life = <A>(options: DaemonOptions, use: Effect.Effect<A, unknown, FlowServices> | Body<[], FlowServices, A>) =>
  prepare(options).pipe(
    Effect.andThen(knowsChain(options.treasury.network.chainId)),
    Effect.andThen(pollAssets()),
    Effect.andThen(Effect.suspend(() => (Effect.isEffect(use) ? use : effectOf(use())))),
    Effect.provide(daemonHere(options), { local: true }),
  )

const reborn = (setup: FlowSetup, use: Body<[options: DaemonOptions, sandbox: Sandbox], never>) =>
  flow((options, sandbox) => {
    const dataDir = mkdtempSync(join(tmpdir(), "cofferer-terms-"))
    cpSync(join(options.dataDir, "sandbox"), join(dataDir, "sandbox"), { recursive: true })
    const removed = Effect.sync(() => rmSync(dataDir, { recursive: true, force: true }))
    return effectOf(use({ ...options, dataDir }, sandbox)).pipe(Effect.ensuring(removed))
  }, setup)

const rounds = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox, count: number) {
  for (let i = 0; i < count; i++) yield* round(options, sandbox).pipe(byOneConfig)
})

/** Time goes on, and blocks with it. */
const pass = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox, minutes: number) {
  yield* TestClock.adjust(`${minutes} minutes`)
  yield* rounds(options, sandbox, 3)
  yield* settleTerms()
})

const each = Effect.flatMap(Approvals, ({ termsInForce }) =>
  Effect.map(termsInForce, (known) => known?.terms.policy.lines[0]?.perTransfer),
)

const alerts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT severity, detail FROM alerts WHERE kind IN ('config', 'halt') ORDER BY seq`
  return rows.map((row) => `${row["severity"]} ${row["detail"]}`)
})

const agree = Effect.fnUntraced(function* (file: DaemonOptions, names: ReadonlyArray<string>) {
  const inForce = (yield* ConfigInForce).now()
  const change = yield* termsChangeOf(inForce, file)
  const operators = yield* operatorsInForce
  const place = treasuryPlace(inForce.treasury)
  const now = yield* Clock.currentTimeMillis
  for (const name of names) {
    const signature = operatorSigns(name, agreementText(place, change, expiryFrom(now)))
    yield* takeAgreement(operators, place, change, signature)
  }
})

const reload = (allowWeaker = false) => reloadConfig({ author: "zoe", reason: "as meant", allowWeaker })
const by = { author: "zoe", reason: "both keys burnt" }
const view = readView()

describe("a reload that takes a receiver from a line", () => {
  const topUp = { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "0.000001", target: "1" }] }
  it.effect("leaves what that one was paid in the limit of the others", () =>
    reborn({ line: { per24h: "200" }, keepBob: { topUp } }, function* (options, sandbox) {
      const file = yield* written(options)
      const handIn = (to: string, amount: string) => {
        const transfer = { from: "alice", to, asset: "USDT", amount }
        return submitPayment(file.treasury, "live", { idempotencyKey: amount, transfer })
      }
      yield* life(file, function* () {
        yield* rounds(file, sandbox, 2)
        yield* handIn("eve", "150")
        yield* rounds(file, sandbox, 6)
        yield* written(options, ['["bob","eve"]', '["bob"]'])
        assert.strictEqual((yield* reload())._tag, "Reloaded")
        const { treasury } = (yield* ConfigInForce).now()
        Object.assign(file, { treasury })
        yield* handIn("bob", "50")
        yield* rounds(file, sandbox, 6)
        assert.lengthOf(yield* paid(sandbox), 2)
        const refused = yield* Effect.flip(handIn("bob", "51"))
        assert.match(refused.message, / 200(\.00)? USDT in 24 h are used/)
        yield* TestClock.adjust("25 hours")
        yield* rounds(file, sandbox, 2)
        assert.isTrue((yield* handIn("bob", "51")).created)
      })
    }),
  )
})

describe("a start with weaker terms", () => {
  it.effect("signs nothing, and confirms what is out", () =>
    reborn(named, function* (options, sandbox) {
      const sent = Effect.gen(function* () {
        const skip = new Set(["confirm"])
        for (let i = 0; i < 4; i++) yield* round(options, sandbox, skip).pipe(byOneConfig)
        assert.strictEqual((yield* (yield* Outbox).open)[0]?.state, "in_flight")
      })
      yield* life(options, sent)
      const file = yield* wider(options)
      yield* life(file, function* () {
        assert.deepStrictEqual(yield* halts, ["terms"])
        yield* submitPayment(file.treasury, "live", {
          idempotencyKey: "small",
          transfer: { from: "alice", to: "eve", asset: "USDT", amount: "10" },
        })
        yield* rounds(file, sandbox, 6)
        const states = (yield* (yield* Outbox).recent(5)).map(({ state }) => state)
        assert.sameMembers([...states], ["confirmed", "proposed"])
        assert.lengthOf(yield* paid(sandbox), 1)
        assert.strictEqual(yield* each, 200_000_000n)
      })
    }),
  )

  it.effect("pages what is weaker, its hash and how it ends, on page and metrics too", () =>
    reborn(named, function* (options) {
      yield* life(options, Effect.void)
      const file = yield* wider(options)
      yield* life(file, Effect.void)
      yield* life(file, function* () {
        const [page, ...more] = yield* alerts
        assert.deepStrictEqual(more, [], "one page, however often it starts")
        const hash = hashOf(file).slice(0, 8)
        assert.match(page ?? "", new RegExp(`^page .*the terms ${hash} of the file permit more .*300 each, before 200`))
        assert.match(
          page ?? "",
          /"cofferer approve terms [0-9a-f]{8} --key FILE"; if the old file names no operators, .*; or restart with the old file/,
        )
        const seen = yield* view
        assert.include(seen.sentence.text, hash)
        assert.strictEqual(seen.sentence.severity, "bad")
        assert.match(yield* exposeMetrics(file.treasury), /cofferer_halted\{.*reason="terms".*\} 1\n/)
      })
    }),
  )

  it.effect("is judged by floor, age and pins", () =>
    reborn(named, function* (options) {
      yield* life(options, Effect.void)
      for (const edit of [
        ['"USDT":"50"', '"USDT":"10"'],
        ['"network":{', '"network":{"maxAge":"10m",'],
        ['"decimals":"6"', '"decimals":"7"'],
      ] as const) {
        assert.deepStrictEqual(yield* life(yield* written(options, edit), halts), ["terms"], edit[1])
      }
      assert.deepStrictEqual(yield* life(options, halts), [])
    }),
  )

  it.effect("ends by no resume, and by the old file at a start or a reload", () =>
    reborn(named, function* (options, sandbox) {
      yield* life(yield* written(options), Effect.void)
      const file = yield* wider(options)
      yield* life(file, function* () {
        yield* (yield* Controls).resume({ scope: "all", reason: "x", author: "x" })
        assert.deepStrictEqual(yield* halts, ["terms"])
        assert.containSubset(yield* reload(true), { _tag: "Refused" })
        assert.deepStrictEqual(yield* halts, ["terms"])
        yield* written(options)
        assert.containSubset(yield* reload(), { _tag: "Reloaded" })
        assert.deepStrictEqual(yield* halts, [])
        yield* rounds(options, sandbox, 6)
        assert.lengthOf(yield* paid(sandbox), 1)
      })
      assert.deepStrictEqual(yield* life(yield* wider(options), halts), ["terms"])
      assert.deepStrictEqual(yield* life(yield* written(options), halts), [])
    }),
  )

  it.effect("ends once two operators have signed it, before or after, and never again by that", () =>
    reborn(named, function* (options, sandbox) {
      yield* life(options, Effect.void)
      const file = yield* wider(options)
      yield* life(file, function* () {
        yield* agree(file, ["ana"])
        yield* settleTerms()
        assert.deepStrictEqual(yield* halts, ["terms"])
        yield* agree(file, ["ben"])
        yield* settleTerms()
        assert.deepStrictEqual(yield* halts, [])
        assert.strictEqual(yield* each, 300_000_000n)
        assert.match((yield* alerts).at(-1) ?? "", /^page the terms .* are in force, approved by ana and ben: /)
        yield* rounds(file, sandbox, 6)
        assert.lengthOf(yield* paid(sandbox), 1)
      })
      yield* life(options, Effect.void)
      assert.deepStrictEqual(yield* life(file, Effect.andThen(settleTerms(), halts)), ["terms"])
      yield* life(options, agree(file, ["ana", "chloe"]))
      assert.deepStrictEqual(yield* life(file, halts), [])
    }),
  )
})

describe("the terms in force", () => {
  it.effect("are none before the first live start, which halts nothing", () =>
    reborn({ ...named, mode: "observe" }, function* (options, sandbox) {
      yield* life(options, Effect.void)
      const live = yield* written(
        options,
        ['"mode":"observe"', '"mode":"live"'],
        ['"perTransfer":"200"', '"perTransfer":"300"'],
      )
      yield* life(live, function* () {
        assert.deepStrictEqual(yield* halts, [])
        yield* rounds(live, sandbox, 6)
        assert.lengthOf(yield* paid(sandbox), 1)
      })
    }),
  )

  it.effect("outlive observe and shadow, which are not judged", () =>
    reborn(named, function* (options) {
      yield* life(options, Effect.void)
      for (const mode of ["observe", "shadow"]) {
        const file = yield* written(
          options,
          ['"mode":"live"', `"mode":"${mode}"`],
          ['"perTransfer":"200"', '"perTransfer":"300"'],
        )
        yield* life(file, function* () {
          assert.deepStrictEqual(yield* halts, [])
          assert.strictEqual(yield* each, 200_000_000n)
          const hash = hashOf(file).slice(0, 8)
          assert.containSubset(yield* acceptTerms({ hash, ...by }), { status: 404 })
        })
      }
      const live = yield* wider(options)
      assert.deepStrictEqual(yield* life({ ...live, mode: "shadow" }, halts), [], "a lower mode by the environment")
      assert.deepStrictEqual(yield* life(live, halts), ["terms"])
      assert.deepStrictEqual(yield* life({ ...live, mode: "shadow" }, halts), [])
    }),
  )

  it.effect("give a command without a daemon their operators", () =>
    reborn(named, function* (options) {
      yield* life(options, Effect.void)
      const { document } = options.treasury
      const { approvals: _, ...value } = document.value as Record<string, unknown>
      const treasury = yield* treasuryOf({ ...document, value })
      const operators = operatorsInForce.pipe(Effect.provide(storeLayer({ ...options, treasury })))
      assert.deepStrictEqual([...(yield* operators).keys()], ["ana", "ben", "chloe"])
    }),
  )
})

describe("terms accept, where the terms in force name nobody", () => {
  it.effect("puts the file's terms in force at once, as this process and the file have them", () =>
    reborn(unnamed, function* (options, sandbox) {
      yield* life(options, Effect.void)
      const file = yield* wider(options)
      const hash = hashOf(file).slice(0, 8)
      yield* life(file, function* () {
        assert.deepStrictEqual(yield* halts, ["terms"])
        const other = yield* acceptTerms({ hash: "00000000", author: "zoe" })
        assert.containSubset(other, { status: 409, remedy: `"cofferer terms accept ${hash}"` })
        yield* wider(options, "301")
        const stale = yield* acceptTerms({ hash, author: "zoe" })
        assert.containSubset(stale, { status: 409, remedy: "restart with the file that is meant" })
        writeFileSync(file.treasury.files[0], "{")
        assert.containSubset(yield* acceptTerms({ hash, author: "zoe" }), { status: 422 })
        assert.deepStrictEqual(yield* halts, ["terms"])
        yield* wider(options)
        assert.containSubset(yield* acceptTerms({ hash, author: "zoe" }), { isInForce: true })
        assert.deepStrictEqual(yield* halts, [])
        assert.strictEqual(yield* each, 300_000_000n)
        yield* rounds(file, sandbox, 6)
        assert.lengthOf(yield* paid(sandbox), 1)
        const sql = yield* SqlClient.SqlClient
        const entries = yield* sql`SELECT seq, body FROM journal WHERE kind = 'config' ORDER BY seq`
        const last = entries.findLast(({ body }) => String(body).includes('"weaker":["policy line 1'))
        assert.strictEqual((yield* (yield* Approvals).termsInForce)?.seq, last?.["seq"])
      })
      assert.deepStrictEqual(yield* life(file, halts), [])
    }),
  )

  it.effect("is what reload --allow-weaker of the same file does too", () =>
    reborn(unnamed, function* (options) {
      yield* life(options, Effect.void)
      yield* life(yield* wider(options), function* () {
        assert.containSubset(yield* reload(), { _tag: "Refused" })
        assert.deepStrictEqual(yield* halts, ["terms"])
        assert.containSubset(yield* reload(true), { _tag: "Reloaded" })
        assert.deepStrictEqual(yield* halts, [])
        assert.strictEqual(yield* each, 300_000_000n)
      })
    }),
  )
})

describe("terms that permit more, once they are in force", () => {
  const pages = Effect.map(listAlerts(9, "all"), (all) =>
    all.filter(({ name }) => name === "terms_changed").map(({ severity, detail }) => `${severity} ${detail}`),
  )

  it.effect("page the colleagues of the one who reloaded them", () =>
    reborn(unnamed, function* (options) {
      yield* life(yield* written(options), function* () {
        yield* written(options, ['"USDT":"50"', '"USDT":"60"'])
        assert.containSubset(yield* reload(), { _tag: "Reloaded" })
        assert.deepStrictEqual(yield* pages, [], "these permit less")
        const hash = hashOf(yield* wider(options)).slice(0, 8)
        assert.containSubset(yield* reload(true), { _tag: "Reloaded" })
        const [page, ...more] = yield* pages
        assert.match(
          page ?? "",
          new RegExp(`^page the terms ${hash} are in force, reloaded by zoe: as meant: .*300 each`),
        )
        assert.deepStrictEqual(more, [])
      })
    }),
  )

  it.effect("page people where a start puts in force what operators signed", () =>
    reborn(named, function* (options) {
      const wide = yield* wider(options)
      yield* life(yield* written(options), agree(wide, ["ana", "ben"]))
      yield* life(yield* wider(options), function* () {
        assert.deepStrictEqual(yield* halts, [])
        const [page, ...more] = yield* pages
        assert.match(page ?? "", /^page the terms [0-9a-f]{8} are in force, approved by ana and ben: .*300 each/)
        assert.deepStrictEqual(more, [])
      })
    }),
  )

  it.effect("page who signed what was reloaded, and who reloaded it", () =>
    reborn(named, function* (options) {
      const wide = yield* wider(options)
      yield* life(yield* written(options), function* () {
        yield* agree(wide, ["ana", "ben"])
        yield* wider(options)
        assert.containSubset(yield* reload(), { _tag: "Reloaded" })
        const words = /^page the terms [0-9a-f]{8} are in force, reloaded by zoe, approved by ana and ben: as meant: /
        assert.match((yield* pages)[0] ?? "", words)
      })
    }),
  )
})

describe("terms accept, where operators are named whose keys are lost", () => {
  /** A start with wider terms that a person accepts. */
  const broken = (use: Body<[file: DaemonOptions, sandbox: Sandbox, options: DaemonOptions], never>) =>
    reborn(named, function* (options, sandbox) {
      yield* life(options, Effect.void)
      const file = yield* wider(options)
      const hash = hashOf(file).slice(0, 8)
      yield* life(file, function* () {
        const asked = yield* acceptTerms({ hash, author: "zoe" })
        assert.containSubset(asked, { status: 409 })
        assert.include("remedy" in asked ? asked.remedy : "", `"cofferer approve terms ${hash} --key FILE"`)
        assert.containSubset(yield* acceptTerms({ hash, ...by }), { isInForce: false })
        yield* pass(file, sandbox, 0)
      })
      yield* effectOf(use(file, sandbox, options))
    })
  const accepted = Effect.flatMap(Approvals, ({ acceptance }) => acceptance)

  it.effect("signs nothing for an hour of one process, and then goes on by them", () =>
    broken(function* (file, sandbox) {
      yield* life(file, function* () {
        yield* pass(file, sandbox, 40)
        assert.deepStrictEqual(yield* halts, ["terms"])
        assert.lengthOf(yield* paid(sandbox), 0)
        yield* acceptTerms({ hash: hashOf(file), ...by })
      })
      // While no process lives nobody's halt is heard.
      yield* TestClock.adjust("2 hours")
      yield* life(file, function* () {
        const seen = yield* view
        assert.containSubset(seen.accepted, { author: "zoe", inForceAt: null })
        assert.match(
          viewText(seen),
          /terms .* accepted without operators by zoe at .*: both keys burnt; in force after/,
        )
        yield* pass(file, sandbox, 0)
        yield* pass(file, sandbox, 55)
        assert.deepStrictEqual(yield* halts, ["terms"])
        yield* pass(file, sandbox, 5)
        assert.deepStrictEqual(yield* halts, [])
        yield* rounds(file, sandbox, 6)
        assert.lengthOf(yield* paid(sandbox), 1)
        const said = yield* alerts
        assert.match(said[1] ?? "", /^page zoe accepts the terms .*: both keys burnt; .* "cofferer halt --reason TEXT"/)
        assert.match(said.at(-1) ?? "", /^page the terms .* are in force, accepted by zoe without the operators' keys/)
        yield* TestClock.adjust("6 days")
        assert.match(viewText(yield* view), /accepted without operators by zoe .* in force since 20/)
        yield* TestClock.adjust("25 hours")
        assert.isNull((yield* view).accepted)
      })
    }),
  )

  it.effect("counts only while clock and blocks agree", () =>
    broken((file, sandbox) =>
      life(file, function* () {
        yield* pass(file, sandbox, 0)
        yield* TestClock.adjust("2 hours")
        yield* settleTerms()
        assert.deepStrictEqual(yield* halts, ["terms"], "no block tells that time has passed")
        yield* rounds(file, sandbox, 3)
        yield* settleTerms()
        assert.deepStrictEqual(yield* halts, [])
      }),
    ),
  )

  it.effect("restarts its hour where the machine slept, which hears nobody's halt", () =>
    broken((file, sandbox) =>
      life(file, function* () {
        const [woken, later] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        let sleeps = 0
        const sleep = () =>
          sleeps++ === 0 ? Deferred.await(woken) : Effect.andThen(Deferred.succeed(later, undefined), Effect.never)
        const asleep: Clock.Clock = Object.assign(Object.create(yield* Clock.Clock), { sleep })
        yield* pass(file, sandbox, 0)
        const loop = yield* Effect.forkChild(Effect.provideService(termsLoop, Clock.Clock, asleep))
        yield* Effect.yieldNow
        yield* TestClock.adjust("2 hours")
        yield* rounds(file, sandbox, 3)
        yield* Deferred.succeed(woken, undefined)
        yield* Deferred.await(later)
        yield* Fiber.interrupt(loop)
        assert.deepStrictEqual(yield* halts, ["terms"])
        yield* pass(file, sandbox, 59)
        assert.deepStrictEqual(yield* halts, ["terms"])
        yield* pass(file, sandbox, 1)
        assert.deepStrictEqual(yield* halts, [])
      }),
    ),
  )

  it.effect("pages people also where its page is silenced before or after", () =>
    broken((file) =>
      life(file, function* () {
        const asked = { millis: 3_600_000, reason: "drill", author: "zoe" }
        const pages = Effect.map(listAlerts(60, "all"), (all) => all.filter(({ name }) => name === "terms_changed"))
        yield* silenceAlerts({ ...asked, kind: "config" })
        yield* acceptTerms({ hash: hashOf(file), ...by })
        yield* silenceAlerts({ ...asked, subject: file.treasury.name })
        const [page, ...more] = yield* pages
        assert.deepStrictEqual([page?.silenced, page?.pending, more], [0, 1, []])
        for (const other of [{ seq: page!.seq }, { name: "terms_changed" }]) {
          assert.containSubset(yield* silenceAlerts({ ...asked, ...other }), { status: 409 })
        }
      }),
    ),
  )

  it.effect("is stopped by any halt, also where one is in force already", () =>
    broken((file, sandbox) =>
      life(file, function* () {
        const again = acceptTerms({ hash: hashOf(file), ...by })
        for (const halted of [
          haltAll({ author: "eve", reason: "not ours" }),
          haltAll({ author: "eve", reason: "not ours either" }),
          Effect.flatMap(Controls, (controls) => controls.halt("halt_file", "eve was here")),
          Effect.flatMap(Controls, (controls) => controls.halt("invariant", "a bug")),
        ]) {
          assert.isNull((yield* accepted)?.inForceAt)
          yield* halted
          assert.isUndefined(yield* accepted)
          yield* pass(file, sandbox, 70)
          assert.include(yield* halts, "terms")
          assert.strictEqual(yield* each, 200_000_000n)
          yield* again
        }
        yield* (yield* Controls).halt("invariant", "a bug")
        yield* pass(file, sandbox, 0)
        yield* pass(file, sandbox, 61)
        assert.notInclude(yield* halts, "terms", "a halt of before leaves it")
        assert.include(yield* halts, "operator", "and is ended by nobody but the operators of these terms")
      }),
    ),
  )

  it.effect("is void with another file, and with the old one", () =>
    broken(function* (file, sandbox, options) {
      const other = yield* wider(options, "301")
      yield* life(other, function* () {
        assert.isUndefined(yield* accepted)
        yield* pass(other, sandbox, 70)
        assert.deepStrictEqual(yield* halts, ["terms"])
        assert.containSubset(yield* acceptTerms({ hash: hashOf(other), ...by }), { isInForce: false })
      })
      yield* life(options, Effect.map(accepted, assert.isUndefined))
      yield* life(file, function* () {
        yield* pass(file, sandbox, 70)
        assert.deepStrictEqual(yield* halts, ["terms"])
      })
    }),
  )

  it.effect("ends its hour at once where operators sign after all", () =>
    broken((file) =>
      life(file, function* () {
        yield* agree(file, ["ben", "chloe"])
        yield* settleTerms()
        assert.deepStrictEqual(yield* halts, [])
        assert.isUndefined(yield* accepted)
      }),
    ),
  )
})

describe("receivers of before", () => {
  const desk: FlowSetup = { ...named, more: { ...deskFields(), alerts: { receivers: { desk: { log: {} } } } } }
  const mine = ['"receivers":{"desk"', '"receivers":{"mine"'] as const
  const deliveries = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`SELECT receiver, severity, detail FROM deliveries d JOIN alerts a ON a.seq = d.alert
      WHERE a.kind IN ('config', 'halt') ORDER BY a.seq, receiver`
    return rows.map((row) => `${row["receiver"]} ${row["severity"]} ${row["detail"]}`)
  })

  it.effect("hear of the halt beside those of the file", () =>
    reborn(desk, function* (options) {
      yield* life(options, Effect.void)
      const file = yield* written(options, mine, ['"perTransfer":"200"', '"perTransfer":"300"'])
      const rows = yield* life(file, deliveries)
      assert.deepStrictEqual(
        rows.map((row) => row.split(" ", 2).join(" ")),
        ["desk page", "mine page"],
      )
    }),
  )

  it.effect("hear once that they lose the pages", () =>
    reborn(desk, function* (options) {
      yield* life(options, Effect.void)
      const file = yield* written(options, mine)
      const rows = yield* life(file, deliveries)
      assert.lengthOf(rows, 2)
      assert.match(rows[0] ?? "", /^desk page pages no longer go to desk; /)
      assert.match(rows[1] ?? "", /^mine page pages no longer go to desk; /)
      assert.lengthOf(yield* life(file, deliveries), 2, "once")
      yield* life(yield* written(file, ['"perTransfer":"200"', '"perTransfer":"300"']), Effect.void)
      const told = yield* life(file, deliveries)
      assert.isTrue(told.slice(2).every((row) => row.startsWith("mine ")))
    }),
  )
})
