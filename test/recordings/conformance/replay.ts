import { readFileSync } from "node:fs"
import { hexToBytes } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decodeTransaction } from "../../../src/tx/Transaction.ts"
import type { Body } from "../../support/it.ts"
import * as Test from "../../support/TestClient.ts"
import { scenarioText, withSandbox } from "../../support/TestSandbox.ts"
import { type Difference, differences } from "./compare.ts"
import { applyState, type NetworkState, scenarioOfState } from "./NetworkState.ts"
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

/** Paths of a network that the daemon never asks for, and the sandbox has not. */
const leftOut =
  /^\/(rest\/|health|statistics|api\/v2\/(asset\/|deposits|info|vega\/time|network\/parameters\/|transfers\/))/

/** Recorded reads of what the sandbox has; of a wrong method it says what it says of an unknown path. */
const reads = (file: string): ReadonlyArray<Json> =>
  data(file).filter(({ name, url }) => name !== "wrong method" && !leftOut.test(pathOf(String(url))))

const pathOf = (url: string): string => url.replace(/^http:\/\/127\.0\.0\.1:[0-9]+/, "")

/** Sends a recorded request again and compares status, body, and where it was told the type of the body. */
const again = Effect.fnUntraced(function* (client: Test.TestClient, recorded: Json) {
  const { method, url, request, name } = recorded
  const sent = lostBodies.get(name) ?? (request === null || request === undefined ? undefined : bodyOf(request))
  const reply = yield* Test.request(client, pathOf(url), { method, ...(sent === undefined ? {} : { body: sent }) })
  const status = differences(recorded["status"], reply.status, "HTTP status")
  const found = reply.json === undefined ? reply.text : reply.json
  return [...status, ...differences(told(recorded["body"]), found)]
})

const bodyOf = (request: unknown): string => (typeof request === "string" ? request : JSON.stringify(request))

/** Bodies that are not JSON, or empty: the recorder kept their answers alone. */
const lostBodies = new Map([
  ["POST /transaction malformed json", '{"tx": '],
  ["POST /transaction empty object", "{}"],
])

/** The sandbox has no validators. */
const told = (body: unknown): unknown => {
  const epoch = (body as Json | null)?.["epoch"]
  return epoch === undefined ? body : { epoch: { ...epoch, validators: [] } }
}

/** A network that begins with a state, with its clock at that time. */
export const withState = <A>(state: NetworkState, use: Body<[client: Test.TestClient], never, A>) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Number(state.time / 1_000_000n) + 500)
    return yield* withSandbox(
      {
        text: scenarioText({ parties: [], deposits: [] }),
        change: (scenario) => scenarioOfState(scenario, state),
        begin: (chain) => applyState(chain, state),
      },
      use,
    )
  })

/** Makes blocks until the newest has this height; each at the time that `timeOf` gives, in Unix milliseconds. */
const stepTo = Effect.fnUntraced(function* (
  client: Test.TestClient,
  height: number,
  timeOf?: (height: number) => number,
) {
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

/** What was sent as serialised bytes, as the JSON of the same transaction; undefined where the bytes hold none. */
const asJson = (hex: string): string | undefined => {
  const tx = decodeTransaction(hexToBytes(hex))
  if (tx === undefined || tx.from.case !== "pubKey") return undefined
  const { inputData, signature, pow, from, version } = tx
  return JSON.stringify({
    tx: {
      inputData: Buffer.from(inputData).toString("base64"),
      signature,
      pubKey: from.value,
      version,
      ...(pow === undefined ? {} : { pow: { tid: pow.tid, nonce: String(pow.nonce) } }),
    },
  })
}

/** The code of a raw submission and its words, which it has as hex. */
const saidRaw = ({ code, data: hex, details }: Json): unknown =>
  code === 0 || hex !== undefined ? [code, Buffer.from(hex, "hex").toString()] : details?.[0]?.message

/** Sends bytes again as JSON: code and words are to be the same. Whoever did not wait for the check heard neither. */
const againAsJson = (client: Test.TestClient, body: string, recorded: Json) =>
  Effect.map(Test.request(client, "/transaction", { body }), ({ json }) => {
    const found = json as Json
    const isHeard = recorded["request"]?.["type"] === "TYPE_SYNC"
    const said = found["txHash"] === undefined ? found["details"]?.[0]?.message : [found["code"], found["data"]]
    return isHeard ? differences(saidRaw(recorded["body"]), said) : []
  })

export const replaySubmissions = withState(beforeSubmissions(), function* (client) {
  const results: Array<Compared> = []
  for (const entry of data("submissions")) {
    const { name, response, meta, inclusion } = entry
    if (leftOut.test(pathOf(String(response["url"])))) continue
    const raw = pathOf(String(response["url"])).startsWith("/transaction/raw")
    const json = raw ? asJson(entry["tx_bytes"]) : undefined
    yield* stepTo(client, Number(meta?.["height"]?.["height"] ?? 0))
    if (name.endsWith("after block")) yield* stepTo(client, Number(inclusion["block"]))
    // A check alone is not to enter the mempool, and what names no type is not submitted.
    if (raw && (json === undefined || /check|UNSPECIFIED/.test(name))) continue
    const found = yield* json === undefined ? again(client, { ...response, name }) : againAsJson(client, json, response)
    if (response["request"]?.["type"] === "TYPE_COMMIT") yield* stepTo(client, Number(inclusion["block"]))
    results.push(compared("submissions", name, found))
  }
  return results
})

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

const recordedTime = (height: number): number => {
  const after = moments.findIndex(([known]) => known >= height)
  const [high, until] = moments[after] ?? moments[moments.length - 1]!
  const [low, from] = moments[Math.max(0, after - 1)]!
  return high === low ? until : Math.round(from + ((until - from) * (height - low)) / (high - low))
}

/** Sends the commands at their heights, then reads the pages. */
export const replayCommands = withState(beforeCommands(), function* (client) {
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
