import { createHash, createHmac } from "node:crypto"
import { Redacted } from "effect"
import { dayMillis } from "../domain/Time.ts"
import {
  type AlertIdentity,
  cut,
  jsonOf,
  type Notification,
  plain,
  type ReceiverOptions,
  stateOf,
  subjectText,
  textOf,
} from "./Channel.ts"

/** One request; the body is JSON already, since a signature is over its bytes. */
export interface Post {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  /** True if the service judges the times in it by a clock of its own. */
  readonly isTimed?: true
}

type HttpKind = Exclude<keyof ReceiverOptions, "name" | "log" | "email" | "command">
type Options = { readonly [K in HttpKind]-?: NonNullable<ReceiverOptions[K]> }

/** Requests that tell one service of a notification, in any order; none where the service needs not know. */
type Service<O> = (options: O, notification: Notification, now: number) => ReadonlyArray<Post>

const headersOf = (headers: Readonly<Record<string, Redacted.Redacted>> = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, Redacted.value(value)]))

const under = (url: string, path: string): string => `${url.replace(/\/+$/, "")}${path}`

/**
 * Time for which Alertmanager shows an alert that is not resolved; its own default is 5 min. Longer than the week after
 * which the last all-clear of an event is sent, and than the day after which a lasting alert is repeated. The page of
 * the store comes hourly, and its all-clear needs a process.
 */
const shownMillis = (notification: Notification): number => {
  if (notification.name === "store_unwritable") return dayMillis / 12
  return (stateOf(notification) === "event" ? 1 : 8) * dayMillis
}

const labelsOf = (treasury: string, { key, severity, kind, subject }: AlertIdentity) => ({
  alertname: kind,
  treasury,
  severity,
  subject,
  alert: key,
})

/** PagerDuty's keys have at most 255 characters. */
const dedupKey = ({ key }: AlertIdentity): string =>
  key.length <= 255 ? key : createHash("sha256").update(key).digest("hex")

const pagerdutySeverities = { page: "critical", ticket: "warning", info: "info" } as const

/** Markup of Slack begins with one of these, mentions included. */
const slackText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** Discord hides an address behind words: [words](address). Only the receiver's own text may. */
const unlinked = (value: string): string => value.replaceAll("](", "]\\(")

/** How the requests of each service look. */
const services: { readonly [K in HttpKind]: Service<Options[K]> } = {
  webhook: ({ url, headers, secret, text }, notification, now) => {
    const body = JSON.stringify(jsonOf(notification, text))
    const t = Math.floor(now / 1_000)
    const v1 = secret && createHmac("sha256", Redacted.value(secret)).update(`${t}.${body}`).digest("hex")
    const signature = v1 === undefined ? {} : { "Cofferer-Signature": `t=${t},v1=${v1}` }
    return [
      { url: plain(url), headers: { ...headersOf(headers), "Idempotency-Key": notification.id, ...signature }, body },
    ]
  },

  alertmanager: ({ url, headers, text }, notification, now) => {
    const { treasury, resolves } = notification
    const annotations = { summary: textOf(notification, text), description: textOf(notification, "{detail}") }
    const end = resolves === undefined ? now + shownMillis(notification) : now
    const alerts = (resolves ?? [notification]).map((alert) => ({
      labels: labelsOf(treasury, alert),
      annotations,
      // It refuses what ends before it starts, as an alert may that a clock ahead raised.
      startsAt: new Date(Math.min(alert.at, end)).toISOString(),
      endsAt: new Date(end).toISOString(),
    }))
    if (alerts.length === 0) return []
    const body = JSON.stringify(alerts)
    return [{ url: under(plain(url), "/api/v2/alerts"), headers: headersOf(headers), body, isTimed: true }]
  },

  slack: ({ url, text }, notification) => {
    const said = slackText(cut(textOf(notification, text), 2_500))
    const section = cut(said, 3_000).replace(/&[a-z]*…$/, "…")
    const blocks = [{ type: "section", text: { type: "mrkdwn", text: section, verbatim: true } }]
    return [{ url: plain(url), body: JSON.stringify({ text: said, blocks }) }]
  },

  discord: ({ url, text }, notification) => {
    const content = cut(textOf(notification, text, unlinked), 2_000)
    return [{ url: plain(url), body: JSON.stringify({ content, allowed_mentions: { parse: [] } }) }]
  },

  pagerduty: ({ key, url, text }, notification) => {
    const { treasury, severity, kind, fields, at, detail, resolves } = notification
    const post = (event: object, path = "/v2/enqueue") => ({
      url: under(url ?? "https://events.pagerduty.com", path),
      body: JSON.stringify({ routing_key: Redacted.value(key), ...event }),
    })
    if (resolves !== undefined) {
      return resolves.map((alert) => post({ event_action: "resolve", dedup_key: dedupKey(alert) }))
    }
    const common = {
      summary: cut(textOf(notification, text), 1_024),
      source: treasury,
      timestamp: new Date(at).toISOString(),
      custom_details: { ...fields, detail },
    }
    // A change event opens no incident, which nothing would resolve.
    if (stateOf(notification) === "event") return [post({ payload: common }, "/v2/change/enqueue")]
    const payload = {
      ...common,
      severity: pagerdutySeverities[severity],
      component: subjectText(notification),
      class: kind,
    }
    return [post({ event_action: "trigger", dedup_key: dedupKey(notification), payload })]
  },

  telegram: ({ token, chat, url, text }, notification) => {
    const to = under(url ?? "https://api.telegram.org", `/bot${Redacted.value(token)}/sendMessage`)
    const message = {
      chat_id: chat,
      text: cut(textOf(notification, text), 4_096),
      link_preview_options: { is_disabled: true },
    }
    return [{ url: to, body: JSON.stringify(message) }]
  },
}

/** The requests of a receiver that is reached by HTTP; undefined of any other. */
export const postsOf = (
  receiver: ReceiverOptions,
): ((notification: Notification, now: number) => ReadonlyArray<Post>) | undefined => {
  const posts = <K extends HttpKind>(kind: K) => {
    const options = receiver[kind] as Options[K] | undefined
    const service: Service<Options[K]> = services[kind]
    return options && ((notification: Notification, now: number) => service(options, notification, now))
  }
  return Object.keys(services)
    .map((kind) => posts(kind as HttpKind))
    .find((one) => one !== undefined)
}
