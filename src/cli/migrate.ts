import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { Context, Effect, Layer, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { secureDataDir } from "../config/ownFiles.ts"
import { daemonFile } from "../config/yaml/readSources.ts"
import { plural, shellWord } from "../domain/text.ts"
import { databaseLayer } from "../layers.ts"
import { databaseFile } from "../store/database/Database.ts"
import { moveStore } from "../store/database/moveStore.ts"
import { Sql } from "../store/database/Sql.ts"
import { askDaemon } from "./common/client.ts"
import { failWith, printResult } from "./common/output.ts"
import { commonFlags, fileOf, nearPath, runCommand, setup } from "./common/setup.ts"
import { storeText } from "./run/checkedSetup.ts"

const Target = Schema.String.check(
  Schema.isPattern(/^(?:sqlite|postgres:.+)$/, { expected: "sqlite or postgres:FILE" }),
)

export const migrate = Command.make(
  "migrate",
  {
    to: Flag.String("to").pipe(
      Flag.withSchema(Target),
      Flag.withDescription(
        "New place (required): sqlite, or postgres:FILE, where FILE contains the address of the database",
      ),
    ),
    ...commonFlags,
  },
  Effect.fn(function* ({ to, output, ...chosen }) {
    const found = yield* setup(chosen)
    const { treasury, postgresUrlFile } = found
    const urlFile = to === "sqlite" ? undefined : resolve(to.slice("postgres:".length))
    if ((urlFile === undefined) === (postgresUrlFile === undefined)) {
      const kind = urlFile === undefined ? "a SQLite file" : "PostgreSQL"
      return yield* failWith("usage", `the store of ${treasury.name} is ${kind} already, by ${fileOf(chosen)}`)
    }
    const { dir: dataDir } = yield* secureDataDir(found.dataDir)
    if ((yield* askDaemon(dataDir, "/api/v1/status")) !== undefined) {
      return yield* failWith("refused", `a daemon runs in ${dataDir}; stop it first`)
    }
    const file = join(dataDir, databaseFile)
    if (postgresUrlFile === undefined && !existsSync(file)) {
      return yield* failWith("notFound", `there is no database ${file}; nothing to move`)
    }
    const openStore = Effect.fnUntraced(function* (postgresUrlFile: string | undefined) {
      const layer = Layer.fresh(databaseLayer({ treasury, dataDir, postgresUrlFile }, "mover"))
      const place = postgresUrlFile === undefined ? file : `the PostgreSQL of ${postgresUrlFile}`
      return { sql: Context.get(yield* Layer.build(layer), Sql), place }
    })
    const { from, target, moved } = yield* Effect.gen(function* () {
      const [from, target] = [yield* openStore(postgresUrlFile), yield* openStore(urlFile)]
      return { from, target, moved: yield* moveStore(treasury.name, from, target) }
    }).pipe(Effect.catchTag("StoreError", ({ message }) => failWith("failure", storeText(message, dataDir))))
    const result = { treasury: treasury.name, from: from.place, to: target.place, ...moved }
    const written =
      urlFile === undefined ? 'remove "database"' : `write "database: { postgres: { urlFile: ${urlFile} } }"`
    const isShared = urlFile === undefined && treasury.postgresUrlFile === undefined
    const where = isShared
      ? `${daemonFile}, once all of its treasuries are moved,`
      : nearPath(treasury.document.problem(["database"], "", "").file)
    yield* printResult(output, result, () =>
      [
        `moved ${treasury.name} from ${from.place} to ${target.place}`,
        `${plural(moved.rows, "row")} in ${plural(moved.tables, "table")}, each compared; ${moved.entries} journal entries up to ${moved.head.slice(0, 16)}; ${plural(moved.open, "open payment")}`,
        `${from.place} is kept, and no daemon starts on it any more`,
        `now ${written} in ${where}, and start it: "${runCommand(chosen)}"`,
        `nothing is signed before "cofferer recover --reason TEXT --data ${shellWord(nearPath(dataDir))}"`,
      ].join("\n"),
    )
  }, Effect.scoped),
).pipe(Command.withDescription("Move a treasury's store between SQLite and PostgreSQL; stop the daemon first"))
