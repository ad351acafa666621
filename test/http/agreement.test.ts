import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { commandNames } from "../../src/cli/root.ts"
import { prepare } from "../../src/daemon.ts"
import { general } from "../../src/domain/Balance.ts"
import { type Agrees, agreements, type VerbName } from "../../src/http/agreeing.ts"
import { resumeScope } from "../../src/http/controlVerbs.ts"
import { storeLayer } from "../../src/layers.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Database } from "../../src/store/database/Database.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { withFlags } from "../../src/telemetry/Logging.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { ask, controlled } from "../support/Control.ts"
import { alice, flow } from "../support/Flow.ts"
import { altered, startFront } from "../support/Fronts.ts"
import { type Body, effectOf, it } from "../support/it.ts"
import { deskFields, operatorKey, operatorNames, operatorSigns } from "../support/Operators.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { usdt } from "../support/TestSandbox.ts"
import { type Fields, yamlText } from "../support/treasury.ts"

const manual = intentOf("3")

/** A payment that nobody knows the end of. */
const begin = Effect.gen(function* () {
  const outbox = yield* Outbox
  yield* outbox.record(manual)
  const reserved = yield* outbox.move(manual, "reserved", { detail: "permitted" })
  yield* outbox.persist(reserved, attemptOf(reserved, 1))
  const flying = (yield* outbox.open).find(({ id }) => id === manual.id)!
  yield* outbox.move(flying, "manual", { detail: "nothing tells" })
})
const halted = (reason: string) => Effect.flatMap(Controls, (controls) => controls.halt(reason, "found"))
const isHalted = (reason: string) =>
  Effect.flatMap(Controls, (controls) =>
    Effect.map(controls.halts, (all) => all.some((halt) => halt.reason === reason)),
  )
const stop = { scope: "lock:keep-bob", reason: "three failed", author: "cofferer", until: undefined }
const isStopped = Effect.flatMap(Controls, (controls) =>
  Effect.map(controls.pauses, (all) => all.some(({ scope }) => scope === stop.scope)),
)
const untrue = { party: alice, asset: usdt, market: "", type: general, balance: 7n, timestamp: 0n }
const why = { reason: "looked at it", author: "zoe" }

interface Walk {
  readonly verb: VerbName
  readonly path: string
  readonly body: object
  readonly args: ReadonlyArray<string>
  readonly begin: Effect.Effect<unknown, unknown, Controls | Outbox | Observations>
  /** Whether nothing was done yet. */
  readonly waits: Effect.Effect<boolean, unknown, Controls | Outbox | Observations>
  /** What its text says beside place and expiry. */
  readonly says: RegExp
}

/** Each verb that lets money move again, with what it must not end alone. */
const walks: ReadonlyArray<Walk> = [
  {
    verb: "resume",
    path: "resume",
    body: { scope: "all", ...why },
    args: ["resume"],
    begin: halted("operator"),
    waits: isHalted("operator"),
    says: /approval: resume\n(.+\n)*scope: all\nends halt 1: operator, since .+\nreason: looked at it\n/,
  },
  {
    verb: "resume",
    path: "resume",
    body: { scope: stop.scope, ...why },
    args: ["resume", "--scope", stop.scope],
    begin: Effect.flatMap(Controls, (controls) => controls.pause(stop)),
    waits: isStopped,
    says: /approval: resume\n(.+\n)*scope: lock:keep-bob\nends stop 1: three failed, since .+\n/,
  },
  {
    verb: "adopt",
    path: "adopt",
    body: why,
    args: ["adopt"],
    begin: halted("foreign_payment"),
    waits: isHalted("foreign_payment"),
    says: /approval: adopt\n(.+\n)*ends halt 1: foreign_payment, since .+\npayments made elsewhere: 0\n/,
  },
  {
    verb: "recover",
    path: "recover",
    body: why,
    args: ["recover"],
    begin: halted("restored_store"),
    waits: isHalted("restored_store"),
    says: /approval: recover\n(.+\n)*ends halt 1: restored_store, since .+\npayments to import: 0\n/,
  },
  {
    verb: "intents/*/resolve",
    path: `intents/${manual.id}/resolve`,
    body: { ...why, neverExecuted: true },
    args: ["intents", "resolve", manual.id, "--never-executed"],
    begin,
    waits: Effect.flatMap(Outbox, (outbox) =>
      Effect.map(outbox.open, (open) => open.some(({ id }) => id === manual.id)),
    ),
    says: /approval: resolve\n(.+\n)*payment: .+\nwhich is: .+ -> .+\noutcome: never executed\n/,
  },
  {
    verb: "balances/rebase",
    path: "balances/rebase",
    body: { party: "alice", asset: "USDT", ...why },
    args: ["balances", "rebase", "alice", "USDT"],
    begin: Effect.flatMap(Observations, (store) => store.rebase([untrue], { timestamp: 1_000n, height: 1n })),
    waits: Effect.flatMap(Observations, (store) =>
      Effect.map(store.accounts, (all) => all.some(({ balance }) => balance === untrue.balance)),
    ),
    says: /approval: rebase\n(.+\n)*party: alice\nparty key: .+\nasset: USDT\nasset id: .+\nreason: looked at it\n/,
  },
]

const nameOf = ({ args }: Walk): string => args.slice(0, 3).join(" ").replace(manual.id, "ID")
const textIn = (json: unknown): string => (json as { readonly text: string }).text
const isWithoutCall = (agrees: Agrees): boolean => agrees !== "operators"

/** Balances without their block: the network is in a year to which the command line's own clock has not come. */
const unmarked = (url: string) =>
  Effect.map(startFront("unmarked", url), (front) => {
    front.manner = altered(
      (request) => request.url.pathname === "/api/v2/accounts",
      (answer) => ({ ...answer, headers: {} }),
    )
    return front.server.url
  })

/** A treasury's file and an empty data directory, whose daemon does not run. */
const stopped = (
  more: Fields,
  use: Body<
    [
      where: {
        readonly dataDir: string
        readonly stored: <A>(
          effect: Effect.Effect<A, unknown, Controls | Outbox | Observations>,
        ) => Effect.Effect<A, unknown>
        /** Writes the file anew, with another end. */
        readonly write: (more: Fields | undefined) => void
        /** What a daemon that started has left in the store. */
        readonly started: Effect.Effect<void, unknown, Metrics>
        readonly run: (...args: ReadonlyArray<string>) => Effect.Effect<Awaited<ReturnType<typeof callCofferer>>>
      },
    ],
    Metrics
  >,
) =>
  flow(
    ({ treasury }) => {
      const dir = mkdtempSync(join(tmpdir(), "cofferer-agreement-"))
      const [file, dataDir] = [join(dir, "t.yaml"), join(dir, "data")]
      mkdirSync(dataDir)
      writeFileSync(file, treasury.document.text)
      for (const name of [...operatorNames, "eve"]) {
        const der = operatorKey(name).key.export({ type: "pkcs8", format: "der" })
        writeFileSync(join(dir, name), der.subarray(-32).toString("hex"), { mode: 0o600 })
      }
      const stored = <A>(effect: Effect.Effect<A, unknown, Controls | Outbox | Observations>) =>
        effect.pipe(Effect.provide(storeLayer({ treasury, dataDir }), { local: true }))
      const write = (next: Fields | undefined) =>
        writeFileSync(file, treasury.document.text.replace(yamlText(more), next === undefined ? "" : yamlText(next)))
      const started = prepare({ treasury, mode: treasury.mode, dataDir }).pipe(
        Effect.provide(storeLayer({ treasury, dataDir }), { local: true }),
      )
      const run = (...args: ReadonlyArray<string>) =>
        Effect.promise(() =>
          callCofferer([
            ...args.map((arg) => arg.replace(/^KEY:/, `${dir}/`)),
            ...["--reason", "looked at it", "-c", file, "--data", dataDir],
          ]),
        )
      return effectOf(use({ dataDir, stored, run, write, started })).pipe(
        Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true, force: true }))),
      )
    },
    { more, front: unmarked },
  )

describe("the table of agreement", () => {
  it("has every verb of the command line and the socket, and no other", () => {
    const verbs: Readonly<Record<string, ReadonlyArray<VerbName>>> = {
      run: [],
      check: [],
      status: [],
      explain: [],
      plan: ["plan"],
      intents: ["intents/*/cancel", "intents/*/abandon", "intents/*/resolve"],
      approve: ["intents/*/approve", "terms/approve"],
      reject: ["intents/*/reject"],
      keys: [],
      init: [],
      doctor: [],
      pause: ["pause"],
      halt: ["halt"],
      terms: ["terms/accept"],
      resume: ["resume"],
      reload: ["reload"],
      adopt: ["adopt"],
      recover: ["recover"],
      backfill: ["backfill"],
      reconcile: ["reconcile"],
      submit: ["submit"],
      test: [],
      backtest: [],
      verify: [],
      export: [],
      receipt: [],
      alerts: ["alerts/ack", "alerts/silence", "alerts/unsilence", "alerts/resend", "alerts/test"],
      assets: [],
      balances: ["balances/rebase"],
      sandbox: [],
      migrate: [],
      version: [],
    }
    for (const name of commandNames) assert.property(verbs, name, "say who must agree to it, in http/agreeing.ts")
    const served = new Set(Object.values(verbs).flat())
    assert.sameMembers([...served], Object.keys(agreements))
    const walked = new Set<string>(walks.map(({ verb }) => verb))
    for (const [verb, { agrees }] of Object.entries(agreements)) {
      assert.strictEqual(walked.has(verb), !isWithoutCall(agrees), `${verb} is walked below`)
    }
  })

  it.effect("is what the socket looks a verb up in before it does anything", () =>
    controlled(function* (options) {
      for (const path of ["withdraw", "intents/abc/pay", "constructor"]) {
        assert.strictEqual((yield* ask(options, `/api/v1/${path}`, {})).status, 404, path)
      }
    }),
  )

  it("has the verbs to which a printed command adds the key of an operator", () => {
    const printed = (args: ReadonlyArray<string>, hasOperators: boolean) =>
      withFlags(`"cofferer ${args.join(" ")} --reason TEXT"`, { place: "-d data", hasOperators })
    for (const { verb, args } of walks) {
      const key = agreements[verb].agrees === "operators" ? " --key FILE" : ""
      const command = `"cofferer ${args.join(" ")} --reason TEXT`
      assert.strictEqual(printed(args, true), `${command}${key} -d data"`)
      assert.strictEqual(printed(args, false), `${command} -d data"`)
    }
    assert.strictEqual(printed(["resume", "--key", "FILE"], true), '"cofferer resume --key FILE --reason TEXT -d data"')
  })

  for (const walk of walks) {
    it.effect(`asks two operators over the socket to ${nameOf(walk)}`, () =>
      controlled(
        function* (options) {
          // What the verbs ask of the gateway has its limit, in the clock's time.
          const post = (more: object = {}) =>
            Effect.andThen(
              TestClock.adjust("3 seconds"),
              ask(options, `/api/v1/${walk.path}`, { ...walk.body, ...more }),
            )
          yield* walk.begin
          const asked = yield* post()
          assert.strictEqual(asked.status, 202, asked.text)
          assert.match(textIn(asked.json), walk.says)
          assert.match(textIn(asked.json), /^(.+)\ntreasury: flow\nchain: sandbox-1\n(.+\n)*void from: .+Z\n$/)
          const signed = (name: string) => post({ signature: operatorSigns(name, textIn(asked.json)) })
          assert.strictEqual((yield* signed("eve")).status, 403)
          for (const name of ["ana", "ana"]) {
            const waits = yield* signed(name)
            assert.strictEqual(waits.status, 202, waits.text)
            assert.containSubset(waits.json, { by: ["ana"], missing: 1, others: ["ben", "chloe"] })
          }
          const other = { ...walk.body, reason: "another" }
          const foreign = { ...other, signature: operatorSigns("ben", textIn(asked.json)) }
          assert.strictEqual((yield* ask(options, `/api/v1/${walk.path}`, foreign)).status, 403)
          assert.isTrue(yield* walk.waits)
          const done = yield* signed("ben")
          assert.strictEqual(done.status, 200, done.text)
          assert.isFalse(yield* walk.waits)
        },
        { more: deskFields() },
      ),
    )

    it.effect(`asks two operators where no daemon runs to ${nameOf(walk)}`, () =>
      stopped(deskFields(), function* ({ stored, run }) {
        yield* stored(walk.begin)
        const asked = yield* run(...walk.args)
        assert.strictEqual(asked.code, 7, asked.stderr)
        assert.match(asked.stdout, walk.says)
        assert.strictEqual((yield* run(...walk.args, "--key", "KEY:eve")).code, 6)
        assert.strictEqual((yield* run(...walk.args, "--key", "KEY:ana")).code, 7)
        const again = yield* run(...walk.args, "--key", "KEY:ana")
        assert.strictEqual(again.code, 7)
        assert.include(again.stderr, "approved by ana; 1 of ben, chloe must say ")
        assert.isTrue(yield* stored(walk.waits))
        const done = yield* run(...walk.args, "--signature", operatorSigns("chloe", asked.stdout))
        assert.strictEqual(done.code, 0, done.stderr)
        assert.isFalse(yield* stored(walk.waits))
      }),
    )

    it.effect(`stands in nobody's way to ${nameOf(walk)} where no operators are named`, () =>
      stopped({}, function* ({ stored, run }) {
        yield* stored(walk.begin)
        const done = yield* run(...walk.args)
        assert.strictEqual(done.code, 0, done.stderr)
        assert.isFalse(yield* stored(walk.waits))
      }),
    )
  }

  it.effect("lets anybody stop, and end what a person paused", () =>
    controlled(
      function* (options) {
        const post = (path: string, body: object) => ask(options, `/api/v1/${path}`, body)
        assert.strictEqual((yield* post("pause", { scope: "party:bob", ...why })).status, 200)
        assert.strictEqual((yield* post("resume", { scope: "party:bob", ...why })).status, 200)
        yield* begin
        const wait = { ...manual, id: intentOf("4").id, subject: "4", episode: 4 }
        yield* (yield* Outbox).record(wait)
        assert.strictEqual((yield* post(`intents/${wait.id}/cancel`, why)).status, 200)
        assert.strictEqual((yield* post("halt", why)).status, 200)
        assert.isTrue(yield* isHalted("operator"))
      },
      { more: deskFields() },
    ),
  )

  it.effect("asks the operators last in force, though the file names none now", () =>
    stopped(deskFields(), function* ({ stored, run, write, started }) {
      yield* started
      yield* stored(halted("foreign_payment"))
      yield* stored(halted("store_error"))
      const { ana } = deskFields().approvals.desk.of
      const of = { ana, eve: operatorKey("eve").publicKey }
      for (const next of [undefined, { approvals: { desk: { need: 1, within: "4h", of } } }]) {
        write(next)
        for (const verb of ["resume", "adopt"]) {
          const asked = yield* run(verb)
          assert.strictEqual(asked.code, 7, `${verb}: ${asked.stdout}${asked.stderr}`)
          assert.include(asked.stderr, "of ana, ben, chloe must say ")
          assert.strictEqual((yield* run(verb, "--key", "KEY:eve")).code, 6)
        }
      }
      assert.isTrue(yield* stored(isHalted("foreign_payment")))
    }),
  )

  it.effect("counts an unseen HALT file, which nobody removes alone", () =>
    stopped(deskFields(), function* ({ dataDir, run }) {
      const file = join(dataDir, "HALT")
      assert.strictEqual((yield* run("halt")).code, 0)
      assert.isTrue(existsSync(file))
      assert.strictEqual((yield* run("resume")).code, 7)
      assert.strictEqual((yield* run("resume", "--key", "KEY:ana")).code, 7)
      assert.isTrue(existsSync(file))
      const done = yield* run("resume", "--key", "KEY:ben")
      assert.strictEqual(done.code, 0, done.stderr)
      assert.isFalse(existsSync(file))
    }),
  )

  it.effect("keeps a halt whose file was taken away before a daemon had seen it", () =>
    stopped(deskFields(), function* ({ dataDir, run, started, stored }) {
      yield* started
      for (const verb of ["halt", "pause"]) assert.strictEqual((yield* run(verb)).code, 0)
      rmSync(join(dataDir, "HALT"))
      yield* started
      assert.isTrue(yield* stored(isHalted("halt_file")))
      assert.strictEqual((yield* run("resume")).code, 7)
    }),
  )

  it.effect("takes no signature for a halt that came back, though it says the same", () =>
    controlled(
      function* (options) {
        const controls = yield* Controls
        const post = (more: object = {}) => ask(options, "/api/v1/resume", { scope: "all", ...why, ...more })
        yield* controls.halt("store_error", "disk full")
        const text = textIn((yield* post()).json)
        const signatures = ["ana", "ben"].map((name) => operatorSigns(name, text))
        for (const signature of signatures) yield* post({ signature })
        assert.isFalse(yield* isHalted("store_error"))
        yield* TestClock.adjust("1 minute")
        yield* controls.halt("store_error", "disk full")
        for (const signature of signatures) assert.strictEqual((yield* post({ signature })).status, 403)
        assert.isTrue(yield* isHalted("store_error"))
      },
      { more: deskFields() },
    ),
  )

  it.effect("names what a resume ends alone, no stop of another scope and no halt that stays", () =>
    controlled(
      function* (options) {
        const controls = yield* Controls
        yield* controls.pause(stop)
        yield* controls.pause({ ...stop, scope: "pin:USDT", reason: "other decimals" })
        yield* controls.halt("restored_store", "older copy")
        yield* controls.halt("store_error", "disk full")
        const textOf = (scope: string) =>
          Effect.map(ask(options, "/api/v1/resume", { scope, ...why }), ({ json }) => textIn(json))
        const ends = (text: string) => text.split("\n").filter((line) => line.startsWith("ends "))
        const [ofLock, ofAll] = [ends(yield* textOf(stop.scope)), ends(yield* textOf("all"))]
        assert.lengthOf(ofLock, 1)
        assert.include(ofLock[0], stop.reason)
        assert.lengthOf(ofAll, 1)
        assert.include(ofAll[0], "store_error")
      },
      { more: deskFields() },
    ),
  )

  it.effect("ends no halt that another person said after the signatures", () =>
    controlled(
      function* (options) {
        const post = (path: string, body: object) => ask(options, `/api/v1/${path}`, body)
        const resume = (more: object = {}) => post("resume", { scope: "all", ...why, ...more })
        yield* post("halt", { reason: "maintenance", author: "ana" })
        const text = textIn((yield* resume()).json)
        assert.strictEqual((yield* resume({ signature: operatorSigns("ana", text) })).status, 202)
        for (const author of ["chloe", "chloe", "ana"]) {
          const reason = author === "ana" ? "maintenance" : "a key is stolen"
          assert.strictEqual((yield* post("halt", { reason, author })).status, 200)
        }
        assert.strictEqual((yield* resume({ signature: operatorSigns("ben", text) })).status, 403)
        assert.isTrue(yield* isHalted("operator"))
        const both = textIn((yield* resume()).json)
        assert.match(both, /ends halt 1: operator, since .+\nends halt 2: operator, since .+\nreason/)
        yield* resume({ signature: operatorSigns("ana", both) })
        assert.strictEqual((yield* resume({ signature: operatorSigns("ben", both) })).status, 200)
        assert.isFalse(yield* isHalted("operator"))
      },
      { more: deskFields() },
    ),
  )

  it.effect("ends no halt of a HALT file that says something else meanwhile", () =>
    stopped(deskFields(), function* ({ dataDir, run }) {
      const file = join(dataDir, "HALT")
      assert.strictEqual((yield* run("halt")).code, 0)
      assert.strictEqual((yield* run("resume", "--key", "KEY:ana")).code, 7)
      writeFileSync(file, "chloe: a key is stolen\n")
      assert.strictEqual((yield* run("resume", "--key", "KEY:ben")).code, 7)
      assert.isTrue(existsSync(file))
      const done = yield* run("resume", "--key", "KEY:ana")
      assert.strictEqual(done.code, 0, done.stderr)
      assert.isFalse(existsSync(file))
    }),
  )

  it.effect("leaves a HALT file that comes while a resume waits for the store", () =>
    controlled(
      function* (options) {
        const { treasury, dataDir } = options
        const file = join(dataDir, "HALT")
        const asked = { scope: "all", ...why }
        yield* halted("operator")
        const text = textIn((yield* ask(options, "/api/v1/resume", asked)).json)
        yield* ask(options, "/api/v1/resume", { ...asked, signature: operatorSigns("ana", text) })
        const database = yield* Database
        const write: typeof database.write = (effect, undone) =>
          Effect.suspend(() => {
            writeFileSync(file, "chloe: a key is stolen\n")
            return database.write(effect, undone)
          })
        const done = yield* resumeScope(
          { treasury, dataDir },
          { ...asked, signature: operatorSigns("ben", text) },
        ).pipe(Effect.provideService(Database, { ...database, write }))
        assert.containSubset(done, { status: 409 })
        assert.isTrue(existsSync(file))
        assert.isTrue(yield* isHalted("operator"))
      },
      { more: deskFields() },
    ),
  )

  it.effect("takes signatures for one reading of balances, though the mismatch stays", () =>
    controlled(
      function* (options) {
        const walk = walks.find(({ verb }) => verb === "balances/rebase")!
        const post = (more: object = {}) =>
          Effect.andThen(TestClock.adjust("3 seconds"), ask(options, `/api/v1/${walk.path}`, { ...walk.body, ...more }))
        yield* walk.begin
        for (let i = 0; i < 3; i++) {
          const asked = yield* post()
          assert.strictEqual(asked.status, 202, `reading ${i + 1}`)
          const [first, second] = ["ana", "ben"].map((name) => operatorSigns(name, textIn(asked.json)))
          assert.strictEqual((yield* post({ signature: first })).status, 202)
          const body = { party: "f".repeat(64), asset: usdt }
          yield* (yield* Database).write((yield* Journal).append({ kind: "rebase", subject: "balances", body }))
          assert.strictEqual((yield* post({ signature: second })).status, 200, "another account's reading is no matter")
        }
      },
      { more: deskFields() },
    ),
  )
})
