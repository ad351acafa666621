import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { ConfigInForce, termsOf } from "../../src/config/ConfigInForce.ts"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import { decidingInForce } from "../../src/engine/EngineOptions.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { termsHash } from "../../src/rules/storedTerms.ts"
import { type DaemonOptions, daemonLayer, storeLayer } from "../../src/services.ts"
import { exposeMetrics } from "../../src/status/exposeMetrics.ts"
import { objectTo } from "../../src/status/objectTo.ts"
import { operatorsInForce } from "../../src/status/operatorsInForce.ts"
import { StatusView } from "../../src/status/StatusView.ts"
import { takeTerms } from "../../src/status/sharedApprovals.ts"
import { termsChangeOf } from "../../src/status/termsApproval.ts"
import { lookAtTerms } from "../../src/status/waitingTerms.ts"
import { Brake } from "../../src/store/Brake.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { TermsLog } from "../../src/store/TermsLog.ts"
import { payingInForce } from "../../src/submitter/SubmitterOptions.ts"
import { expiryFrom, termsText } from "../../src/tx/Agreement.ts"
import { type Flow, type FlowSetup, flow, paid, round } from "../support/Flow.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"

type Sandbox = Parameters<Flow>[1]
type Services = Layer.Success<ReturnType<typeof daemonLayer>>
const named: FlowSetup = { more: deskFields(), alice: { floor: { USDT: "50" } } }
const unnamed: FlowSetup = { alice: { floor: { USDT: "50" } } }

/** The same treasury with another text in place of one. */
const changed = (options: DaemonOptions, from: string, to: string) => {
  const { document } = options.treasury
  const text = JSON.stringify(document.value)
  assert.include(text, from)
  return Effect.map(treasuryOf({ ...document, value: JSON.parse(text.replace(from, to)) }), (treasury) => ({
    ...options,
    treasury,
    mode: treasury.mode,
  }))
}
const wider = (options: DaemonOptions) => changed(options, '"perTransfer":"200"', '"perTransfer":"300"')

/** One life of a daemon; its end is abrupt. */
const life = <A, E>(options: DaemonOptions, use: Effect.Effect<A, E, Services>) =>
  prepare(options).pipe(
    Effect.andThen(pollAssets()),
    Effect.andThen(use),
    Effect.provide(daemonLayer(options).pipe(Layer.provideMerge(Logger.layer([]))), { local: true }),
  )

const reborn = (setup: FlowSetup, use: (options: DaemonOptions, sandbox: Sandbox) => Effect.Effect<void, unknown>) =>
  flow((options, sandbox) => {
    const dataDir = mkdtempSync(join(tmpdir(), "cofferer-terms-"))
    cpSync(join(options.dataDir, "sandbox"), join(dataDir, "sandbox"), { recursive: true })
    const removed = Effect.sync(() => rmSync(dataDir, { recursive: true, force: true }))
    return use({ ...options, dataDir }, sandbox).pipe(Effect.ensuring(removed))
  }, setup)

const rounds = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox, count: number) {
  for (let i = 0; i < count; i++) yield* round(options, sandbox).pipe(payingInForce, decidingInForce)
})

/** What each payment may be, and what alice keeps, by the configuration in force. */
const bounds = Effect.map(ConfigInForce, ({ now }) => {
  const { treasury, mode } = now()
  const [floor] = [...(treasury.parties.get("alice")?.floor.values() ?? [])]
  const each: bigint | undefined = treasury.policy.lines[0]?.perTransfer
  const kept: bigint | undefined = floor
  return { each, kept, mode: `${mode}`, waits: now().waiting !== undefined }
})
const old = { each: 200_000_000n, kept: 50_000_000n, mode: "live", waits: false }

/** Time goes on, and blocks with it. */
const pass = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox, hours: number) {
  yield* TestClock.adjust(`${hours} hours`)
  yield* rounds(options, sandbox, 3)
  yield* lookAtTerms
})
const look = (options: DaemonOptions, sandbox: Sandbox) => pass(options, sandbox, 0)

const told = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT severity, detail FROM alerts WHERE kind = 'config' ORDER BY seq`
  return rows.map((row) => `${row["severity"]} ${row["detail"]}`)
})

const agree = Effect.fnUntraced(function* (file: DaemonOptions, names: ReadonlyArray<string>) {
  const inForce = (yield* ConfigInForce).now()
  const change = yield* termsChangeOf(inForce, file)
  const operators = yield* operatorsInForce(inForce.treasury)
  const now = yield* Clock.currentTimeMillis
  for (const name of names) {
    yield* takeTerms(operators, change, operatorSigns(name, termsText(change, expiryFrom(now))))
  }
})

describe("a start with weaker terms where operators are named", () => {
  it.effect("leaves the old ones in force: for decisions, and for the signer", () =>
    reborn(named, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(options)
        yield* life(
          file,
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* bounds, { ...old, waits: true })
            // As if whatever decides had gone by the file's own policy.
            yield* submitPayment(file.treasury, "live", {
              idempotencyKey: "large",
              transfer: { from: "alice", to: "eve", asset: "USDT", amount: "250" },
            })
            yield* rounds(file, sandbox, 6)
            const large = (yield* (yield* Outbox).recent(5)).find(({ payment }) => payment.amount === 250_000_000n)
            assert.notStrictEqual(large?.state, "confirmed")
            assert.lengthOf(yield* paid(sandbox), 1, "the rule pays on within the old terms")
          }),
        )
      }),
    ),
  )

  it.effect("covers a floor, a mode, a quorum, an age and head bounds", () =>
    reborn(named, (options) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const low = yield* changed(options, '"USDT":"50"', '"USDT":"10"')
        assert.deepStrictEqual(yield* life(low, bounds), { ...old, waits: true })
        const rule = yield* life(
          low,
          Effect.map(ConfigInForce, ({ now }) => now().treasury.rules[0]),
        )
        assert.deepStrictEqual(rule?.kind === "topUp" ? [...rule.from.floor.values()] : [], [50_000_000n])
        const aged = yield* changed(options, '"network":{', '"network":{"maxAge":"10m",')
        const age = Effect.map(ConfigInForce, ({ now }) => now().treasury.network.maxAgeMillis)
        assert.strictEqual(yield* life(aged, age), options.treasury.network.maxAgeMillis)
        for (const key of ["jump", "perSecond"]) {
          const far = yield* changed(options, '"network":{', `"network":{"head":{"${key}":"5000"},`)
          const head = Effect.map(ConfigInForce, ({ now }) => now().treasury.network.head)
          assert.deepStrictEqual(yield* life(far, head), options.treasury.network.head, key)
        }
      }),
    ),
  )

  it.effect("holds back a mode and its signer until the mode may be live", () =>
    reborn({ ...named, mode: "observe" }, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* changed(options, '"mode":"observe"', '"mode":"live"')
        yield* life(
          file,
          Effect.gen(function* () {
            assert.strictEqual((yield* bounds).mode, "observe")
            // As if whatever decides had gone by the file's own mode.
            const large = { from: "alice", to: "eve", asset: "USDT", amount: "10" }
            yield* submitPayment(file.treasury, "live", { idempotencyKey: "early", transfer: large })
            yield* rounds(file, sandbox, 6)
            assert.lengthOf(yield* paid(sandbox), 0)
            yield* agree(file, ["ana", "ben"])
            yield* lookAtTerms
            assert.strictEqual((yield* bounds).mode, "live")
            const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "20" }
            yield* submitPayment(file.treasury, "live", { idempotencyKey: "now", transfer })
            yield* rounds(file, sandbox, 6)
            assert.lengthOf(yield* paid(sandbox), 3, "both payments of people, and that of the rule")
          }),
        )
      }),
    ),
  )

  it.effect("takes them after 24 hours, with pages at each start and every 6 hours", () =>
    reborn(named, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(options)
        yield* life(file, look(file, sandbox))
        yield* life(file, pass(file, sandbox, 5))
        yield* life(
          file,
          Effect.gen(function* () {
            yield* look(file, sandbox)
            assert.lengthOf(yield* told, 3)
            yield* pass(file, sandbox, 7)
            assert.lengthOf(yield* told, 4)
            for (const page of yield* told)
              assert.match(page, /^page new terms [0-9a-f]{8} wait until .*300 each, befor/)
            assert.isTrue((yield* bounds).waits)
            yield* (yield* Brake).halt("operator", "a halt in between")
          }),
        )
        // Nobody runs it meanwhile: the hours go on.
        yield* TestClock.adjust("13 hours")
        yield* life(
          file,
          Effect.gen(function* () {
            yield* look(file, sandbox)
            assert.deepStrictEqual(yield* bounds, { ...old, each: 300_000_000n })
            assert.match((yield* told).at(-1) ?? "", /^page the terms that waited are in force, 24 hours passed/)
          }),
        )
        assert.deepStrictEqual(yield* life(file, bounds), { ...old, each: 300_000_000n })
      }),
    ),
  )

  it.effect("counts by blocks as well: a clock put forward gains nothing", () =>
    reborn(named, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(options)
        yield* life(
          file,
          Effect.gen(function* () {
            yield* look(file, sandbox)
            yield* TestClock.adjust("30 hours")
            yield* lookAtTerms
            assert.isTrue((yield* bounds).waits)
            yield* rounds(file, sandbox, 3)
            yield* lookAtTerms
            assert.isFalse((yield* bounds).waits)
          }),
        )
      }),
    ),
  )

  it.effect("begins anew with other terms, and when a file goes back and forth", () =>
    reborn(named, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(options)
        const wide = yield* changed(options, '"perTransfer":"200"', '"perTransfer":"301"')
        yield* life(file, look(file, sandbox))
        yield* TestClock.adjust("20 hours")
        yield* life(wide, look(wide, sandbox))
        yield* life(file, look(file, sandbox))
        yield* TestClock.adjust("20 hours")
        yield* life(
          file,
          Effect.andThen(
            look(file, sandbox),
            Effect.tap(bounds, (b) => Effect.sync(() => assert.isTrue(b.waits))),
          ),
        )
        yield* life(options, look(options, sandbox))
        yield* TestClock.adjust("20 hours")
        assert.isTrue((yield* life(file, Effect.andThen(look(file, sandbox), bounds))).waits)
      }),
    ),
  )

  it.effect("takes them at once if two operators agree, and old signatures stay void", () =>
    reborn(named, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(options)
        yield* life(
          file,
          Effect.gen(function* () {
            yield* agree(file, ["ana"])
            yield* lookAtTerms
            assert.isTrue((yield* bounds).waits)
            yield* agree(file, ["ben"])
            yield* lookAtTerms
            assert.isFalse((yield* bounds).waits)
          }),
        )
        yield* life(options, Effect.void)
        assert.isTrue((yield* life(file, Effect.andThen(look(file, sandbox), bounds))).waits)
      }),
    ),
  )

  it.effect("never takes what somebody objected to, until operators agree", () =>
    reborn(named, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(options)
        const hash = termsHash(termsOf(file))
        yield* life(
          file,
          Effect.gen(function* () {
            yield* look(file, sandbox)
            assert.containSubset(yield* objectTo({ hash: "00000000", author: "eve", reason: "no" }), { status: 404 })
            const done = yield* objectTo({ hash: hash.slice(0, 8), author: "eve", reason: "not ours" })
            assert.containSubset(done, { objected: hash })
            yield* pass(file, sandbox, 30)
            assert.isTrue((yield* bounds).waits)
          }),
        )
        yield* life(options, Effect.void)
        yield* life(
          file,
          Effect.gen(function* () {
            yield* look(file, sandbox)
            yield* pass(file, sandbox, 30)
            assert.isTrue((yield* bounds).waits)
            assert.match((yield* told).at(-1) ?? "", /wait for operators: eve objected/)
            yield* agree(file, ["ana", "ben"])
            yield* lookAtTerms
            assert.isFalse((yield* bounds).waits)
          }),
        )
      }),
    ),
  )

  it.effect("shows on the page what waits, until when, and what is in force", () =>
    reborn(named, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(options)
        const view = Effect.flatMap(StatusView, (status) => status.view)
        yield* life(
          file,
          Effect.gen(function* () {
            yield* look(file, sandbox)
            const seen = yield* view.pipe(Effect.provide(StatusView.layer({ ...file, version: "0" })))
            const metrics = yield* exposeMetrics(file.treasury)
            assert.match(metrics, /cofferer_terms_waiting\{treasury="flow"\} 1\n/)
            assert.match(metrics, /cofferer_terms_wait_until_timestamp_seconds\{treasury="flow"\} 18\d{8}/)
            assert.containSubset(seen.terms, { hash: termsHash(termsOf(file)), cannot: [] })
            assert.match(
              seen.terms?.text ?? "",
              /new terms [0-9a-f]{8} wait until \d{4}-.* \(weaker: .*\); old terms in force/,
            )
          }),
        )
      }),
    ),
  )

  it.effect("signs nothing where the old terms cannot hold, and no resume ends that", () =>
    reborn(named, (options) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* changed(options, '"decimals":"6"', '"decimals":"7"')
        yield* life(
          file,
          Effect.gen(function* () {
            const brake = yield* Brake
            const halts = Effect.map(brake.halts, (all) => all.map(({ reason }) => reason))
            assert.deepStrictEqual(yield* halts, ["terms"])
            yield* brake.resume({ scope: "all", reason: "x", author: "x" })
            assert.deepStrictEqual(yield* halts, ["terms"])
          }),
        )
        assert.deepStrictEqual(
          yield* life(
            options,
            Effect.flatMap(Brake, ({ halts }) => halts),
          ),
          [],
        )
      }),
    ),
  )

  it.effect("gives a command without a daemon the old terms and operators", () =>
    reborn(named, (options) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const { document } = options.treasury
        const { approvals: _, ...value } = document.value as Record<string, unknown>
        const treasury = yield* treasuryOf({ ...document, value })
        const operators = operatorsInForce(treasury).pipe(Effect.provide(storeLayer({ ...options, treasury })))
        assert.deepStrictEqual([...(yield* operators).keys()], ["ana", "ben", "chloe"])
      }),
    ),
  )

  it.effect("tells those who were told before as well, though the file names others", () =>
    reborn({ ...named, more: { ...deskFields(), alerts: { receivers: { desk: { log: {} } } } } }, (options, sandbox) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* wider(yield* changed(options, '"receivers":{"desk"', '"receivers":{"mine"'))
        yield* life(file, look(file, sandbox))
        const receivers = Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const rows = yield* sql`SELECT DISTINCT receiver FROM deliveries d JOIN alerts a ON a.seq = d.alert
            WHERE a.kind = 'config' ORDER BY receiver`
          return rows.map((row) => row["receiver"])
        })
        assert.deepStrictEqual(yield* life(file, receivers), ["desk", "mine"])
      }),
    ),
  )

  it.effect("tells the former receivers about a first step with other receivers", () =>
    reborn({ ...named, more: { ...deskFields(), alerts: { receivers: { desk: { log: {} } } } } }, (options) =>
      Effect.gen(function* () {
        yield* life(options, Effect.void)
        const file = yield* changed(options, '"receivers":{"desk"', '"receivers":{"mine"')
        const deliveries = Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const rows = yield* sql`SELECT receiver, severity, detail FROM deliveries d JOIN alerts a ON a.seq = d.alert
            WHERE a.kind = 'config' ORDER BY a.seq, receiver`
          return rows.map((row) => `${row["receiver"]} ${row["severity"]} ${row["detail"]}`)
        })
        const rows = yield* life(file, deliveries)
        assert.lengthOf(rows, 2)
        assert.match(rows[0] ?? "", /^desk page pages go to desk no more; /)
        assert.match(rows[1] ?? "", /^mine page pages go to desk no more; /)
        assert.lengthOf(yield* life(file, deliveries), 2, "once")
        yield* life(yield* wider(file), Effect.void)
        const told = yield* life(file, deliveries)
        assert.isTrue(told.slice(2).every((row) => row.startsWith("mine ")))
      }),
    ),
  )
})

describe("a start with weaker terms where nobody is named", () => {
  it.effect("takes the new file, with a journal entry and a ticket", () =>
    reborn(unnamed, (options) =>
      Effect.gen(function* () {
        const first = yield* life(
          options,
          Effect.flatMap(TermsLog, ({ inForce }) => inForce),
        )
        assert.strictEqual(first?.hash, termsHash(termsOf(options)))
        const file = yield* wider(options)
        yield* life(
          file,
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* bounds, { ...old, each: 300_000_000n })
            const [ticket, ...more] = yield* told
            assert.deepStrictEqual(more, [])
            assert.match(
              ticket ?? "",
              /^ticket started with terms that permit more .*: policy line 1, .*300 each, before 200/,
            )
            const sql = yield* SqlClient.SqlClient
            const entries = yield* sql`SELECT seq, body FROM journal WHERE kind = 'config' ORDER BY seq`
            assert.match(String(entries.at(-1)?.["body"]), /"weaker":\["policy line 1/)
            const known = yield* (yield* TermsLog).inForce
            assert.strictEqual(known?.seq, entries.at(-1)?.["seq"])
            assert.strictEqual(known?.hash, termsHash(termsOf(file)))
          }),
        )
      }),
    ),
  )
})
