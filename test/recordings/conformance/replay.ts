import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { type NetworkState, NetworkStateText, readNetworkState } from "../../../src/sandbox/state/NetworkState.ts"
import * as Test from "../../support/TestClient.ts"
import { scenarioText, withSandbox } from "../../support/TestSandbox.ts"
import { waitUntil } from "../../support/until.ts"
import { type Difference, differences } from "./compare.ts"
import { atPages, beforeCommands, beforeSubmissions } from "./states.ts"

/** A recorded request and how the sandbox's answer to it differs. */
export interface Compared {
  readonly file: string
  readonly name: string
  readonly differences: ReadonlyArray<Difference>
}

// biome-ignore lint/suspicious/noExplicitAny: recorded answers are taken as they stand
type Json = Record<string, any>

const data = (file: string): ReadonlyArray<Json> =>
  JSON.parse(readFileSync(new URL(`../data/${file}.json`, import.meta.url), "utf8"))

/** The sandbox has no block explorer. */
const isOfExplorer = ({ url }: Json): boolean => pathOf(String(url)).startsWith("/rest/")

/** Recorded reads of the node. */
const reads = (file: string): ReadonlyArray<Json> => data(file).filter((entry) => !isOfExplorer(entry))

const pathOf = (url: string): string => url.replace(/^http:\/\/127\.0\.0\.1:[0-9]+/, "")

/** Sends a recorded request again and compares status, body, and where it was told the type of the body. */
const again = (client: Test.TestClient, recorded: Json) =>
  Effect.gen(function* () {
    const { method, url, request, name } = recorded
    const sent = lostBodies.get(name) ?? (request === null || request === undefined ? undefined : bodyOf(request))
    const reply = yield* Test.request(client, pathOf(url), { method, ...(sent === undefined ? {} : { body: sent }) })
    const status = differences(recorded["status"], reply.status, "HTTP status")
    const found = reply.json === undefined ? reply.text : reply.json
    return [...status, ...differences(sorted(recorded["body"]), sorted(found))]
  })

const bodyOf = (request: unknown): string => (typeof request === "string" ? request : JSON.stringify(request))

/** Bodies that are not JSON, or empty: the recorder kept their answers alone. */
const lostBodies = new Map([
  ["POST /transaction malformed json", '{"tx": '],
  ["POST /transaction empty object", "{}"],
])

/** The network tells its proof-of-work states in any order. */
const sorted = (body: unknown): unknown => {
  const states = (body as Json | null)?.["statistics"]?.["pow"]?.["blockStates"]
  if (!Array.isArray(states)) return body
  const copy = structuredClone(body) as Json
  copy["statistics"]["pow"]["blockStates"].sort(
    (a: Json, b: Json) => Number(a["blockHeight"]) - Number(b["blockHeight"]),
  )
  return copy
}

/** A network that begins with a state, read from a file as the command line reads it, with its clock at that time. */
export const withState = <A, E>(state: NetworkState, use: (client: Test.TestClient) => Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const dir = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "cofferer-state-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
    )
    const file = join(dir, "state.json")
    writeFileSync(file, yield* Schema.encodeEffect(NetworkStateText)(state))
    const read = yield* readNetworkState(file)
    yield* TestClock.setTime(Number(state.time / 1_000_000n) + 500)
    const text = scenarioText({ parties: [], deposits: [] })
    return yield* withSandbox({ text, state: read }, use)
  }).pipe(Effect.scoped)

/** Makes blocks until the newest has this height; each at the time that `timeOf` gives, in Unix milliseconds. */
const stepTo = (client: Test.TestClient, height: number, timeOf?: (height: number) => number) =>
  Effect.gen(function* () {
    let at = (yield* Test.head(client)).height
    while (at < height) {
      if (timeOf === undefined) yield* TestClock.adjust("400 millis")
      else yield* TestClock.setTime(timeOf(at + 1))
      at = yield* Test.step(client)
    }
  })

const compared = (file: string, name: string, found: ReadonlyArray<Difference>): Compared => ({
  file,
  name,
  differences: found,
})

export const replaySubmissions = withState(beforeSubmissions(), (client) =>
  Effect.gen(function* () {
    const results: Array<Compared> = []
    for (const entry of data("submissions")) {
      const { name, response, meta, inclusion } = entry
      yield* stepTo(client, Number(meta?.["height"]?.["height"] ?? 0))
      if (name.endsWith("after block")) yield* stepTo(client, Number(inclusion["block"]))
      const answer = yield* Effect.forkChild(again(client, { ...response, name }))
      if (response["request"]?.["type"] === "TYPE_COMMIT") {
        yield* untilWaiting(client)
        yield* stepTo(client, Number(inclusion["block"]))
      }
      results.push(compared("submissions", name, yield* Fiber.join(answer)))
    }
    return results
  }),
)

/** Waits until the mempool holds what was sent. */
const untilWaiting = (client: Test.TestClient): Effect.Effect<void, Test.NoAnswer> =>
  waitUntil(
    "a transaction in the mempool",
    Effect.map(Test.request(client, "/sandbox/ledger"), (reply) => Test.at(reply, "mempool.0") !== undefined),
  )

export const replayPages = withState(atPages(), (client) =>
  Effect.forEach(reads("pages"), (entry) =>
    Effect.map(again(client, entry), (found) => compared("pages", entry["name"], found)),
  ),
)

/** Moments that the recordings tell, as height and Unix milliseconds; between them blocks come evenly. */
const moments: ReadonlyArray<readonly [number, number]> = [
  [1_662, 1_795_221_045_700],
  [1_663, 1_795_221_046_317],
  [1_666, 1_795_221_047_943],
  [1_671, 1_795_221_051_144],
  [1_675, 1_795_221_054_269],
  [1_678, 1_795_221_055_886],
  [1_682, 1_795_221_059_063],
  [1_683, 1_795_221_059_656],
  [1_685, 1_795_221_060_673],
  [1_702, 1_795_221_075_321],
]

export const recordedTime = (height: number): number => {
  const after = moments.findIndex(([known]) => known >= height)
  const [high, until] = moments[after] ?? moments[moments.length - 1]!
  const [low, from] = moments[Math.max(0, after - 1)]!
  return high === low ? until : Math.round(from + ((until - from) * (height - low)) / (high - low))
}

/** Sends the commands at their heights, then reads the pages. `meanwhile` may look on. */
export const replayCommands = withState(beforeCommands(), (client) => commandsThrough(client))

const commandsThrough = (client: Test.TestClient) =>
  Effect.gen(function* () {
    const results: Array<Compared> = []
    for (const { name, height, response } of data("commands")) {
      yield* stepTo(client, Number(height["height"]), recordedTime)
      results.push(compared("commands", name, yield* again(client, { ...response, name })))
    }
    yield* stepTo(client, 1_702, recordedTime)
    for (const entry of reads("command-pages")) {
      results.push(compared("command-pages", entry["name"], yield* again(client, entry)))
    }
    return results
  })
