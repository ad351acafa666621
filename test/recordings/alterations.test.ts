import { isDeepStrictEqual } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { accountTypeNumbers } from "../../src/domain/AccountType.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { type Recorded, recordedAnswers } from "../support/Recordings.ts"
import { metricsLayer, operationOf, replay } from "./replay.ts"

const seed = Number(process.env["COFFERER_TEST_SEED"] ?? 20_261_121)
const count = 200

/** mulberry32: 32 bits of state, the same sequence everywhere. */
const generator = (state: number) => () => {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), state | 1)
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}

type Leaf = string | number | boolean
type Path = ReadonlyArray<string | number>

const leaves = (json: unknown, path: Path = []): ReadonlyArray<{ readonly path: Path; readonly value: Leaf }> => {
  if (typeof json === "string" || typeof json === "number" || typeof json === "boolean") return [{ path, value: json }]
  if (Array.isArray(json)) return json.flatMap((item, i) => leaves(item, [...path, i]))
  if (typeof json !== "object" || json === null) return []
  return Object.entries(json).flatMap(([key, item]) => leaves(item, [...path, key]))
}

const pageInfo = "pageInfo\\.(hasNextPage|hasPreviousPage|startCursor|endCursor)"
const edges = (node: string) => `(edges\\.\\d+\\.(cursor|node\\.${node})|${pageInfo})`
const transfer =
  "(transfer\\.(id|from|fromAccountType|to|toAccountType|asset|amount|reference|status|timestamp|reason)|fees\\.\\d+\\.amount)"
const asset =
  "(id|status|details\\.(name|symbol|decimals|quantum|builtinAsset\\.maxFaucetAmountMint|erc20\\.(contractAddress|lifetimeLimit|withdrawThreshold)))"

/** The fields that the program reads, by operation; everything else in an answer may change unseen. */
const known: Readonly<Record<string, RegExp>> = {
  balances: new RegExp(`^balances\\.${edges("(timestamp|balance|partyId|assetId|marketId|accountType)")}$`),
  accounts: new RegExp(`^accounts\\.${edges("(owner|balance|asset|marketId|type)")}$`),
  assets: new RegExp(`^assets\\.${edges(asset)}$`),
  asset: new RegExp(`^asset\\.${asset}$`),
  transfer: new RegExp(`^transferNode\\.${transfer}$`),
  transfers: new RegExp(`^transfers\\.${edges(transfer)}$`),
  parameters: /^networkParameters\.(edges\.\d+\.node\.(key|value)|pageInfo\.hasNextPage)$/,
  height:
    /^(height|hash|chainId|spamPow(HashFunction|Difficulty|NumberOfPastBlocks|NumberOfTxPerBlock|IncreasingDifficulty))$/,
  submit: /^(success|txHash|code|data|log|height)$/,
  // Of a refusal the words are passed on; of a transfer that is not known, nothing but that.
  refused: /^details\.\d+\.(message|inner)$/,
  absent: /^code$/,
}

const enums = [
  ...Object.keys(accountTypeNumbers),
  ..."ENABLED PROPOSED PENDING_LISTING REJECTED PENDING DONE STOPPED CANCELLED".split(" ").map((s) => `STATUS_${s}`),
  "STATUS_OF_TOMORROW",
]

const alter = (value: Leaf, random: () => number): Leaf | null => {
  const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(random() * items.length)]!
  if (value !== "" && value !== 0 && value !== "0" && value !== false && random() < 0.1) return null
  if (typeof value === "boolean") return !value
  if (typeof value === "number") return value + pick([-1, 1, 7, 1000])
  if (enums.includes(value)) return pick(enums.filter((name) => name !== value))
  if (value === "") return pick(["x", "0", "ff".repeat(32)])
  const at = Math.floor(random() * value.length)
  const alphabet = /^[0-9]+$/.test(value) ? "0123456789" : /^[0-9a-f]+$/.test(value) ? "0123456789abcdef" : "axzAXZ019_"
  const changed = pick([...alphabet].filter((char) => char !== value[at]))
  return value.slice(0, at) + changed + value.slice(at + 1)
}

const replace = (json: unknown, path: Path, value: unknown): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (Array.isArray(json)) return json.map((item, i) => (i === key ? replace(item, rest, value) : item))
  return { ...Object(json), [key]: replace(Object(json)[key], rest, value) }
}

const outcome = (metrics: Metrics["Service"], recorded: Recorded) =>
  Effect.map(Effect.exit(replay(metrics, recorded).value), (exit) =>
    Exit.isSuccess(exit) ? exit.value : exit.cause.reasons.map((r) => (r._tag === "Fail" ? r.error.message : r._tag)),
  )

layer(metricsLayer)("alterations", (it) => {
  it.effect(`of ${count} known fields in recorded answers are all noticed, seed ${seed}`, () =>
    Effect.gen(function* () {
      const metrics = yield* Metrics
      const random = generator(seed)
      const groups = new Map<string, Array<Recorded>>()
      for (const recorded of recordedAnswers()) {
        const operation = operationOf(recorded)
        if (operation === undefined || operation === "missing") continue
        const group = recorded.status === 200 ? operation : operation === "transfer" ? "absent" : "refused"
        groups.set(group, [...(groups.get(group) ?? []), recorded])
      }
      const names = [...groups.keys()]
      assert.sameMembers(names, Object.keys(known))
      const altered = new Set<string>()
      const missed: Array<string> = []
      while (altered.size + missed.length < count) {
        const group = names[Math.floor(random() * names.length)]!
        const answers = groups.get(group)!
        const recorded = answers[Math.floor(random() * answers.length)]!
        const pattern = known[group]!
        const fields = leaves(recorded.body).filter(({ path }) => pattern.test(path.join(".")))
        const field = fields[Math.floor(random() * fields.length)]
        if (field === undefined) continue
        const value = alter(field.value, random)
        const name = `${recorded.file}, ${recorded.name}, ${recorded.path}: ${field.path.join(".")} ${field.value} → ${value}`
        if (altered.has(name)) continue
        const before = yield* outcome(metrics, recorded)
        const text = JSON.stringify(replace(recorded.body, field.path, value))
        const after = yield* outcome(metrics, { ...recorded, text })
        if (isDeepStrictEqual(before, after)) missed.push(name)
        else altered.add(name)
      }
      console.log(`seed ${seed}: ${altered.size} of ${count} alterations noticed`)
      assert.deepStrictEqual(missed, [])
      assert.strictEqual(altered.size, count)
    }),
  )
})
