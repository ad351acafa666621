import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type AlertConfig,
  ConfigInForce,
  decodeAlerts,
  encodeAlerts,
  noLongerPaged,
} from "../../src/config/ConfigInForce.ts"
import type { ReceiverConfig } from "../../src/config/schema/Receivers.ts"
import { watchOnly } from "../support/treasury.ts"

const addresses = { host: "mx.harbor.example", from: "a@harbor.example", to: ["b@harbor.example"] }
const receivers: ReadonlyArray<ReceiverConfig> = [
  { name: "log", log: {} },
  { name: "plain", log: "" },
  { name: "desk", webhook: { url: { file: "/s/url" }, headers: { a: { file: "/s/a" } }, secret: { file: "/s/key" } } },
  { name: "am", alertmanager: { url: "http://alertmanager:9093", allowPrivate: "true" } },
  { name: "slack", slack: { url: { file: "/s/slack" }, text: "{subject}" } },
  { name: "discord", discord: { url: { file: "/s/discord" } } },
  { name: "oncall", pagerduty: { key: { file: "/s/pd" } } },
  { name: "group", telegram: { token: { file: "/s/bot" }, chat: "-1" } },
  { name: "mail", email: { ...addresses, password: { file: "/s/mail" } } },
  { name: "siren", command: { program: "/usr/local/bin/siren", args: ["loud"] } },
]
const alertsOf = (some: ReadonlyArray<ReceiverConfig>): AlertConfig => ({
  receivers: some,
  routes: [{ severities: new Set(["page"]), receivers: some.map(({ name }) => name) }],
})

describe("receivers kept with the terms", () => {
  it("come back as they were, of every kind", () => {
    assert.deepStrictEqual(decodeAlerts(encodeAlerts(alertsOf(receivers))), alertsOf(receivers))
    assert.deepStrictEqual(decodeAlerts("{}"), { receivers: [], routes: [] })
  })

  it("are the same people under another text, and others under another address", () => {
    const slack = (url: string, text: string) => alertsOf([{ name: "slack", slack: { url: { file: url }, text } }])
    assert.deepStrictEqual(noLongerPaged(slack("/a", "{subject}"), slack("/a", "{detail}")), [])
    assert.deepStrictEqual(noLongerPaged(slack("/a", "{subject}"), slack("/b", "{subject}")), ["slack"])
  })
})

describe("a configuration that cannot be stored", () => {
  it.effect("does not come into force", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* watchOnly("http://127.0.0.1:1"), yield* watchOnly("http://127.0.0.1:2")]
      yield* Effect.gen(function* () {
        const { now, replace } = yield* ConfigInForce
        const next = { treasury: second, mode: "observe" } as const
        assert.strictEqual(yield* Effect.flip(replace(next, Effect.fail("full"))), "full")
        assert.strictEqual(now().treasury, first)
        yield* replace(next, Effect.void)
        assert.strictEqual(now().treasury, second)
      }).pipe(Effect.provide(ConfigInForce.layer({ treasury: first, mode: "observe" })))
    }),
  )
})
