import { createHmac } from "node:crypto"
import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { Notification, ReceiverOptions } from "../../src/notify/Channel.ts"
import { it } from "../support/it.ts"
import { allClear, page, sendTo, serverAfter, serviceServer } from "./Services.ts"

const now = Date.UTC(2026, 10, 21, 12, 45, 0)
const secret = Redacted.make

/** What the service got of a page and of its all-clear. */
const told = Effect.fnUntraced(function* (receiver: (url: string) => Omit<ReceiverOptions, "name">) {
  yield* TestClock.setTime(now)
  const service = yield* serviceServer
  const options = { name: "desk", ...receiver(service.url) }
  yield* sendTo(options, page)
  yield* sendTo(options, allClear)
  return service.calls.map(({ method, path, headers, json }) => {
    assert.strictEqual(headers["content-type"], "application/json")
    return { request: `${method} ${path}`, json }
  })
})

describe("a receiver of a service", () => {
  it.effect("gets no unseen character of an outside name", function* () {
    const { calls, url } = yield* serviceServer
    const subject = "\u202eUSDT\u200b"
    const outside = { ...page, subject, detail: "\u2066paid", fields: { symbol: subject, "n\u2067": 1 } }
    const over = { ...allClear, resolves: [{ ...allClear.resolves![0]!, subject }] }
    const receivers: ReadonlyArray<Omit<ReceiverOptions, "name">> = [
      { webhook: { url } },
      { alertmanager: { url } },
      { slack: { url } },
      { discord: { url } },
      { pagerduty: { key: secret("R0UT1NG"), url } },
      { telegram: { token: secret("T"), chat: "1", url } },
    ]
    for (const receiver of receivers) {
      for (const one of [outside, over]) yield* sendTo({ name: "desk", ...receiver }, one)
    }
    assert.lengthOf(calls, 2 * receivers.length)
    for (const { path, text } of calls) assert.notMatch(text, /\p{Cf}/u, path)
    const labels = calls
      .filter(({ path }) => path === "/api/v2/alerts")
      .map(({ json }) => json as ReadonlyArray<object>)
    const [fires, ends] = labels.map(([alert]) => (alert as { readonly labels: object }).labels)
    assert.deepStrictEqual(fires, ends)
  })

  // prometheus/alertmanager, api/v2/openapi.yaml: postableAlerts.
  it.effect("fires and resolves an alert of Alertmanager by equal labels", function* () {
    const labels = {
      alertname: "intent",
      treasury: "harbor",
      severity: "page",
      subject: "r44f",
      alert: "harbor/0a1b2c3d/overdue/r44f",
    }
    assert.deepStrictEqual(yield* told((url) => ({ alertmanager: { url: secret(`${url}/am/`) } })), [
      {
        request: "POST /am/api/v2/alerts",
        json: [
          {
            labels,
            annotations: {
              summary: "page harbor: r44f: no <end> after 10 min & more",
              description: "no <end> after 10 min & more",
            },
            startsAt: "2026-11-21T12:00:00.000Z",
            endsAt: "2026-11-29T12:45:00.000Z",
          },
        ],
      },
      {
        request: "POST /am/api/v2/alerts",
        json: [
          {
            labels,
            annotations: {
              summary: "resolved harbor: r44f: the payment is confirmed",
              description: "the payment is confirmed",
            },
            startsAt: "2026-11-21T12:00:00.000Z",
            endsAt: "2026-11-21T12:45:00.000Z",
          },
        ],
      },
    ])
  })

  it.effect("fires and resolves an alert of Alertmanager by that one's clock where ours is wrong", function* () {
    yield* TestClock.setTime(now)
    const { calls, url, answer } = yield* serviceServer
    const timesAt = Effect.fnUntraced(function* (theirs: string, notification: Notification) {
      calls.length = 0
      answer.headers = { date: theirs }
      yield* sendTo({ name: "desk", alertmanager: { url: secret(url) } }, notification)
      return calls.map(({ json }) => {
        const [alert] = json as ReadonlyArray<{ readonly startsAt: string; readonly endsAt: string }>
        return [alert?.startsAt, alert?.endsAt].join()
      })
    })
    assert.deepStrictEqual(yield* timesAt("Mon, 30 Nov 2026 12:45:00 GMT", page), [
      "2026-11-21T12:00:00.000Z,2026-11-29T12:45:00.000Z",
      "2026-11-21T12:00:00.000Z,2026-12-08T12:45:00.000Z",
    ])
    assert.deepStrictEqual(yield* timesAt("Fri, 20 Nov 2026 12:45:00 GMT", allClear), [
      "2026-11-21T12:00:00.000Z,2026-11-21T12:45:00.000Z",
      "2026-11-20T12:45:00.000Z,2026-11-20T12:45:00.000Z",
    ])
    assert.lengthOf(yield* timesAt("Sat, 21 Nov 2026 12:45:50 GMT", page), 1)
    assert.lengthOf(yield* timesAt("no time", page), 1)
  })

  // developer.pagerduty.com: Events API v2, "Send an alert event".
  it.effect("triggers and resolves at PagerDuty with one dedup_key", function* () {
    assert.deepStrictEqual(yield* told((url) => ({ pagerduty: { key: secret("R0UT1NG"), url } })), [
      {
        request: "POST /v2/enqueue",
        json: {
          routing_key: "R0UT1NG",
          event_action: "trigger",
          dedup_key: "harbor/0a1b2c3d/overdue/r44f",
          payload: {
            summary: "page harbor: r44f: no <end> after 10 min & more",
            source: "harbor",
            severity: "critical",
            timestamp: "2026-11-21T12:00:00.000Z",
            component: "r44f",
            class: "intent",
            custom_details: { intent: "r44f", tries: 3, detail: "no <end> after 10 min & more" },
          },
        },
      },
      {
        request: "POST /v2/enqueue",
        json: { routing_key: "R0UT1NG", event_action: "resolve", dedup_key: "harbor/0a1b2c3d/overdue/r44f" },
      },
    ])
  })

  it.effect("ends twenty alerts of PagerDuty side by side, in the time of one request", function* () {
    const { calls, url } = yield* serverAfter(20)
    const [one] = allClear.resolves ?? []
    const resolves = Array.from({ length: 20 }, (_, n) => ({ ...one!, key: `key ${n}` }))
    yield* sendTo({ name: "desk", pagerduty: { key: secret("R0UT1NG"), url } }, { ...allClear, resolves })
    assert.lengthOf(calls, 20)
  })

  // developer.pagerduty.com: Events API v2, "Send a change event".
  it.effect("reports what nobody has to end as a change, and its end to nobody", function* () {
    const name = "limit_used"
    const event = { ...page, name, severity: "info" } as const
    const { calls, url } = yield* serviceServer
    yield* sendTo({ name: "desk", pagerduty: { key: secret("R0UT1NG"), url } }, event)
    yield* sendTo({ name: "desk", slack: { url } }, { ...allClear, name })
    assert.deepStrictEqual(
      calls.map(({ path, json }) => [path, ...Object.keys(json as object)]),
      [["/v2/change/enqueue", "routing_key", "payload"]],
    )
  })

  // docs.slack.dev: "Sending messages using incoming webhooks", "Formatting message text".
  it.effect("writes to Slack with its markup escaped", function* () {
    const [first, second] = yield* told((url) => ({ slack: { url: secret(`${url}/services/T0/B0/X`) } }))
    const text = "page harbor: r44f: no &lt;end&gt; after 10 min &amp; more"
    assert.deepStrictEqual(first, {
      request: "POST /services/T0/B0/X",
      json: { text, blocks: [{ type: "section", text: { type: "mrkdwn", text, verbatim: true } }] },
    })
    assert.containSubset(second?.json, { text: "resolved harbor: r44f: the payment is confirmed" })
  })

  // core.telegram.org/bots/api: sendMessage.
  it.effect("writes to a chat of Telegram", function* () {
    const calls = yield* told((url) => ({ telegram: { token: secret("123:ABC"), chat: "-100200", url } }))
    assert.deepStrictEqual(calls[0], {
      request: "POST /bot123:ABC/sendMessage",
      json: {
        chat_id: "-100200",
        text: "page harbor: r44f: no <end> after 10 min & more",
        link_preview_options: { is_disabled: true },
      },
    })
    assert.strictEqual(calls.length, 2)
  })

  // discord.com/developers/docs: "Execute Webhook", "Allowed Mentions Object".
  it.effect("writes to Discord and mentions nobody, by the receiver's own text", function* () {
    const text = "{subject} ({kind}, {severity}): {detail} [{fields}]"
    const calls = yield* told((url) => ({ discord: { url: secret(`${url}/api/webhooks/1/T`), text } }))
    assert.deepStrictEqual(calls[0], {
      request: "POST /api/webhooks/1/T",
      json: {
        content: "r44f (intent, page): no <end> after 10 min & more [intent=r44f tries=3]",
        allowed_mentions: { parse: [] },
      },
    })
    assert.containSubset(calls[1]?.json, {
      content: "r44f (intent, resolved): the payment is confirmed [intent=r44f tries=3]",
    })
  })

  it.effect("writes the default text where the receiver's own is empty, which services refuse", function* () {
    const { calls, url } = yield* serviceServer
    yield* sendTo({ name: "desk", slack: { url, text: "{fields}" } }, { ...page, fields: {} })
    assert.containSubset(calls[0]?.json, { text: "page harbor: r44f: no &lt;end&gt; after 10 min &amp; more" })
  })

  it.effect("shows at Discord no link that an outside name spells, and the receiver's own", function* () {
    const { calls, url } = yield* serviceServer
    const text = "[runbook](https://desk.example/{kind}) {subject}"
    yield* sendTo({ name: "desk", discord: { url, text } }, { ...page, subject: "[Approve](https://evil.example)" })
    const content = "[runbook](https://desk.example/intent) [Approve]\\(https://evil.example)"
    assert.containSubset(calls[0]?.json, { content })
  })

  it.effect("signs the body of a webhook with its time", function* () {
    yield* TestClock.setTime(now)
    const service = yield* serviceServer
    const webhook = { url: service.url, secret: secret("KEY"), headers: { "x-token": secret("TOKEN") } }
    yield* sendTo({ name: "desk", webhook }, page)
    yield* sendTo({ name: "desk", webhook }, allClear)
    const [first, second] = service.calls
    const t = String(now / 1_000)
    const v1 = createHmac("sha256", "KEY").update(`${t}.${first?.text}`).digest("hex")
    assert.strictEqual(first?.headers["cofferer-signature"], `t=${t},v1=${v1}`)
    assert.strictEqual(first?.headers["idempotency-key"], page.id)
    assert.strictEqual(first?.headers["x-token"], "TOKEN")
    assert.deepStrictEqual(first?.json, {
      version: 1,
      state: "firing",
      name: "payment_manual",
      count: 1,
      id: "harbor/0a1b2c3d/7/lx",
      key: "harbor/0a1b2c3d/overdue/r44f",
      treasury: "harbor",
      severity: "page",
      kind: "intent",
      subject: "r44f",
      detail: "no <end> after 10 min & more",
      fields: { intent: "r44f", tries: 3 },
      at: "2026-11-21T12:00:00.000Z",
    })
    assert.containSubset(second?.json, { resolves: ["harbor/0a1b2c3d/overdue/r44f"] })
  })

  it.effect("cuts what its service would refuse as too long", function* () {
    yield* TestClock.setTime(now)
    const service = yield* serviceServer
    const long = { ...page, key: `harbor/${"k".repeat(300)}`, detail: `a${"<".repeat(5_000)}\u{1F6A8}` }
    const { url } = service
    const send = (options: Omit<ReceiverOptions, "name">) => sendTo({ name: "desk", ...options }, long)
    yield* send({ slack: { url } })
    yield* send({ discord: { url } })
    yield* send({ telegram: { token: secret("1:A"), chat: "1", url } })
    yield* send({ pagerduty: { key: secret("K"), url } })
    const lengthAt = (call: number, ...path: ReadonlyArray<string | number>): number =>
      String(path.reduce((value, key) => Reflect.get(value as object, key), service.calls[call]?.json)).length
    assert.isAtMost(lengthAt(0, "blocks", 0, "text", "text"), 3_000)
    assert.match(JSON.stringify(service.calls[0]?.json), /^(?!.*&[a-z]*…)/, "no entity is cut in two")
    assert.strictEqual(lengthAt(1, "content"), 2_000)
    assert.strictEqual(lengthAt(2, "text"), 4_096)
    assert.strictEqual(lengthAt(3, "payload", "summary"), 1_024)
    assert.strictEqual(lengthAt(3, "dedup_key"), 64)
  })
})
