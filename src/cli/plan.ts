import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { InForce } from "../config/ConfigInForce.ts"
import { loadTreasury } from "../config/Treasury.ts"
import { storeLayer } from "../services.ts"
import { type PlanAnswer, planOf } from "../status/planOf.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult, toJson } from "./output.ts"
import { planText } from "./planText.ts"
import { type Chosen, configFlag, dataFlag, fileArgument, filesOf, setup, storedSetup } from "./setup.ts"

const path = "/api/v1/plan"
const usual = "treasury.yaml"

/** The daemon is of the same version as this command line: its answer is taken as it comes. */
const toPlan = (body: unknown): PlanAnswer => body as PlanAnswer

/** What would be paid now, by the file in force or by a changed one; 9 where anything would be. */
export const plan = Command.make(
  "plan",
  { file: fileArgument, config: configFlag, data: dataFlag, output: outputFlag },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const isNamed = chosen.file._tag === "Some" || chosen.config.length > 0
    // What is wrong with the file is told with its lines, before a daemon is asked.
    const files = isNamed ? filesOf(chosen).map((file) => resolve(file)) : []
    if (isNamed) yield* setup(chosen)
    const answer = yield* isNamed ? control(dataDir, "POST", path, { files }) : control(dataDir, "GET", path)
    const running = answer !== undefined
    const planned = toPlan(running ? yield* bodyOf(answer) : yield* stored(chosen, dataDir, isNamed))
    yield* printResult(chosen.output, { running, ...planned }, () => planText(planned, running))
    const { fires } = planned.plan
    if (fires > 0) return yield* failWith("wouldFire", `${fires} ${fires === 1 ? "payment" : "payments"} would be made`)
    return undefined
  }),
).pipe(Command.withDescription("Say what would be paid, and what a changed file would do otherwise; 9 if anything"))

/** Against the database itself: a changed file is compared with the one that lies at the usual place. */
const stored = Effect.fnUntraced(function* (chosen: Chosen, dataDir: string, isNamed: boolean) {
  const found = yield* storedSetup(chosen, dataDir)
  const isOther = isNamed && existsSync(usual) && resolve(found.treasury.file) !== resolve(usual)
  const inForce: InForce | undefined = isOther ? { treasury: yield* loadTreasury(usual), mode: found.mode } : undefined
  const answer = yield* planOf({ plan: found, inForce, asLastSeen: true }).pipe(
    Effect.provide(storeLayer(found)),
    Effect.mapError((error) => failWith("failure", error.message)),
  )
  return JSON.parse(toJson(answer)) as unknown
})
