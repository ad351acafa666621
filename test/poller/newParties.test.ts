import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { byOneConfig, ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { treasuryOf } from "../../src/config/Treasury.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { eve, type FlowSetup, flow, paid } from "../support/Flow.ts"
import { altered, type Front, startFront } from "../support/Fronts.ts"
import { rounds } from "../support/Intents.ts"
import { it } from "../support/it.ts"
import { deposits } from "../support/LoneLiar.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, usdt } from "../support/TestSandbox.ts"

/** The treasury of a flow without the rules about eve; without her as well. */
const without = ({ treasury: { document } }: DaemonOptions, isGone: boolean) => {
  const value = JSON.parse(JSON.stringify(document.value))
  if (isGone) value.parties.eve = undefined
  value.rules = value.rules.filter((rule: { readonly name: string }) => rule.name === "keep-bob")
  value.policy.allow[0].to = ["bob"]
  return treasuryOf({ ...document, value: JSON.parse(JSON.stringify(value)) })
}

const load = Effect.fnUntraced(function* (treasury: DaemonOptions["treasury"]) {
  yield* (yield* ConfigInForce).replace({ treasury, mode: "live" }, Effect.void)
})

const setup = {
  scenario: { deposits },
  transfersPer24h: 9,
  rules: [
    {
      name: "keep-eve",
      topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "40", target: "60" }] },
    },
    {
      name: "eve-up",
      notify: { when: { change: { party: "eve", asset: "USDT", above: "20", over: "5s" } }, severity: "page" },
    },
  ],
} satisfies FlowSetup

const alerts = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (all) => all.map(({ kind, detail }) => `${kind}: ${detail}`),
)

const balanceOf = (key: string) =>
  Effect.map(
    Effect.flatMap(Observations, (observations) => observations.accounts),
    (all) => all.find(({ party }) => party === key)?.balance,
  )

describe("a party that a changed file names", () => {
  it.effect("begins with the balance that it has, and no mismatch", () =>
    flow(function* (options, world) {
      const before = { ...options, treasury: yield* without(options, true) }
      yield* load(before.treasury)
      yield* byOneConfig(rounds(before, world, 12))
      yield* load(options.treasury)
      yield* byOneConfig(rounds(options, world, 20))
      assert.strictEqual(yield* balanceOf(eve), 50n * one)
      assert.deepStrictEqual(yield* alerts, [], "it had the balance before as well")
      const states = (yield* (yield* RuleStates).all).map(({ rule, reason }) => `${rule} ${reason}`)
      assert.deepStrictEqual(states.toSorted(), ["eve-up in_band", "keep-bob in_band", "keep-eve in_band"])
    }, setup),
  )

  it.effect("is not paid by the balance that it had when it was named last", () =>
    flow(
      function* (options, world, client) {
        const named = { ...options, treasury: yield* without(options, false) }
        yield* load(named.treasury)
        yield* byOneConfig(rounds(named, world, 4))
        const gone = { ...options, treasury: yield* without(options, true) }
        yield* load(gone.treasury)
        const command = payment(client, "eve", 500n * one, { asset: usdt })
        yield* submit(client, signed(client, { from: "dan", command, ...(yield* head(client)) }))
        yield* byOneConfig(rounds(gone, world, 12))
        assert.deepStrictEqual([(yield* paid(world)).length, yield* balanceOf(eve)], [1, 10n * one])
        yield* load(options.treasury)
        yield* byOneConfig(rounds(options, world, 12))
        assert.lengthOf(yield* paid(world), 1)
        assert.strictEqual(yield* balanceOf(eve), 510n * one)
      },
      {
        ...setup,
        scenario: {
          parties: ["alice", "bob", "eve", "dan"],
          deposits: [
            ...deposits.slice(0, 2),
            { party: "eve", asset: "USDT", amount: "10" },
            { party: "dan", asset: "USDT", amount: "900" },
          ],
        },
      },
    ),
  )

  it.effect("begins with nothing where the gateway lists no account of it any more", () => {
    const fronts: Array<Front> = []
    return flow(
      function* (options, world) {
        yield* load(options.treasury)
        yield* byOneConfig(rounds(options, world, 4))
        assert.strictEqual(yield* balanceOf(eve), 50n * one)
        const gone = { ...options, treasury: yield* without(options, true) }
        yield* load(gone.treasury)
        yield* byOneConfig(rounds(gone, world, 4))
        fronts[0]!.manner = altered(
          ({ url }) => url.pathname === "/api/v2/accounts",
          (answer) => {
            const { accounts } = JSON.parse(answer.text)
            const edges = accounts.edges.filter(
              (edge: { readonly node: { readonly owner: string } }) => edge.node.owner !== eve,
            )
            return { ...answer, text: JSON.stringify({ accounts: { ...accounts, edges } }) }
          },
        )
        yield* load(options.treasury)
        yield* byOneConfig(rounds(options, world, 2, new Set(["compare", "decide"])))
        assert.strictEqual(yield* balanceOf(eve), 0n)
      },
      {
        ...setup,
        front: (url) =>
          Effect.map(startFront("closing", url), (front) => {
            fronts.push(front)
            return front.server.url
          }),
      },
    )
  })
})
