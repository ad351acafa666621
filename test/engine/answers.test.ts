import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { eve, flow, paid, pass, round, states } from "../support/Flow.ts"
import { tether, vegaAsset } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"

/** Fills one of two accounts after the other. */
const file = join(tempDir("engine-answers"), "rules.ts")
writeFileSync(
  file,
  `import type { Rules, Seen } from "cofferer/rules"

const fill = ({ balances, one }: Seen) => {
  const low = (["bob", "eve"] as const).find((name) => balances[\`\${name}/USDT\`] < 100n * one)
  return low && { to: low, pay: 150n * one - balances[\`\${low}/USDT\`] }
}

export const rules: Rules = [
  {
    name: "fill",
    code: {
      accounts: ["bob", "eve"].map((party) => ({ party, asset: "USDT" })),
      from: "alice",
      to: ["bob", "eve"],
      asset: "USDT",
      need: fill,
    },
    onNoData: "zero",
  },
]
`,
)

const still = { topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "0.000001", target: "1" }] } }
const deposits = [
  { party: "alice", asset: "USDT", amount: "1_000" },
  { party: "bob", asset: "USDT", amount: "50" },
  { party: "eve", asset: "USDT", amount: "500", block: 60 },
]

describe("a rule whose code pays one receiver after the other", () => {
  it.effect("drops the second payment once nobody needs it any more", () =>
    flow(
      function* (options, sandbox) {
        const outbox = yield* Outbox
        const toEve = Effect.map(outbox.recent(10), (all) => all.find(({ payment }) => payment.toKey === eve))
        while ((yield* states)[0] !== "confirmed") yield* round(options, sandbox)
        const unsent = round(options, sandbox, new Set(["submit"]))
        while ((yield* toEve) === undefined) yield* unsent
        // Meanwhile somebody else fills eve's account.
        yield* pass(sandbox, 330, unsent)
        for (let i = 0; i < 5; i++) yield* round(options, sandbox)
        assert.deepInclude(yield* toEve, { state: "cancelled" } as const)
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { rules: [file], keepBob: still, scenario: { deposits, assets: [tether, vegaAsset] } },
    ),
  )
})
