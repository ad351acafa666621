import { assert, describe } from "@effect/vitest"
import { it } from "../support/it.ts"
import { aliceKey, assetId, bobKey, type Fields, treasuryFrom } from "../support/treasury.ts"

const load = (alice: Fields, more: Fields = {}) =>
  treasuryFrom({
    name: "t",
    network: { chainId: "c-1", gateways: { node: "https://gateway.example" } },
    assets: { TOK: { id: assetId, decimals: 2 } },
    parties: { alice: { publicKey: aliceKey, signer: { sandbox: "alice" }, ...alice }, bob: { publicKey: bobKey } },
    policy: {
      allow: [{ from: "alice", to: ["bob"], asset: "TOK", perTransfer: "1", per24h: "1", transfersPer24h: 1 }],
    },
    ...more,
  })

describe("the policy's digest", () => {
  it.effect("changes with what a payer keeps, in money and in transfers", function* () {
    const digests = new Set<string>()
    for (const kept of [{}, { floor: { TOK: "1" } }, { floor: { TOK: "2" } }, { transfersKept: 1 }])
      digests.add((yield* load(kept)).policy.digest)
    assert.strictEqual(digests.size, 4)
    const nothing = yield* load({ floor: { TOK: "0" } })
    assert.isTrue(digests.has(nothing.policy.digest), "a floor of zero keeps nothing")
  })
})

describe("hours of a treasury file", () => {
  it.effect("may run over the end of the week", function* () {
    const hours = { times: ["08:00-18:00"], location: "UTC" }
    const weekend = { ...hours, weekdays: "saturday:monday" }
    const rest = { ...hours, weekdays: ["tuesday:friday"] }
    const topUp = { from: "alice", levels: [{ party: "bob", asset: "TOK", below: "1", target: "2" }] }
    const rules = ["weekend", "rest"].map((during) => ({ name: during, topUp, during }))
    const treasury = yield* load({}, { hours: { weekend, rest }, rules })
    const days = treasury.rules.map((one) => ("during" in one ? [...(one.during?.weekdays ?? [])] : []))
    assert.deepStrictEqual(days, [
      [6, 0, 1],
      [2, 3, 4, 5],
    ])
  })
})

describe("alerts of a treasury file", () => {
  it.effect("are repeated after twelve hours, after another time, or never", function* () {
    const repeats = [undefined, "1h", "0s"].map((repeatInterval) => (repeatInterval ? { repeatInterval } : {}))
    const millis: Array<number | undefined> = []
    for (const alerts of repeats) millis.push((yield* load({}, { alerts })).alerting.repeatMillis)
    assert.deepStrictEqual(millis, [43_200_000, 3_600_000, undefined])
  })

  it.effect("leave out a condition that is switched off, whatever its time", function* () {
    const conditions = { stale: { alert: false, after: "1h" }, low_disk: { after: "1h" } }
    const { alerting } = yield* load({}, { alerts: { conditions } })
    assert.deepStrictEqual(
      [...alerting.conditions],
      [
        ["stale", undefined],
        ["low_disk", 3_600_000],
      ],
    )
  })
})
