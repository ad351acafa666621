import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { parseYaml } from "../../src/config/Yaml.ts"
import { prepare } from "../../src/daemon.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { payersOf, pollRules } from "../../src/poller/pollRules.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { type DaemonOptions, daemonLayer } from "../../src/services.ts"
import { approve, findApproval } from "../../src/status/approvals.ts"
import { resumeScope } from "../../src/status/brakeVerbs.ts"
import { exportPage } from "../../src/status/exports.ts"
import { receiptOf } from "../../src/status/receipts.ts"
import { Brake } from "../../src/store/Brake.ts"
import { checkReceipt } from "../../src/store/checkReceipt.ts"
import { databaseFile } from "../../src/store/Database.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { verifyStore } from "../../src/store/verifyStore.ts"
import { round } from "../support/Flow.ts"
import { operatorSigns } from "../support/Operators.ts"
import { withSandbox } from "../support/TestSandbox.ts"

const fixture = (name: string): string => readFileSync(new URL(`previous/${name}`, import.meta.url), "utf8")
/** The store's first payments are of the first five minutes. */
const begun = 1_800_000_000_000
const dayMillis = 86_400_000
/** The store was left at 09:31:01.5; it is opened ten minutes later. */
const left = 1_800_005_461_500
const opened = left + 600_000

/** Puts a database back as it was left; the file itself is another one than its machine had. */
const restore = (file: string, dump: string): void => {
  const db = new DatabaseSync(file)
  db.exec(dump)
  if (file.endsWith(databaseFile)) db.exec("DELETE FROM settings WHERE key = 'storeFile'")
  db.close()
}

type Use = (
  options: DaemonOptions,
  sandbox: Sandbox["Service"],
) => Effect.Effect<void, unknown, Layer.Success<ReturnType<typeof daemonLayer>>>

/** Today's daemon on the store and the ledger of the previous release. */
const onPrevious = (use: Use, file: (text: string) => string = (text) => text) => {
  const dataDir = mkdtempSync(join(tmpdir(), "cofferer-previous-"))
  const dir = join(dataDir, "sandbox")
  mkdirSync(dir)
  restore(join(dataDir, databaseFile), fixture("store.sql"))
  restore(join(dir, "ledger.db"), fixture("ledger.sql"))
  return TestClock.setTime(opened).pipe(
    Effect.andThen(
      withSandbox({ text: fixture("scenario.yaml"), dir }, (_, sandbox) =>
        Effect.gen(function* () {
          const treasury = yield* treasuryOf(yield* parseYaml("treasury.yaml", file(fixture("treasury.yaml"))))
          const options = { treasury, mode: treasury.mode, dataDir, gatewayUrl: sandbox.url }
          yield* prepare(options).pipe(
            Effect.andThen(pollRules(payersOf(treasury.parties.values()))),
            Effect.andThen(pollAssets()),
            Effect.andThen(use(options, sandbox)),
            Effect.provide(daemonLayer(options).pipe(Layer.provideMerge(Logger.layer([])))),
          )
        }),
      ),
    ),
    Effect.ensuring(Effect.sync(() => rmSync(dataDir, { recursive: true, force: true }))),
  )
}

const intents = Effect.flatMap(Outbox, (outbox) => outbox.recent(100))
const endOf = (rule: string, episode?: number) =>
  Effect.map(intents, (all) => all.find((one) => one.rule === rule && (episode ?? one.episode) === one.episode)?.state)
const haltReasons = Effect.map(
  Effect.flatMap(Brake, (brake) => brake.halts),
  (all) => all.map(({ reason }) => reason),
)
const pauseScopes = Effect.map(
  Effect.flatMap(Brake, (brake) => brake.pauses),
  (all) => all.map(({ scope }) => scope).toSorted(),
)
const attempts = Effect.gen(function* () {
  const outbox = yield* Outbox
  return (yield* Effect.forEach(yield* intents, ({ id }) => outbox.attempts(id))).flat()
})
/** For each payment of the rule how often the ledger executed it, whatever the store believes. */
const executions = Effect.fnUntraced(function* (sandbox: Sandbox["Service"], rule: string) {
  const outbox = yield* Outbox
  const done = (yield* sandbox.ledger.executed).filter(({ code }) => code === 0)
  const own = (yield* intents).filter((one) => one.rule === rule)
  return yield* Effect.forEach(own, ({ id }) =>
    Effect.map(outbox.attempts(id), (all) => done.filter((tx) => all.some((one) => one.transferId === tx.transferId))),
  ).pipe(Effect.map((all) => all.map(({ length }) => length)))
})
const rounds = Effect.fnUntraced(function* (options: DaemonOptions, sandbox: Sandbox["Service"], count: number) {
  for (let i = 0; i < count; i++) yield* round(options, sandbox)
})

/** Two operators end the halt, or what the machine stopped, each by a signature over what the verb asks for. */
const endHalt = Effect.fnUntraced(function* ({ treasury, dataDir }: DaemonOptions, scope = "all") {
  const asked = { scope, reason: "audited", author: "ana" }
  for (const name of ["ana", "ben"]) {
    const waiting = yield* resumeScope({ treasury, dataDir }, asked)
    const text = "text" in waiting ? waiting.text : assert.fail(JSON.stringify(waiting))
    const signature = operatorSigns(name, text)
    const done = yield* resumeScope({ treasury, dataDir }, { ...asked, signature })
    if (name === "ben") assert.containSubset(done, { resumed: scope, stillHalted: [] })
  }
})

/** The journal verifies, everything can be exported, and payments of both releases have receipts that hold. */
const provesAll = Effect.gen(function* () {
  assert.isNull((yield* verifyStore()).problem)
  const all = yield* intents
  const span = { from: 0, to: Number.MAX_SAFE_INTEGER, after: "" }
  const pages = yield* Effect.forEach(["payments", "journal", "balances"] as const, (what) =>
    exportPage({ what, ...span, after: what === "journal" ? "0" : "" }),
  )
  assert.lengthOf(pages[0]?.rows ?? [], all.length)
  for (const page of pages) assert.isNotEmpty(page.rows)
  for (const { id } of all.filter(({ state }) => state === "confirmed")) {
    const receipt: unknown = JSON.parse(JSON.stringify(yield* receiptOf(id)))
    assert.isUndefined(checkReceipt(receipt).problem)
  }
})

describe("a store of the previous release", () => {
  it.effect("is opened under its halt, settles payments and signs nothing", () =>
    onPrevious((options, sandbox) =>
      Effect.gen(function* () {
        const before = (yield* attempts).length
        yield* rounds(options, sandbox, 6)
        assert.deepStrictEqual(yield* haltReasons, ["operator"])
        assert.deepStrictEqual(yield* pauseScopes, ["lock:keep-hal", "party:carol", "rule:keep-dave"])
        assert.lengthOf(yield* attempts, before)
        assert.strictEqual(yield* endOf("keep-bob", 2), "confirmed", "its answer was never heard")
        assert.strictEqual(yield* endOf("salary"), "confirmed")
        assert.strictEqual(yield* endOf("keep-gus"), "unknown", "its bytes never arrived")
        assert.strictEqual(yield* endOf("keep-eve"), "awaiting_approval")
        assert.strictEqual(yield* endOf("bonus"), "proposed", "planned for a minute before the halt")
        assert.isNull((yield* verifyStore()).problem)
      }),
    ),
  )

  it.effect("resumes after its halt: payments execute once, approvals are asked again", () =>
    onPrevious((options, sandbox) =>
      Effect.gen(function* () {
        const { treasury } = options
        yield* endHalt(options)
        yield* rounds(options, sandbox, 40)
        assert.strictEqual(yield* endOf("keep-gus"), "confirmed", "its bytes expired unseen, and it was signed again")
        assert.strictEqual(yield* endOf("bonus"), "confirmed", "its instant is concluded: no other will be decided")
        for (const rule of ["keep-gus", "salary", "bonus"]) {
          assert.deepStrictEqual(yield* executions(sandbox, rule), [1], rule)
        }
        assert.deepStrictEqual(yield* executions(sandbox, "keep-bob"), [1, 1])
        const waiting = (yield* intents).find(({ rule }) => rule === "keep-eve")
        assert.strictEqual(waiting?.state, "awaiting_approval")
        assert.match(waiting?.detail ?? "", /^waits for 2 of ana, ben, chloe, .*; ana must sign again: /)
        for (const name of ["ana", "chloe"]) {
          const view = yield* findApproval(treasury, waiting!.id)
          const text = "text" in view ? view.text : assert.fail(JSON.stringify(view))
          assert.notMatch(text, /version 1\n/)
          yield* approve(treasury, waiting!.id, { signature: operatorSigns(name, text) })
        }
        yield* rounds(options, sandbox, 8)
        assert.strictEqual(yield* endOf("keep-eve"), "confirmed")
        assert.deepStrictEqual(yield* executions(sandbox, "keep-eve"), [1])
        for (const rule of ["keep-dave", "keep-fay"]) assert.deepStrictEqual(yield* executions(sandbox, rule), [], rule)
        assert.deepStrictEqual(yield* executions(sandbox, "keep-hal"), [0, 0, 0], "locked after three failures")
        assert.deepStrictEqual(yield* haltReasons, [])
        yield* provesAll
      }),
    ),
  )

  it.effect("ends its pauses and its lock by their verbs, and pays what they held", () =>
    onPrevious((options, sandbox) =>
      Effect.gen(function* () {
        yield* endHalt(options)
        yield* rounds(options, sandbox, 3)
        for (const scope of ["rule:keep-dave", "party:carol"]) {
          const done = yield* resumeScope(options, { scope, reason: "looked at", author: "ana" })
          assert.containSubset(done, { resumed: scope, ended: 1 })
        }
        yield* endHalt(options, "lock:keep-hal")
        assert.deepStrictEqual(yield* pauseScopes, [])
        yield* rounds(options, sandbox, 20)
        assert.deepStrictEqual(yield* executions(sandbox, "keep-fay"), [1])
        // What its own release signed counts in the line of 1,000 a day: 863 of them are used.
        assert.deepStrictEqual(yield* executions(sandbox, "keep-dave"), [])
        yield* TestClock.setTime(begun + dayMillis + 300_000)
        yield* rounds(options, sandbox, 20)
        assert.deepStrictEqual(yield* executions(sandbox, "keep-dave"), [1])
        assert.deepStrictEqual(yield* executions(sandbox, "keep-hal"), [1, 0, 0, 0])
        yield* provesAll
      }),
    ),
  )
})
