import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { loadTreasury, type Treasury } from "../../src/config/Treasury.ts"
import { readYaml } from "../../src/config/yaml/Yaml.ts"
import { levelsOf } from "../../src/rules/Rule.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { decodeScenario, type Scenario } from "../../src/sandbox/Scenario.ts"
import { type Body, it } from "../support/it.ts"
import * as Test from "../support/TestClient.ts"
import { withSandbox } from "../support/TestSandbox.ts"

const read = Effect.fnUntraced(function* (name: string) {
  const path = `config/${name}.yaml`
  const treasury = yield* loadTreasury(path)
  const scenario = yield* decodeScenario(treasury.document, treasury.network.chainId)
  return { path, treasury, scenario }
})

/** The script alone, with blocks by hand and nobody who pays. */
const play = <A>(name: string, use: Body<[client: Test.TestClient], never, A>) =>
  Effect.gen(function* () {
    const { text } = yield* readYaml(`config/${name}.yaml`)
    const quiet = text.replaceAll("127.0.0.1:3008", "127.0.0.1:0").replace("rateLimit: on", "rateLimit: off")
    return yield* withSandbox({ text: quiet }, use)
  })

const nodesOf = (reply: Test.Reply, list: string) =>
  (Test.at(reply, `${list}.edges`) as ReadonlyArray<{ readonly node: Record<string, unknown> }>).map(({ node }) => node)

/** Base units that the script takes from or brings to a party in a day, by its regular spenders. */
const perDay = (scenario: Scenario, end: "from" | "to", name: string, assetId: string): bigint => {
  const blocks = BigInt(86_400_000 / scenario.blockIntervalMillis)
  const regular = scenario.spenders.filter((s) => s[end] === name && s.assetId === assetId)
  return regular.reduce(
    (sum, { every }) => sum + (every === undefined ? 0n : (every.amount * blocks) / BigInt(every.blocks)),
    0n,
  )
}

/** What a policy line would have to let through in a day, so that every account stays in its band. */
const demands = (treasury: Treasury, scenario: Scenario) =>
  treasury.policy.lines.map((line) => {
    const levels = treasury.rules.flatMap((rule) =>
      levelsOf(rule).flatMap((level) => {
        if (rule.kind !== "topUp" && rule.kind !== "sweep") return []
        const [from, to] = rule.kind === "topUp" ? [rule.from, level.party] : [level.party, rule.to]
        const covered = line.from.has(from.publicKey) && line.to.has(to.publicKey) && line.assetId === level.asset.id
        return covered
          ? [perDay(scenario, rule.kind === "topUp" ? "from" : "to", level.party.name, level.asset.id)]
          : []
      }),
    )
    return { line, sum: levels.reduce((a, b) => a + b, 0n) }
  })

describe.each(["sandbox", "sandbox-storm", "sandbox-many"])("config/%s.yaml", (name) => {
  it.effect("names the keys that its seed makes, and the assets that its network lists", function* () {
    const { treasury, scenario } = yield* read(name)
    for (const [party, { publicKey }] of treasury.parties) {
      assert.include(scenario.parties, party)
      assert.strictEqual(publicKey, publicKeyOf(scenario.seed, party), party)
    }
    for (const [symbol, { id, decimals }] of treasury.assets) {
      const listed = scenario.assets.find((asset) => asset.id === id)
      assert.deepStrictEqual([listed?.symbol, listed?.decimals], [symbol, decimals])
    }
  })

  it.effect("is allowed to pay what its script asks for on a usual day", function* () {
    const { treasury, scenario } = yield* read(name)
    const all = demands(treasury, scenario)
    assert.isNotEmpty(all)
    for (const { line, sum } of all) {
      assert.isTrue(sum > 0n, `line ${line.line} is for nobody`)
      assert.isTrue(sum <= line.per24h, `line ${line.line}: ${sum} of ${line.per24h}`)
    }
  })
})

describe("config/sandbox-many.yaml", () => {
  const statuses = (client: Test.TestClient) =>
    Effect.map(Test.request(client, "/api/v2/assets"), (reply) =>
      Object.fromEntries(
        nodesOf(reply, "assets").map(({ id, status }) => [
          String(id).slice(0, 8),
          String(status).replace("STATUS_", ""),
        ]),
      ),
    )

  it.live("has fifty parties and a dozen assets at every stage of their listing", function* () {
    const { scenario } = yield* read("sandbox-many")
    assert.isAtLeast(scenario.parties.length, 50)
    const told = yield* play("sandbox-many", function* (client) {
      yield* Test.step(client, 50)
      return yield* statuses(client)
    })
    const count = (status: string) => Object.values(told).filter((word) => word === status).length
    assert.deepStrictEqual(
      ["ENABLED", "PENDING_LISTING", "PROPOSED", "REJECTED"].map(count),
      [7, 1, 2, 2],
      JSON.stringify(told),
    )
  })

  it.live("moves money between parties from the first blocks on, and never into debt", () =>
    play("sandbox-many", function* (client) {
      yield* Test.step(client, 150)
      const ledger = yield* Test.request(client, "/sandbox/ledger")
      const rows = Test.at(ledger, "balances") as ReadonlyArray<{
        name: string | null
        balance: string
        type: string
      }>
      assert.isTrue(rows.every(({ balance }) => BigInt(balance) >= 0n))
      const held = new Set(rows.flatMap((row) => (BigInt(row.balance) > 0n && row.name !== null ? [row.name] : [])))
      const { scenario } = yield* read("sandbox-many")
      assert.deepStrictEqual([...held].sort(), [...scenario.parties].sort())
    }),
  )
})

describe("config/sandbox-storm.yaml", () => {
  it.live("changes the rules of work, and ends epochs after half a minute", () =>
    play("sandbox-storm", function* (client) {
      const rules = Effect.map(Test.request(client, "/blockchain/height"), (reply) =>
        ["height", "spamPowDifficulty", "spamPowNumberOfTxPerBlock", "spamPowNumberOfPastBlocks"].map((key) =>
          Number(Test.at(reply, key)),
        ),
      )
      const seen = [yield* rules]
      for (const blocks of [24, 25, 25, 25]) {
        yield* Test.step(client, blocks)
        yield* Test.request(client, "/sandbox/faults", { method: "DELETE" })
        seen.push(yield* rules)
      }
      assert.deepStrictEqual(seen, [
        [1, 15, 2, 100],
        [25, 12, 1, 100],
        [50, 17, 1, 100],
        [75, 15, 2, 100],
        [100, 15, 2, 60],
      ])
      const { scenario } = yield* read("sandbox-storm")
      assert.deepStrictEqual([scenario.epochLength, scenario.transfersPerEpoch], ["30s", 2])
    }),
  )

  it.effect("has faults of every stage, and only light ones that never end", function* () {
    const { scenario } = yield* read("sandbox-storm")
    assert.isAtLeast(new Set(scenario.faults.map(({ fault }) => fault.kind)).size, 16)
    for (const { fault } of scenario.faults) {
      if (fault.count === undefined && fault.durationMillis === undefined) assert.isAtMost(fault.rate, 0.3)
      else assert.isAtMost(fault.durationMillis ?? 0, 30_000)
    }
  })
})
