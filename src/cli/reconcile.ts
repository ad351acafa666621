import { Effect, Layer, Logger } from "effect"
import { Command } from "effect/cli"
import { secureDataDir } from "../config/ownFiles.ts"
import { pollBalances } from "../poller/BalancePoller.ts"
import { Reconciliation } from "../poller/Reconciliation.ts"
import { type Reconciled, reconcileNow } from "../status/reconcileNow.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { alone } from "./ledgerCommands.ts"
import { outputFlag, printResult, table, toJson } from "./output.ts"
import { type Chosen, configFlag, dataFlag, setup } from "./setup.ts"

/** A comparison waits for blocks, and a long history has many pages. */
const timeoutMillis = 120_000
const pollMillis = 250

/** Compares now, and tells what differs. */
export const reconcile = Command.make(
  "reconcile",
  { config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const found = (yield* perform(chosen)) as Reconciled
    yield* printResult(chosen.output, found, () => textOf(found))
    const count = found.differences.length
    if (count > 0) return yield* failWith("unhealthy", `${count} ${count === 1 ? "difference" : "differences"}`)
    if (found.accounts === null) return yield* failWith("timeOut", "the balances could not be compared in time")
  }),
).pipe(Command.withDescription("Compare balances and payments with what the gateway says; 8 where they differ"))

/** Asks the daemon; where none runs, does the same with the database itself. */
const perform = Effect.fnUntraced(function* (chosen: Chosen) {
  const answer = yield* control(yield* dataDirOf(chosen), "POST", "/api/v1/reconcile", {}, timeoutMillis)
  if (answer !== undefined) return yield* bodyOf(answer)
  const found = yield* setup(chosen)
  const { treasury } = found
  yield* secureDataDir(found.dataDir)
  const poll = pollBalances({
    ...treasury.network,
    parties: treasury.parties,
    assets: treasury.assets,
    keepMillis: treasury.keepMillis,
  })
  const advance = Effect.flatMap(poll, (more) => (more ? Effect.void : Effect.sleep(pollMillis)))
  const done: unknown = yield* Effect.andThen(advance, reconcileNow(found, advance)).pipe(
    // What is found is the result; told beside it, it would stand between the lines of the result.
    Effect.provide(Layer.mergeAll(Reconciliation.layer, alone(found), Logger.layer([]))),
    Effect.catchTags({
      GatewayError: (error) => failWith(error.reason._tag === "Timeout" ? "timeOut" : "failure", error.message),
      StoreError: (error) => failWith("failure", error.message),
    }),
  )
  return JSON.parse(toJson(done)) as unknown
})

const textOf = ({ differences, accounts, transfers }: Reconciled): string => {
  const rows = differences.map(({ kind, subject, id, ours, ledger }) => [
    kind.replaceAll("_", " "),
    subject,
    id.slice(0, 16),
    ours,
    ledger,
  ])
  const compared = [
    accounts === null ? "balances not compared" : `${accounts} accounts compared`,
    transfers === null ? "no payments to compare in this mode" : `${transfers} transfers compared`,
  ]
  return [
    ...(rows.length === 0 ? [] : [table([["difference", "of", "id", "ours", "the gateway's"], ...rows])]),
    compared.join(", "),
  ].join("\n")
}
