import { assert, describe, it } from "@effect/vitest"
import { type AlertConfig, decodeAlerts, encodeAlerts, noLongerPaged } from "../../src/config/ConfigInForce.ts"
import type { ReceiverConfig } from "../../src/config/schema/Receivers.ts"

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
