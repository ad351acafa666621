import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { Reconciliation } from "../poller/Reconciliation.ts"
import { rebaseBalances } from "../status/rebaseBalances.ts"
import { performAgreed } from "./ledgerCommands.ts"
import { printResult } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { commonFlags } from "./setup.ts"
import { agreementFlags } from "./signAgreement.ts"

export const rebase = Command.make(
  "rebase",
  {
    party: Argument.String("party").pipe(Argument.withDescription("Name of the party in the treasury file")),
    asset: Argument.String("asset").pipe(Argument.withDescription("Symbol of the asset, or its id where it has none")),
    reason: reasonFlag,
    ...agreementFlags,
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const { party, asset, reason } = chosen
    const done = yield* performAgreed(
      chosen,
      { kind: "rebase", path: "balances/rebase", says: { party, asset, reason } },
      (found, asked) =>
        rebaseBalances(found.treasury, { party, asset, ...asked }).pipe(Effect.provide(Reconciliation.layer)),
    )
    const { rebased, rows, accounts } = done
    yield* printResult(chosen.output, done, () =>
      [
        `${rebased} begins anew; ${rows} rows are read again, and rules on it hold until two comparisons agree`,
        ...accounts.map(({ type, stored, reported }) => `  ${type}: ${stored} before, ${reported} now, in base units`),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Read an account's history anew where it differs from the gateway's, with a reason"))
