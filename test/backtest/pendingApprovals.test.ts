import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { callCofferer } from "../support/CommandLine.ts"
import { deskText } from "../support/Operators.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("approving")

const key = (digit: string): string => digit.repeat(64)
const treasury = `treasury:
  assets: { TOK: { id: "${"ab".repeat(32)}", decimals: 2 } }
  parties:
    vault: { publicKey: "${key("1")}", signer: { file: nowhere/vault }, floor: { TOK: "100" } }
    till: { publicKey: "${key("2")}" }
    safe: { publicKey: "${key("3")}" }
  rules:
    - { name: fill, topUp: { from: vault, levels: [{ party: till, asset: TOK, below: "100", target: "500" }] } }
    - { name: store, sweep: { from: vault, to: safe, asset: TOK, above: "900", target: "600" } }
  policy:
    allow:
      - { from: vault, to: [till], asset: TOK, perTransfer: "500", per24h: "900", transfersPer24h: 2, approval: desk }
      - { from: vault, to: [safe], asset: TOK, perTransfer: "900", per24h: "900", transfersPer24h: 9, approval: pair }
  approvals:
    ${deskText().replace("approvals: { ", "").replace(/ }$/, "")}
    pair: { need: 1, within: 1h, of: { dora: "${key("0").replace(/0$/, "7")}" } }
`

const play = async (name: string, steps: string, more = "") => {
  const file = join(dir, `${name}.yaml`)
  const rows = steps.trim().replaceAll(/^ */gm, "      ")
  writeFileSync(
    file,
    `${treasury}tests:
  - name: ${name}
    start: "2026-03-02T10:00:00Z"
    balances: { vault: { TOK: "700" }, till: { TOK: "200" }, safe: { TOK: "0" } }
    steps:
      - { at: 10s, set: { till: { TOK: "50" } } }
${rows}
${more}`,
  )
  return callCofferer(["test", file])
}
const fill = "asset: TOK, from: vault, to: till"
const passes = async (name: string, steps: string, more?: string) => {
  const { code, stdout, stderr } = await play(name, steps, more)
  assert.strictEqual(code, 0, `${stderr}${stdout}`)
}

describe("a payment that people must approve, in a test", () => {
  it("waits for two different people, and tells people what the daemon tells them", () =>
    passes(
      "two",
      `- { at: 1m, expect: [{ alert: approval, account: till/TOK, because: "fill: 450.00 TOK vault -> till waits for 2 of ana, ben, chloe, until 2026-03-02 14:00 UTC" }] }
       - { at: 2m, approve: { by: [ben] } }
       - { at: 3m, approve: { by: [ben] }, expect: [{ waits: "450", ${fill}, by: [ben] }] }
       - { at: 4m, approve: { by: [ana], pays: "450", ${fill}, rule: fill }, expect: [{ pays: "450", ${fill} }, { alert: approval, because: is approved by ana and ben }] }
       - { at: 5m, expect: [{ balance: "500", account: till/TOK }, { rule: fill, holds: in_band }] }`,
      "    ends: { payments: 1, alerts: 2 }\n",
    ))

  it("has money and limits set aside from its decision on", () =>
    passes(
      "aside",
      `- { at: 1m, set: { vault: { TOK: "1_200" } } }
       - { at: 2m, expect: [{ rule: store, holds: awaiting_approval }, { waits: "450", ${fill} }] }
       - { at: 3m, approve: { by: [ana, chloe] }, expect: [{ pays: "450", ${fill} }] }
       - { at: 4m, set: { till: { TOK: "0" } } }
       - { at: 5m, expect: [{ rule: fill, holds: limit, because: "450 of 900 TOK in 24 h are used; 500.00 TOK more" }] }`
        .replace("450 of 900 TOK", "450 of 900")
        .replace("500.00 TOK more", "500 more"),
    ))

  it("lapses after its time, with a warning before, and is decided again", () =>
    passes(
      "lapse",
      `- { at: 1m, approve: { by: [ana] } }
       - { at: 181m, expect: [{ alert: approval }, { alert: approval, because: "ana approved; waits for 1 of ben, chloe, until 2026-03-02 14:00 UTC: the time ends soon" }] }
       - { at: 239m, set: { till: { TOK: "60" } }, expect: [{ waits: "450", ${fill}, by: [ana] }] }
       - { at: 241m, expect: [{ expires: "450", ${fill}, rule: fill }, { alert: approval, because: "the approval lapsed: 1 of 2 had signed" }, { waits: "440", ${fill}, by: [] }] }`,
      "    ends: { payments: 0, alerts: 4 }\n",
    ))

  it("is called off by people, and then decided anew", () =>
    passes(
      "reject",
      `- { at: 1m, reject: { rule: fill } }
       - { at: 2m, expect: [{ alert: approval }, { alert: approval, because: people called it off }, { waits: "450", ${fill} }] }`,
    ))

  it("is not signed while money is paused, and too late after it", () =>
    passes(
      "paused",
      `- { at: 1m, pause: { scope: "party:till" }, approve: { by: [ana, ben] } }
       - { at: 2m, expect: [{ rule: fill, holds: paused }] }
       - { at: 4m, resume: all, expect: [{ rule: fill, holds: paused }] }
       - { at: 239m, resume: "party:till", expect: [{ pays: "450", ${fill} }] }
       - { at: 240m, set: { till: { TOK: "50" }, vault: { TOK: "800" } } }
       - { at: 241m, approve: { by: [ana, ben] }, halt: a drill }
       - { at: 482m, resume: all, set: { till: { TOK: "200" } } }
       - { at: 483m, expect: [{ alert: approval, because: the approval lapsed before it was signed }] }`,
      "    ends: { payments: 1 }\n",
    ))

  it("waits if the payer spent the money, and is signed later", () =>
    passes(
      "floor",
      `- { at: 1m, set: { vault: { TOK: "500" } } }
       - { at: 2m, approve: { by: [ana, ben] } }
       - { at: 150s, expect: [{ rule: fill, holds: in_flight }] }
       - { at: 10m, set: { vault: { TOK: "5_000" } } }
       - { at: 11m, expect: [{ pays: "450", ${fill} }] }`,
      "    ends: { payments: 1 }\n",
    ))

  it("is approved by itself where the test says after how long", () =>
    passes(
      "after",
      `- { at: 5m, expect: [{ waits: "450", ${fill}, by: [] }] }
       - { at: 11m, expect: [{ pays: "450", ${fill} }, { alert: approval, because: "is approved after 10 min" }] }`,
      "    approvedAfter: 10m\n    ends: { payments: 1 }\n",
    ))

  it("fails the test where it is not as expected, with what came instead", async () => {
    const fails = async (step: string, ...says: ReadonlyArray<RegExp>) => {
      const { code, stdout } = await play("fails", `- ${step}`)
      assert.strictEqual(code, 1, stdout)
      for (const one of says) assert.match(stdout, one)
    }
    await fails(
      `{ at: 1m, expect: [{ pays: "450", ${fill} }] }`,
      /got {7}nothing was paid up to 1 min/,
      /why {7}fill till\/TOK holds: awaiting approval, 450.00 TOK waits for approval/,
    )
    await fails(
      `{ at: 1m, expect: [{ waits: "440", ${fill} }] }`,
      /expected {2}440 TOK vault -> till waits for approval\n {4}got {7}450.00 TOK vault -> till by fill, nobody has signed, until 2026-03-02 14:00Z/,
    )
    await fails(
      `{ at: 1m, approve: { by: [ana], pays: "440", ${fill} } }`,
      /fails.yaml:\d+:\d+ {2}at 1 min\n {4}expected {2}what waits \(440 TOK from vault to till\) is approved by ana\n {4}got {7}another payment waits: fill: 450.00 TOK vault -> till/,
    )
    await fails("{ at: 1s, approve: { by: [ana] } }", /got {7}nothing waits for approval/)
    await fails("{ at: 241m, approve: { by: [dora] } }", /dora is not of desk, which asks 2 of ana, ben, chloe/)
    await fails(`{ at: 1m, expect: [{ expires: "450", ${fill} }] }`, /got {7}no approval lapsed up to 1 min/)
  })

  it("is told with its line where a step names nobody's name", async () => {
    const { code, stderr } = await play("names", "- { at: 1m, approve: { by: [bem], from: vaul, pays: '5' } }")
    assert.strictEqual(code, 3)
    assert.match(stderr, /names.yaml:\d+:\d+ {2}.*"bem" is not an operator; did you mean "ben"\?/)
    assert.match(stderr, /"vaul" is not a party; did you mean "vault"/)
    assert.match(stderr, /pays has no asset; add asset/)
  })
})
