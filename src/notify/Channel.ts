import { type Effect, Redacted, Schema } from "effect"
import { fillText, type ReceiverConfig, type TextVariable, type WithSecrets } from "../config/schema/Receivers.ts"
import { isFactName } from "../domain/alerts/Alert.ts"
import { visible } from "../domain/text.ts"

/** A receiver did not take a notification. It is tried again; an alert is never dropped for it. */
export class NotifyError extends Schema.TaggedError<NotifyError>()("NotifyError", {
  receiver: Schema.String,
  detail: Schema.String,
}) {
  override get message() {
    return `${this.receiver}: ${this.detail}`
  }
}

/** Identity of an alert, the same in each send and in the all-clear that ends it. */
export interface AlertIdentity {
  /** Treasury, installation and what it is about. */
  readonly key: string
  readonly severity: "page" | "ticket" | "info"
  readonly kind: string
  readonly subject: string
  /** Unix milliseconds at which it was raised. */
  readonly at: number
}

/** One message to a receiver. After a crash or a lost answer it may come twice, with the same `id`. */
export interface Notification extends AlertIdentity {
  readonly id: string
  /** Name in the catalogue: the heading of its runbook. */
  readonly name: string
  /** Alerts that the message stands for. */
  readonly count: number
  readonly treasury: string
  readonly detail: string
  readonly fields: Readonly<Record<string, string | number | boolean>>
  /** Alerts of this receiver that an all-clear ends; undefined for any other notification. */
  readonly resolves: ReadonlyArray<AlertIdentity> | undefined
}

/** "event": information about something that happened once, which nothing ends. */
export const stateOf = ({ resolves, severity, name }: Notification): "firing" | "resolved" | "event" =>
  resolves !== undefined ? "resolved" : severity === "info" && isFactName(name) ? "event" : "firing"

/** True for the all-clear of something that happened once: it clears a receiver's state, and people need no message. */
export const isFactOver = ({ resolves, name }: Notification): boolean => resolves !== undefined && isFactName(name)

/** The subject for people. The identity keeps that of the first alert alone: Alertmanager finds the alert by it. */
export const subjectText = ({ subject, count }: Notification): string =>
  count === 1 ? subject : `${subject} and ${count - 1} more`

/**
 * Result of a send that the receiver accepted. A text names those of its addresses that refused the message: they get
 * no further try, since each try would reach the other addresses again.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most channels have one address, and nothing to say.
export type SendResult = string | void

/** One way to reach people. */
export interface Channel {
  readonly name: string
  readonly send: (notification: Notification) => Effect.Effect<SendResult, NotifyError>
}

/** A receiver as configured, its secrets read. */
export type ReceiverOptions = WithSecrets<ReceiverConfig, Redacted.Redacted>

/** The text of an address, which may be a secret. */
export const plain = (value: string | Redacted.Redacted): string =>
  typeof value === "string" ? value : Redacted.value(value)

/** Without invisible characters: receivers show the texts unchanged, and outsiders may have written them. */
export const visibleTexts = ({ subject, detail, fields, resolves, ...rest }: Notification): Notification => ({
  ...rest,
  subject: visible(subject),
  detail: visible(detail),
  fields: Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [visible(key), typeof value === "string" ? visible(value) : value]),
  ),
  resolves: resolves?.map((one) => ({ ...one, subject: visible(one.subject) })),
})

/** The JSON of webhooks and commands, version 1. */
export const jsonOf = (notification: Notification, template: string | undefined) => ({
  version: 1,
  state: stateOf(notification),
  ...notification,
  subject: subjectText(notification),
  at: new Date(notification.at).toISOString(),
  resolves: notification.resolves?.map(({ key }) => key),
  ...(template === undefined ? {} : { text: textOf(notification, template) }),
})

const defaultText = "{severity} {treasury}: {subject}: {detail}"

/** The line that people read, each value as `shown`. The severity of an all-clear reads "resolved". */
export const textOf = (
  notification: Notification,
  template = defaultText,
  shown = (value: string) => value,
): string => {
  const { severity, treasury, kind, detail, fields, resolves } = notification
  const values: Readonly<Record<TextVariable, string>> = {
    severity: resolves === undefined ? severity : "resolved",
    treasury,
    kind,
    subject: subjectText(notification),
    detail,
    fields: Object.entries(fields)
      .map(([name, value]) => `${name}=${value}`)
      .join(" "),
  }
  const filled = (text: string) => fillText(text, (name) => shown(values[name as TextVariable]))
  const own = filled(template)
  // Services refuse an empty text, as "{fields}" is for an alert without any.
  return own.trim() === "" ? filled(defaultText) : own
}

/** At most `max` UTF-16 units: services refuse what is longer. */
export const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`
