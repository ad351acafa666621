import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { pollBalances } from "../poller/BalancePoller.ts"
import { pollerOptionsOf } from "../poller/BalancePollerOptions.ts"
import { Reconciliation } from "../poller/Reconciliation.ts"
import { type Reconciled, reconcileNow } from "../status/reconcileNow.ts"
import { failWith } from "./CliFailure.ts"
import { gatewaysOf } from "./ledgerCommands.ts"
import { outputFlag, printResult, table } from "./output.ts"
import { configFlag, dataFlag, type Setup } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"

/** A comparison waits for blocks, and a long history has many pages. */
const timeoutMillis = 120_000
const pollMillis = 250

/** Compares now, and tells what differs. */
export const reconcile = Command.make(
  "reconcile",
  { config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const { body: found } = yield* throughDaemon(chosen, {
      method: "POST",
      path: "/api/v1/reconcile",
      body: {},
      timeoutMillis,
      mayBegin: true,
      stored,
    })
    yield* printResult(chosen.output, found, () => textOf(found))
    const count = found.differences.length
    if (count > 0) return yield* failWith("unhealthy", `${count} ${count === 1 ? "difference" : "differences"}`)
    if (found.accounts === null) return yield* failWith("timeOut", "the balances could not be compared in time")
  }),
).pipe(Command.withDescription("Compare balances and payments with what the gateway says; 8 where they differ"))

const stored = (found: Setup) => {
  const poll = pollBalances(pollerOptionsOf(found.treasury))
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
    accounts === null ? "balances not compared" : `${accounts} accounts compared`,
    transfers === null ? "no payments to compare in this mode" : `${transfers} transfers compared`,
  ]
  return [
    ...(rows.length === 0 ? [] : [table([["difference", "of", "id", "ours", "the gateway's"], ...rows])]),
    compared.join(", "),
  ].join("\n")
}
