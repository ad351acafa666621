import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { logBalanceChanges } from "../../src/poller/BalancePoller.ts"
import { layerLogging } from "../../src/telemetry/Logging.ts"
import { it } from "../support/it.ts"
import { aliceKey, assetId, watchOnly } from "../support/treasury.ts"

/** The line of a balance that a reading from the block after `height` up to `upTo` showed. */
const lineOf = Effect.fnUntraced(function* (timestamp: bigint, height: bigint, upTo: bigint) {
  const lines: Array<string> = []
  const destination = { write: (line: string) => void lines.push(line) }
  const treasury = yield* watchOnly("http://127.0.0.1:1")
  const row = { timestamp, balance: 500n, party: aliceKey, asset: assetId, market: "", type: "ACCOUNT_TYPE_GENERAL" }
  yield* logBalanceChanges(treasury, [{ before: 200n, row }], { after: { timestamp: 1_000n, height }, upTo }).pipe(
    Effect.provide(layerLogging({ level: "Info", format: "text", destination, startedAt: 0 })),
  )
  return lines.join("").replace(/^.*? s {2}/, "")
})

describe("the line of a balance", () => {
  it.effect.each([
    ["names its block where one was read", 1_000n, 13n, 14n, "block 14   5.00 TOK   +3.00"],
    ["names the blocks that were read at once", 1_500n, 9n, 14n, "block 10 to 14   5.00 TOK   +3.00"],
    ["says that it came late", 900n, 9n, 14n, "block 14 or before   5.00 TOK   +3.00"],
    ["names no block where no heights are told", 1_500n, 9n, 0n, "5.00 TOK   +3.00"],
  ] as const)("%s", function* ([, at, height, upTo, words]) {
    assert.strictEqual(yield* lineOf(at, height, upTo), `balance    alice   ${words}\n`)
  })
})
