import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { InForce } from "../config/ConfigInForce.ts"
import { loadTreasury } from "../config/Treasury.ts"
import { planOf } from "../status/planOf.ts"
import { failWith } from "./CliFailure.ts"
import { outputFlag, printResult } from "./output.ts"
import { planText } from "./planText.ts"
import { configFlag, dataFlag, fileArgument, filesOf, type Setup, setup } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"

const usual = "treasury.yaml"

/** What would be paid now, by the file in force or by a changed one; 9 where anything would be. */
export const plan = Command.make(
  "plan",
  { file: fileArgument, config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const isNamed = chosen.file._tag === "Some" || chosen.config.length > 0
    // What is wrong with the file is told with its lines, before a daemon is asked.
    const files = isNamed ? filesOf(chosen).map((file) => resolve(file)) : []
    if (isNamed) yield* setup(chosen)
    const { running, body: planned } = yield* throughDaemon(chosen, {
      ...(isNamed ? { method: "POST", body: { files } } : { method: "GET" }),
      path: "/api/v1/plan",
      stored: (found) => stored(found, isNamed),
    })
    yield* printResult(chosen.output, { running, ...planned }, () => planText(planned, running))
    const { fires } = planned.plan
    if (fires > 0) return yield* failWith("wouldFire", `${fires} ${fires === 1 ? "payment" : "payments"} would be made`)
    return undefined
  }),
).pipe(Command.withDescription("Say what would be paid, and what a changed file would do otherwise; 9 if anything"))

/** Against the database itself: a changed file is compared with the one that lies at the usual place. */
const stored = Effect.fnUntraced(function* (found: Setup, isNamed: boolean) {
  const isOther = isNamed && existsSync(usual) && resolve(found.treasury.file) !== resolve(usual)
  const inForce: InForce | undefined = isOther ? { treasury: yield* loadTreasury(usual), mode: found.mode } : undefined
  return yield* planOf({ plan: found, inForce, asLastSeen: true })
})
