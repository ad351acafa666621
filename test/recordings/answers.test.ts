import { assert, describe } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { it, layer } from "../support/it.ts"
import { type Recorded, recordedAnswers } from "../support/Recordings.ts"
import { withoutDate } from "../support/withoutDate.ts"
import { plainReading } from "./plain.ts"
import { metricsLayer, operationOf, replay } from "./replay.ts"

const all = recordedAnswers()
const ours = all.filter((r) => operationOf(r) !== undefined)
const good = ours.filter(({ status, path, method }) => status === 200 && operationOf({ path, method }) !== "missing")
const bad = ours.filter((r) => !good.includes(r))

/** The condition behind every recorded refusal of a request that the adapter makes. */
const conditions: Readonly<Record<string, readonly [condition: string, words: string]>> = {
  "replay same bytes": ["AlreadyKnown", "tx already exists in cache"],
  "JSON replay": ["AlreadyKnown", "tx already exists in cache"],
  "JSON replay after block": ["AlreadyKnown", "tx already exists in cache"],
  "POST /transaction malformed json": ["Rejected", "unexpected EOF"],
  "POST /transaction empty object": ["Ambiguous", "Marshal called with nil"],
  "type TYPE_UNSPECIFIED": ["Rejected", "Invalid TX Type"],
  "asset missing": ["NotFound", "no resource corresponding to this id"],
  "balances no date range": ["Rejected", "date range is required"],
  "balances bad cursor": ["Rejected", "failed to decode after cursor"],
  "balances >1y": ["Rejected", "date range is too long"],
  "balances before 2020": ["Rejected", "date range start must be after 2020-01-01"],
  "balances bad party": ["Rejected", "one or more party id is invalid"],
  "balances end only": ["Rejected", "date range is too long"],
  "balances end<start": ["Rejected", "date range start must be before end"],
  "balances first=0": ["Rejected", "pagination limit must be in range 0-5000"],
  "balances first=5001": ["Rejected", "pagination limit must be in range 0-5000"],
  "balances not hex asset": ["Rejected", "not a valid hex id"],
  transfers: ["Rejected", "unknown transfer direction"],
  "not found": ["Unsupported", "Not Found"],
  "wrong method": ["Unsupported", "Method Not Allowed"],
}
const absent = bad.filter(({ name }) => name.startsWith("transfer by id"))
const refused = bad.filter((r) => !absent.includes(r))

const pairs = (path: string) => [...new URLSearchParams(path.split("?")[1] ?? "")].map((p) => p.join("=")).sort()

describe("recordings", () => {
  it("hold as many answers of each operation as the network gave", () => {
    const counts = new Map<string, number>()
    for (const r of ours) counts.set(operationOf(r)!, (counts.get(operationOf(r)!) ?? 0) + 1)
    assert.deepStrictEqual(Object.fromEntries(counts), {
      accounts: 42,
      asset: 2,
      assets: 217,
      balances: 626,
      height: 597,
      missing: 2,
      parameters: 1,
      submit: 583,
      transfer: 10,
      transfers: 3,
    })
    assert.strictEqual(good.length + absent.length + refused.length, ours.length)
  })
})

layer(metricsLayer)("recorded answers", (it) => {
  const byFile = Map.groupBy(good, ({ file }) => file)
  for (const [file, answers] of byFile) {
    it.effect(`of ${file}: all ${answers.length} decode to the values beside them`, function* () {
      const metrics = yield* Metrics
      for (const recorded of answers) {
        const operation = operationOf(recorded)!
        const { value, asked } = replay(metrics, recorded)
        assert.deepEqual(withoutDate(yield* value), plainReading(operation, recorded), `${file}, ${recorded.name}`)
        if (operation === "balances" || operation === "accounts" || operation === "assets") {
          const sent = [...asked[0]!.searchParams].map((p) => p.join("=")).sort()
          assert.deepStrictEqual(
            sent,
            pairs(recorded.path).filter((p) => !p.startsWith("includeDeleted")),
          )
        }
      }
    })
  }

  it.effect.each(refused.map((r) => [r.name, r] as const))("%s is a condition", function* ([name, recorded]) {
    const error = yield* Effect.flip(replay(yield* Metrics, recorded).value)
    const [condition, words] = conditions[name] ?? assert.fail(`no condition is written down for ${name}`)
    assert.strictEqual(error.reason._tag, condition)
    assert.include(error.message, words)
    assert.isAtMost("detail" in error.reason ? error.reason.detail.length : 0, 256)
  })

  it.effect("every transfer unknown to the ledger is absent, up to its block", function* () {
    assert.strictEqual(absent.length, 6)
    for (const recorded of absent) {
      const sighting = yield* replay(yield* Metrics, recorded).value
      assert.deepStrictEqual(sighting, {
        found: undefined,
        mark: {
          height: BigInt(recorded.headers["X-Block-Height"]!),
          timestamp: BigInt(recorded.headers["X-Block-Timestamp"]!),
        },
        gateway: "recorded",
        agreed: true,
      })
    }
  })

  it.effect("answers from which any byte is missing are never read as whole", function* () {
    const metrics = yield* Metrics
    const sample = good.filter(({ file }) => file === "pages")
    for (const recorded of sample) {
      for (const share of [0, 0.2, 0.5, 0.9]) {
        const text = recorded.text.slice(0, Math.floor((recorded.text.trimEnd().length - 1) * share))
        const exit = yield* Effect.exit(replay(metrics, { ...recorded, text } satisfies Recorded).value)
        assert.isTrue(Exit.isFailure(exit))
      }
    }
  })
})
