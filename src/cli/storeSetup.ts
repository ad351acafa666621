import { existsSync } from "node:fs"
import { join } from "node:path"
import { Cause, Console, Effect, Exit, Option } from "effect"
import { ConfigError, formatProblem } from "../config/ConfigError.ts"
import type { Mode } from "../config/Treasury.ts"
import { treasuryOf } from "../config/Treasury.ts"
import { parseYaml } from "../config/Yaml.ts"
import { databaseFile } from "../store/Database.ts"
import { type StoredNames, storedNames } from "../store/storedNames.ts"
import { failWith } from "./CliFailure.ts"
import { type Chosen, notRunning, type Setup, setup } from "./setup.ts"

/** What a command that only reads works on. */
interface StoreSetup extends Setup {
  /** No file could be read: names come from the store's rows, and there are no rules, levels and limits. */
  readonly fromStore: boolean
}

/** The setup of a data directory whose daemon does not run; where the file is broken, what the store knows of it. */
export const storeSetup = Effect.fnUntraced(function* (chosen: Chosen, dataDir: string) {
  if (!existsSync(join(dataDir, databaseFile))) {
    return yield* notRunning(chosen, dataDir, ", and no database lies there")
  }
  const loaded = yield* Effect.exit(setup({ ...chosen, data: Option.some(dataDir) }))
  if (Exit.isSuccess(loaded)) return { ...loaded.value, fromStore: false } satisfies StoreSetup
  const error = Cause.squash(loaded.cause)
  if (!(error instanceof ConfigError)) return yield* Effect.failCause(loaded.cause)
  const [first] = error.problems
  const more = error.problems.length > 1 ? ` (and ${error.problems.length - 1} more: cofferer check)` : ""
  const broken = first === undefined ? error.message : formatProblem(first)
  yield* Console.error(`warn ${broken.split("\n").join(" ")}${more}; what follows is of the store ${dataDir} alone`)
  return yield* bareSetup(dataDir).pipe(
    Effect.mapError(({ message }) =>
      failWith(
        "failure",
        /database is locked/.test(message) ? `${dataDir} is in use by a process that does not answer` : message,
      ),
    ),
  )
})

const modes: ReadonlyArray<Mode> = ["observe", "shadow", "live"]

/** A treasury of the names alone. It is read by the same code as a file, so that it is as sound as one. */
const bareSetup = Effect.fnUntraced(function* (dataDir: string) {
  const names = yield* storedNames(dataDir)
  const treasury = yield* Effect.flatMap(parseYaml(join(dataDir, databaseFile), bareText(names)), treasuryOf)
  return {
    treasury,
    environment: { dataDir: undefined, listen: undefined, logLevel: undefined, mode: undefined },
    mode: modes.find((mode) => mode === names.mode) ?? "observe",
    dataDir,
    listen: treasury.listen,
    fromStore: true,
  } satisfies StoreSetup
})

/** Every name and every key once: the newest. */
const bareText = ({ treasury, chainId = "unknown", assets, parties }: StoredNames): string => {
  const entries = <A, B>(rows: ReadonlyArray<A>, name: (row: A) => string, value: (row: A) => B) =>
    Object.fromEntries(rows.toReversed().map((row) => [name(row), value(row)]))
  return JSON.stringify({
    version: "1",
    name: treasury,
    mode: "observe",
    network: { chainId, gateways: { unknown: "http://127.0.0.1:1" } },
    assets: entries(
      assets,
      ({ symbol }) => symbol,
      ({ id, decimals }) => ({ id, decimals: String(decimals) }),
    ),
    parties: entries(
      parties,
      ({ name }) => name,
      ({ key }) => ({ publicKey: key }),
    ),
  })
}
