import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type * as Test from "../../support/TestClient.ts"
import { listening, openStream, type TestStream } from "../../support/TestStream.ts"
import { differences } from "./compare.ts"
import { type Compared, commandsThrough, withState } from "./replay.ts"
import { beforeCommands } from "./states.ts"

// biome-ignore lint/suspicious/noExplicitAny: recorded frames are taken as they stand
type Json = Record<string, any>

const lines: ReadonlyArray<Json> = readFileSync(new URL("../data/streams.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line))

const silent = "event bus without a first message"

/** What a frame holds, one by one: how a block's news is cut into frames is a matter of speed. */
const itemsOf = (frame: unknown): ReadonlyArray<Json> => {
  const result = (frame as Json)["result"] ?? {}
  return [
    ...(result["snapshot"]?.["accounts"] ?? []),
    ...(result["updates"]?.["accounts"] ?? []),
    ...(result["transactionResults"] ?? []),
    ...(result["events"] ?? []),
  ]
}

/** The block of an event stands in its id; the place within it is the network's own. */
const blockOf = (item: Json): string => String(item["id"] ?? "").split("-")[0]!

/** What no transaction caused carries the hash of its block in the place of one. */
const canonical = (item: Json): Json => {
  if (!/^\d+-\d+$/.test(item["id"] ?? "")) return item
  return { ...item, id: blockOf(item), ...(item["txHash"] === item["block"] ? { txHash: "the block's own" } : {}) }
}

const own = /"(block|timestamp)":"[^"]*"/g

/** In the order of blocks, and within a block in an order that both sides have. */
const ordered = (items: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  items
    .map((item) => canonical(item))
    .map((item) => ({ item, key: `${blockOf(item).padStart(9)} ${JSON.stringify(item).replace(own, "")}` }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item)

const recordedItems = (stream: string): ReadonlyArray<Json> =>
  lines.flatMap((line) => (line["stream"] === stream && line["frame"] !== undefined ? itemsOf(line["frame"]) : []))

/** Takes frames until they hold as much as the recorded ones did. */
const takeItems = (stream: TestStream, count: number) =>
  Effect.gen(function* () {
    const items: Array<Json> = []
    while (items.length < count) items.push(...(yield* stream.take(1)).flatMap(itemsOf))
    return [...items, ...(yield* stream.rest).flatMap(itemsOf)]
  })

/** Opens the streams that were recorded, sends the recorded commands, and compares all that each stream said. */
export const replayStreams = withState(beforeCommands(), (client: Test.TestClient) =>
  Effect.scoped(
    Effect.gen(function* () {
      const opened = yield* Effect.forEach(
        lines.filter((line) => line["event"] === "open"),
        (line) =>
          Effect.gen(function* () {
            const stream = yield* openStream(client, line["path"])
            if (line["sent"] !== null) yield* stream.send(line["sent"])
            return { name: String(line["stream"]), stream }
          }),
      )
      const speaking = opened.filter(({ name }) => name !== silent)
      yield* listening(client, speaking.length)
      const waiting = opened.find(({ name }) => name === silent)
      yield* TestClock.adjust("5 seconds")
      const [code] = waiting === undefined ? [] : yield* waiting.stream.ended
      yield* commandsThrough(client)
      const closed = lines.find((line) => line["stream"] === silent && line["event"] === "close")?.["code"]
      const results: Array<Compared> = [
        { file: "streams", name: silent, differences: differences(closed, code, "close code") },
      ]
      for (const { name, stream } of speaking) {
        const recorded = recordedItems(name)
        const items = yield* takeItems(stream, recorded.length)
        results.push({ file: "streams", name, differences: differences(ordered(recorded), ordered(items)) })
      }
      return results
    }),
  ),
)
