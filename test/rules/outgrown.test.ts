import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { outgrown, type PastNeeds } from "../../src/rules/outgrown.ts"
import { type Fields, treasuryFrom } from "../support/treasury.ts"

const [reserve, one, two] = ["a".repeat(64), "b".repeat(64), "e".repeat(64)]
const assetId = "c".repeat(64)
const level = (party: string, target: string) => ({
  ...{ party, asset: "USDT", balance: "free", below: "10_000", target },
})
const harbor = (limits: Fields) =>
  treasuryFrom({
    name: "harbor",
    mode: "live",
    network: { chainId: "c-1", gateways: { node: "http://127.0.0.1:1" } },
    assets: { USDT: { id: assetId, decimals: 0 } },
    parties: {
      reserve: { publicKey: reserve, signer: { sandbox: "reserve" } },
      one: { publicKey: one },
      two: { publicKey: two },
    },
    rules: [{ name: "fund", topUp: { from: "reserve", levels: [level("one", "25_000"), level("two", "20_000")] } }],
    policy: {
      maxFee: "1%",
      allow: [{ from: "reserve", to: ["one", "two"], asset: "USDT", perTransfer: "25_000", ...limits }],
    },
    alerts: { receivers: { log: { log: {} } } },
  })

const hour = 3_600_000
const start = Date.parse("2026-11-02T00:00:00Z")
const paid = (hours: number, amount = 25_000n, subject = "one/USDT"): PastNeeds["payments"][number] => ({
  at: start + hours * hour,
  rule: "fund",
  subject,
  from: reserve,
  to: subject === "one/USDT" ? one : two,
  assetId,
  amount,
})
const held = (hours: number, subject = "two/USDT") => ({ at: start + hours * hour, rule: "fund", subject })

const found = (limits: Fields, past: PastNeeds) => Effect.map(harbor(limits), (treasury) => outgrown(treasury, past))
const usual = { per24h: "150_000", transfersPer24h: 20 }
const six = [0, 3, 6, 9, 12, 15].map((hours) => paid(hours))

describe("limits that the past outgrew", () => {
  it.effect("are told with the top-ups that they are, and that one day needed", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* found(usual, { payments: six, held: [held(16)] }), [
        {
          path: ["policy", "allow", 0, "per24h"],
          message: "150,000 per 24 h is 6 full top-ups; last month needed 7 on one day (2026-11-02)",
        },
      ])
      const lower = yield* found({ per24h: "100_000", transfersPer24h: 5 }, { payments: six, held: [] })
      assert.deepStrictEqual(
        lower.map(({ message }) => message),
        [
          "100,000 per 24 h is 4 full top-ups; last month needed 6 on one day (2026-11-02)",
          "5 transfers per 24 h; last month needed 6 on one day (2026-11-02)",
        ],
      )
    }),
  )

  it.effect.each<[string, PastNeeds]>([
    ["that are just enough", { payments: six, held: [] }],
    ["of which nothing is known", { payments: [], held: [] }],
    ["where what was held was paid within the same day", { payments: six.slice(1), held: [held(5, "one/USDT")] }],
    ["that were reached once in 24 hours at most", { payments: [...six, paid(24.5)], held: [] }],
    ["of what another rule needed", { payments: six, held: [{ ...held(16), rule: "other" }] }],
    ["of payments that no line allows", { payments: [...six, { ...paid(16), to: reserve }], held: [] }],
  ])("are no news %s", ([, past]) => Effect.map(found(usual, past), (none) => assert.deepStrictEqual(none, [])))
})
