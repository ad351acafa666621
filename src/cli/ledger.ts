import { Clock, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { ProcessContext } from "../config/Environment.ts"
import { nanosOf } from "../domain/Time.ts"
import { plural } from "../domain/text.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { askBackfill, type LedgerVerb, ledgerVerb, type Reconciled, reconcileNow } from "../http/ledgerVerbs.ts"
import type { View } from "../http/View.ts"
import { gatewayLayer, type storeLayer } from "../layers.ts"
import { pollBalances } from "../poller/BalancePoller.ts"
import { Reconciliation } from "../poller/Reconciliation.ts"
import type { StoreError } from "../store/database/StoreError.ts"
import { signedAfter } from "../submitter/audit/quarantine.ts"
import { agreementFlags, signAgreement, type TypedVerb } from "./approve.ts"
import { askDaemon, bodyOf, throughDaemon } from "./common/client.ts"
import { failWith, printResult, progressBar, table } from "./common/output.ts"
import { commonFlags, dataDirOf, type Setup, userName } from "./common/setup.ts"
import { reasonFlag } from "./controls.ts"
import { MomentText, parseMoment } from "./explain.ts"
import { layerMetrics, loggingLayer } from "./run/logging.ts"

const flags = { reason: reasonFlag, ...agreementFlags, ...commonFlags }
type ChosenVerb = Command.Command.Config.Infer<typeof flags>

type Done = Effect.Success<ReturnType<typeof perform>>
type Adopted = Extract<Done, { readonly adopted: unknown }>
type Recovered = Extract<Done, { readonly imported: unknown }>
type Listed = Recovered["imported"]
type Reach = Recovered["reach"]

const rowsMax = 20

/**
 * A long history has many pages, and a comparison waits for blocks. The daemon stops what its caller gives up, and a
 * repetition would begin at the first page again.
 */
const timeoutMillis = 3_600_000

const listText = (listed: Listed): ReadonlyArray<string> => [
  ...(listed.length === 0
    ? []
    : [
        table(
          listed
            .slice(0, rowsMax)
            .map(({ id, to, toName, asset, amount, sum, status }) => [
              `  ${id.slice(0, 12)}`,
              sum ?? `${amount} base units of ${asset.slice(0, 8)}`,
              `-> ${toName ?? (to === "" ? "unknown" : to.slice(0, 8))}`,
              status,
            ]),
        ),
      ]),
  ...(listed.length > rowsMax ? [`  and ${listed.length - rowsMax} more; --output json shows all`] : []),
  ...(listed.length > 0 ? ['not in "export --what payments"; "export --what journal" has their transfer ids'] : []),
]

/** When signing begins, and which payments of a lost database are recognized, as text. */
const afterText = (reach: Reach): ReadonlyArray<string> => [
  `nothing ${signedAfter(null)}`,
  "if the ledger lists a payment that the database lost, it is not paid again. The ledger lists transfers of:",
  ...reach.map(({ party, since }) => `  ${party}: ${since === null ? "none yet" : `from ${since} on`}`),
  "not recognized: withdrawals, which carry no tag (compare those listed above), and payments of a renamed treasury, a renamed rule or another key",
]

const adoptedText = ({ adopted, reach }: Adopted): string =>
  [
    `adopted ${plural(adopted.length, "payment")} made elsewhere`,
    ...listText(adopted),
    ...(adopted.length === 0 ? [] : afterText(reach)),
  ].join("\n")

const recoveredText = ({ lastOnLedger, lastInJournal, imported, reach }: Recovered): string =>
  [
    lastOnLedger === null
      ? "the ledger shows no payment of this installation"
      : `the last payment of this installation on the ledger was signed at entry ${lastOnLedger} of the journal`,
    `the journal ends at entry ${lastInJournal}; imported ${plural(imported.length, "payment")} that it missed`,
    ...listText(imported),
    "each payment that was under way becomes manual, unless the ledger lists it as done",
    ...afterText(reach),
  ].join("\n")

const perform = (chosen: ChosenVerb, verb: LedgerVerb) =>
  performAgreed(chosen, { kind: verb, path: verb, says: { reason: chosen.reason } }, (found, asked) =>
    ledgerVerb(verb, found, asked),
  )

/** Performs a verb with agreement in the daemon, or on the database if none runs. */
export const performAgreed = <A>(
  chosen: ChosenVerb,
  what: Pick<TypedVerb, "kind"> & { readonly path: string; readonly says: Readonly<Record<string, string>> },
  verb: (
    found: Setup,
    asked: Parameters<typeof ledgerVerb>[2],
  ) => Effect.Effect<
    A,
    GatewayError | StoreError,
    Layer.Success<ReturnType<typeof storeLayer>> | Layer.Success<ReturnType<typeof gatewaysOf>>
  >,
) =>
  signAgreement(
    chosen,
    what,
    Effect.fnUntraced(function* (more) {
      const asked = { reason: chosen.reason, author: userName(), ...more }
      // Logged as in the daemon.
      const stored = Effect.fnUntraced(function* (found: Setup) {
        const log = loggingLayer(found, Option.some("text"), yield* Clock.currentTimeMillis, { descriptor: 2 })
        return yield* verb(found, asked).pipe(Effect.provide(Layer.merge(gatewaysOf(found), log)))
      })
      const body = { ...what.says, ...asked }
      const done = yield* throughDaemon(chosen, `/api/v1/${what.path}`, stored, {
        body,
        timeoutMillis,
        mayCreate: true,
      })
      return done.body
    }),
  )

/** The gateways, for a command that does the work of the daemon where none runs. */
const gatewaysOf = ({ treasury, mode }: Setup) =>
  gatewayLayer({ treasury }).pipe(Layer.provideMerge(layerMetrics(treasury, mode)))

export const adoptCommand = Command.make(
  "adopt",
  flags,
  Effect.fn(function* (chosen) {
    const done = yield* perform(chosen, "adopt")
    yield* printResult(chosen.output, done, () => adoptedText(done as Adopted))
  }),
).pipe(Command.withDescription("Acknowledge transfers that our keys signed elsewhere"))

export const recoverCommand = Command.make(
  "recover",
  flags,
  Effect.fn(function* (chosen) {
    const done = yield* perform(chosen, "recover")
    yield* printResult(chosen.output, done, () => recoveredText(done as Recovered))
  }),
).pipe(Command.withDescription("Import payments missing from a restored database and re-enable signing"))

const pollMillis = 250

export const reconcile = Command.make(
  "reconcile",
  { ...commonFlags },
  Effect.fn(function* (chosen) {
    const call = { body: {}, timeoutMillis, mayCreate: true }
    const { body: found } = yield* throughDaemon(chosen, "/api/v1/reconcile", stored, call)
    yield* printResult(chosen.output, found, () => textOf(found))
    const count = found.differences.length
    if (count > 0) return yield* failWith("unhealthy", plural(count, "difference"))
    if (found.accounts === null) return yield* failWith("timeOut", "the balances could not be compared in time")
  }),
).pipe(Command.withDescription("Compare balances and payments with the gateway; exit 8 on a difference"))

const stored = (found: Setup) => {
  const poll = pollBalances(found.treasury)
  const advance = Effect.flatMap(poll, (more) => (more ? Effect.void : Effect.sleep(pollMillis)))
  return Effect.andThen(advance, reconcileNow(found, advance)).pipe(
    Effect.provide(Layer.merge(Reconciliation.layer, gatewaysOf(found))),
  )
}

const textOf = ({ differences, accounts, transfers }: Reconciled): string => {
  const rows = differences.map(({ kind, subject, id, ours, ledger }) => [
    kind.replaceAll("_", " "),
    subject,
    id.slice(0, 16),
    ours,
    ledger,
  ])
  const compared = [
    accounts === null ? "balances not compared" : `${plural(accounts, "account")} compared`,
    transfers === null ? "no payments to compare in this mode" : `${plural(transfers, "transfer")} compared`,
  ]
  return [
    ...(rows.length === 0 ? [] : [table([["difference", "of", "id", "ours", "the gateway's"], ...rows])]),
    `${compared.join(", ")}${rows.length === 0 && accounts !== null ? ": no difference" : ""}`,
  ].join("\n")
}

const backfillFlags = {
  since: Flag.String("since").pipe(
    Flag.withSchema(MomentText),
    Flag.withDescription(
      "From this time on (required): a duration before now, such as 7d, or a time such as 2026-11-21T10:00:00Z",
    ),
  ),
  ...commonFlags,
}

const readers = { past: "the daemon has read", now: "the daemon reads", next: "the next daemon reads" }

/** Subject and verb for the reader of the past. On a terminal, first draws the progress until the daemon ends it. */
const readerOf = Effect.fnUntraced(function* (dataDir: string, since: string) {
  const { progress } = yield* ProcessContext
  if (progress === undefined) return readers.now
  const bar = progressBar(progress, "backfill")
  const watch = Effect.gen(function* () {
    for (;;) {
      const answer = yield* askDaemon(dataDir, "/api/v1/status")
      if (answer === undefined) return readers.next
      const { backfills } = (yield* bodyOf(answer)) as Pick<View, "backfills">
      const own = backfills.find((one) => one.since === since)
      if (own === undefined) return readers.past
      bar.show(own.share)
      yield* Effect.sleep("1 second")
    }
  })
  return yield* Effect.ensuring(watch, Effect.sync(bar.end))
})

/** Requests past balance changes from the daemon; if none runs, from the next one. */
export const backfill = Command.make(
  "backfill",
  backfillFlags,
  Effect.fn(function* (chosen) {
    const now = yield* Clock.currentTimeMillis
    const since = nanosOf(parseMoment(chosen.since, now))
    const stored = ({ treasury }: Setup) => askBackfill(since, treasury.keepMillis)
    const dataDir = yield* dataDirOf(chosen)
    const call = { body: { since: String(since) }, dataDir }
    const { running, body: asked } = yield* throughDaemon(chosen, "/api/v1/backfill", stored, call)
    const reader = running && asked.until !== null ? yield* readerOf(dataDir, asked.since) : readers.next
    yield* printResult(chosen.output, { running, ...asked }, () =>
      asked.until === null
        ? `balance changes since ${asked.since} are stored already, or being read`
        : `${reader} the balance changes from ${asked.since} to ${asked.until}${reader === readers.past ? "" : '; "status" shows how far it is'}`,
    )
  }),
).pipe(Command.withDescription("Read past balance changes from the gateway into the database"))
