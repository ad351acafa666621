import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Clock, Effect } from "effect"
import { alertLoop, heartbeatLoop, noteWritten, remindersOf } from "./alerts/AlertLoop.ts"
import { ConfigInForce } from "./config/ConfigInForce.ts"
import { readLiveHalt, version } from "./config/files.ts"
import { ConfigError } from "./config/yaml/ConfigError.ts"
import { engineLoop } from "./engine/Engine.ts"
import { neededOf, operatorsInForce } from "./http/agreeing.ts"
import { noteHaltFile } from "./http/controlVerbs.ts"
import { forgetUndelivered } from "./http/readFacts.ts"
import { noteStarted } from "./http/reload.ts"
import { termsLoop } from "./http/termsApproval.ts"
import { healthLoop } from "./http/watchHealth.ts"
import type { DaemonOptions } from "./layers.ts"
import { assetLoop } from "./poller/AssetPoller.ts"
import { backfillLoop } from "./poller/Backfill.ts"
import { balanceLoop } from "./poller/BalancePoller.ts"
import { reconciliationLoop } from "./poller/Reconciliation.ts"
import { supervise, supervised } from "./Supervisor.ts"
import { raise } from "./store/alerts/raise.ts"
import { Controls, haltSigning } from "./store/controls/Controls.ts"
import * as Database from "./store/database/Database.ts"
import { watchDiskSpace } from "./store/database/DiskSpace.ts"
import { Settings } from "./store/database/Settings.ts"
import { storeFileProblem } from "./store/database/StoreFile.ts"
import { haltingOnStoreErrors } from "./store/database/storeErrors.ts"
import { Journal } from "./store/journal/Journal.ts"
import { reconcileLoop } from "./submitter/audit/Reconcile.ts"
import { confirmLoop } from "./submitter/Confirm.ts"
import { InFlight } from "./submitter/InFlight.ts"
import { overdueLoop } from "./submitter/Overdue.ts"
import { submitLoop } from "./submitter/Submitter.ts"
import { logEvent } from "./telemetry/Logging.ts"
import { Metrics } from "./telemetry/Metrics.ts"

/** Prepares the store for this process, as one change: who we are, and whether a HALT file lies there. */
export const prepare = Effect.fn("Daemon.prepare")(function* (options: DaemonOptions) {
  yield* (yield* Database.Database).write(noteProcess(options))
  yield* noteTakeover
})

/** Payments are known again by the treasury's name: under another one, a key of "submit" would be paid twice. */
const refuseOtherName = Effect.fnUntraced(function* ({ name, document }: DaemonOptions["treasury"]) {
  const known = yield* (yield* Settings).getOrMake("treasury", Effect.succeed(name))
  if (known === name) return
  const message = `the database is of the treasury "${known}", and this file names it "${name}"`
  const remedy = `write "name: ${known}", or name another data directory`
  return yield* new ConfigError({ problems: [document.problem(["name"], message, remedy)] })
})

const noteProcess = Effect.fnUntraced(function* (options: DaemonOptions) {
  yield* refuseOtherName(options.treasury)
  yield* (yield* Settings).getOrMake(
    "installation",
    Effect.sync(() => randomBytes(4).toString("hex")),
  )
  yield* noteWritten
  yield* checkStore(options)
  yield* applyHaltFile(options)
  yield* watchDiskSpace()
  yield* noteStarted()
  yield* forgetUndelivered
  const { treasury, mode } = (yield* ConfigInForce).now()
  const { takeover } = yield* Database.Database
  const at = yield* Clock.currentTimeMillis
  const body = { version, mode, policy: treasury.policy.hash, at, takeover }
  yield* (yield* Journal).append({ kind: "started", subject: treasury.name, body })
  if (takeover?.how === "expired") yield* raise("taken_over", { at, from: takeover.from, to: takeover.to })
})

/** Counts and logs that another process ran the treasury before. */
const noteTakeover = Effect.gen(function* () {
  const { takeover } = yield* Database.Database
  if (takeover === undefined) return
  const { takeovers } = yield* Metrics
  takeovers.inc({ how: takeover.how })
  yield* logEvent("taken over", { former: takeover.from, reason: takeover.how.replace("_", " ") })
})

/** A store that a copy was put in place of signs nothing: what it does not know may be under way. */
const checkStore = Effect.fnUntraced(function* ({ mode, dataDir }: DaemonOptions) {
  if (mode !== "live") return
  const problem =
    (yield* storeFileProblem(join(dataDir, Database.databaseFile))) ?? (yield* (yield* Journal).headProblem)
  if (problem !== undefined) yield* haltSigning("restored_store", problem)
})

/**
 * Where operators end halts, this one outlives its file: who may write here would else end it alone. So it does where
 * other processes run the treasury in turn, which have no such file.
 */
const applyHaltFile = Effect.fnUntraced(function* ({ dataDir, postgresUrlFile }: DaemonOptions) {
  const controls = yield* Controls
  const said = yield* readLiveHalt(dataDir)
  if (said !== undefined) return yield* noteHaltFile(said)
  const isKept = postgresUrlFile !== undefined || neededOf(yield* operatorsInForce) > 0
  if (!isKept) yield* controls.release("halt_file", "the HALT file is gone")
})

/** The HALT file works within half a second, with no network and no command line; and so does a disk's end. */
export const haltLoop = (options: DaemonOptions) =>
  applyHaltFile(options).pipe(Effect.andThen(watchDiskSpace()), Effect.andThen(Effect.sleep(500)), Effect.forever)

/** A loop that halts on mistakes in the store, and restarts after any failure but one of a store without writes. */
const lasting = <E, R>(name: string, loop: Effect.Effect<never, E, R>) => supervised(name, haltingOnStoreErrors(loop))

/** The loops of the treasury, supervised. Never succeeds. */
export const runLoops = (options: DaemonOptions) =>
  supervise([
    lasting("balances", balanceLoop),
    lasting("backfill", backfillLoop),
    lasting("accounts", reconciliationLoop),
    lasting("assets", assetLoop),
    lasting("engine", engineLoop),
    lasting("submitter", submitLoop),
    lasting("confirm", confirmLoop),
    lasting("reconcile", reconcileLoop),
    lasting("overdue", overdueLoop),
    lasting("health", healthLoop),
    lasting(
      "alerts",
      Effect.flatMap(ConfigInForce, ({ now }) => alertLoop(options.treasury.name, () => remindersOf(now().treasury))),
    ),
    lasting("heartbeat", heartbeatLoop(options.treasury.alerting.heartbeat?.everyMillis ?? 60_000)),
    lasting("terms", termsLoop),
    lasting("halt", haltLoop(options)),
  ])

/** Waits until no answer is awaited, at most the given time: what was sent is written down before the end. */
export const drain = Effect.fn("Daemon.drain")(function* (millisMax: number) {
  const draining = yield* InFlight
  yield* draining.drain
  const quiet = Effect.gen(function* () {
    while ((yield* draining.sending) > 0) yield* Effect.sleep(20)
  })
  yield* quiet.pipe(Effect.timeoutOption(millisMax))
})
