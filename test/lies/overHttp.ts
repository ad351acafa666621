import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Clock, Effect, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { prepare, runLoops } from "../../src/daemon.ts"
import { daemonLayer } from "../../src/layers.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { decodeScenario } from "../../src/sandbox/Scenario.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { chainId } from "../simulation/Network.ts"
import { emptyDir } from "../support/emptyDir.ts"
import { type Manner, startFront } from "../support/Fronts.ts"
import { casesOf } from "./cases.ts"
import { documentedOf } from "./documented.ts"
import { type Liar, type LieCase, makeLiar, nameOf } from "./LieCase.ts"
import { lieTreasury, restlessScenario } from "./LieTreasury.ts"

const casesMax = 20
const secondsMax = 90
const atOnce = 4

/** Lies that pass, from all over the list. */
const some = (): ReadonlyArray<LieCase> => {
  const passing = casesOf(false).filter(
    (one) => one.setting === "alone" && one.duration !== "for ever" && one.beginning === "midway",
  )
  return Array.from({ length: casesMax }, (_, i) => passing[Math.floor(((i + 0.5) * passing.length) / casesMax)]!)
}

const headerNames = new Map(["X-Block-Height", "X-Block-Timestamp"].map((name) => [name.toLowerCase(), name]))

const lying =
  (liar: Liar): Manner =>
  async ({ method, url }, ask) => {
    const { status, headers, text } = await ask()
    const named = Object.entries(headers).map(([name, value]) => [headerNames.get(name) ?? name, value] as const)
    const told = liar.lie({ method, path: url.pathname }, { status, headers: Object.fromEntries(named), body: text })
    return { status: told.status, headers: told.headers, text: told.body }
  }

/** One case with real sockets, threads and seconds. Undefined: all is right. */
const tryOne = Effect.fnUntraced(function* (one: LieCase, dir: string) {
  const document = yield* parseYaml("lies.yaml", restlessScenario(6))
  const scenario = yield* decodeScenario(document, chainId)
  const network = Sandbox.layer({ dir: undefined, portBusy: "error", clock: "real", scenario })
  return yield* Effect.provide(
    Effect.flatMap(Sandbox, ({ url }) => tryAt(url, one, dir)),
    network,
    { local: true },
  )
})

const tryAt = Effect.fnUntraced(function* (url: string, one: LieCase, dir: string) {
  const liar = makeLiar(one, () => Date.now())
  const front = yield* startFront("only", url)
  front.manner = lying(liar)
  mkdirSync(dir, { recursive: true })
  const treasury = yield* lieTreasury(dir, `gateways: { only: "${front.server.url}" }`)
  const daemon = { treasury, mode: "live" as const, dataDir: dir }
  const services = Layer.merge(daemonLayer(daemon), Logger.layer([]))
  return yield* Effect.provide(judge(liar, daemon), services, { local: true })
})

const judge = Effect.fnUntraced(function* (liar: Liar, daemon: Parameters<typeof runLoops>[0]) {
  const sql = yield* SqlClient.SqlClient
  yield* prepare(daemon)
  const loops = yield* Effect.forkChild(runLoops(daemon))
  const confirmed = (since: number) =>
    Effect.map(
      sql<{ n: number }>`SELECT count(*) AS n FROM intents WHERE state = 'confirmed' AND created_at >= ${since}`,
      (rows) => Number(rows[0]?.n) > 0,
    )
  const until = Effect.fnUntraced(function* <E, R>(isSo: Effect.Effect<boolean, E, R>, seconds: number) {
    const end = (yield* Clock.currentTimeMillis) + seconds * 1_000
    while (!(yield* isSo)) {
      if (loops.pollUnsafe() !== undefined || (yield* Clock.currentTimeMillis) > end) return false
      yield* Effect.sleep(250)
    }
    return true
  })
  const end = Effect.fnUntraced(function* () {
    if (!(yield* until(confirmed(0), 60))) return "silent: no payment before the lie"
    liar.arm()
    const isOver = Effect.sync(() => liar.endedAt() !== undefined)
    if (!(yield* until(isOver, 140))) return "untold: nobody asked for it"
    yield* Effect.sleep(5_000)
    let since = liar.endedAt() ?? 0
    const halts = yield* sql<{ reason: string }>`SELECT reason FROM halts WHERE ended_at IS NULL`
    for (const { reason } of halts) {
      yield* documentedOf(reason)?.perform(join(daemon.dataDir, databaseFile)) ?? Effect.void
      since = yield* Clock.currentTimeMillis
    }
    return (yield* until(confirmed(since), secondsMax)) ? undefined : `silent: no payment within ${secondsMax} s`
  })
  const found = yield* end()
  const exit = loops.pollUnsafe()
  yield* Fiber.interrupt(loops)
  return exit === undefined ? found : `exit: ${exit}`
})

/** Twenty cases over real HTTP, a few at once. Returns how many were wrong. */
export const tryOverHttp = async (tell: (line: string) => void): Promise<number> => {
  const root = emptyDir("cofferer-lies-http-")
  const all = Effect.forEach(
    some(),
    (one, i) =>
      Effect.scoped(tryOne(one, join(root, String(i)))).pipe(
        Effect.map((found) => {
          tell(`case ${one.number}: ${nameOf(one)}: ${found ?? "went on"}`)
          return found
        }),
      ),
    { concurrency: atOnce },
  )
  const found = await Effect.runPromise(all)
  const count = (kind: string) => found.filter((one) => one?.startsWith(kind)).length
  tell(
    `over HTTP: tried ${found.length} exits ${count("exit")} silent stops ${count("silent")} untold ${count("untold")}`,
  )
  return found.filter((one) => one !== undefined).length
}
