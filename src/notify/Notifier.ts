import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { visible } from "../domain/text.ts"
import { say } from "../telemetry/Logging.ts"

/** A receiver did not take a notification. It is tried again; an alert is never dropped for it. */
export class NotifyError extends Schema.TaggedError<NotifyError>()("NotifyError", {
  receiver: Schema.String,
  detail: Schema.String,
}) {
  override get message() {
    return `${this.receiver}: ${this.detail}`
  }
}

/** What a receiver is told. The same notification may come twice, after a crash or a lost answer: `id` tells. */
interface Notification {
  readonly id: string
  readonly treasury: string
  readonly severity: "page" | "ticket" | "info"
  readonly kind: string
  readonly subject: string
  readonly detail: string
  readonly fields: Readonly<Record<string, string | number | boolean>>
  /** Unix milliseconds at which it was raised. */
  readonly at: number
}

/** One way to reach people. */
export interface Channel {
  readonly name: string
  readonly send: (notification: Notification) => Effect.Effect<void, NotifyError>
}

/** Writes to the log, the receiver that is always there: pages as errors, tickets as warnings. */
export const logChannel = (name: string): Channel => ({
  name,
  send: (notification) =>
    say(
      "ALERT",
      {
        ...notification.fields,
        subject: notification.subject,
        detail: `${notification.detail}   ${notification.severity}, delivered to ${name}`,
        severity: notification.severity,
        kind: notification.kind,
        id: notification.id,
      },
      notification.severity,
    ),
})

interface WebhookOptions {
  readonly name: string
  /** Often holds a token itself, so it is a secret. */
  readonly url: Redacted.Redacted
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
}

/** From the start of the request to the end of the answer's head. */
const deadline = Duration.seconds(10)

/** The body of a webhook, version 1: chats show its texts as they are, so nothing unseen may be in them. */
const webhookBody = (notification: Notification) => ({
  version: 1,
  ...notification,
  subject: visible(notification.subject),
  detail: visible(notification.detail),
  fields: Object.fromEntries(
    Object.entries(notification.fields).map(([key, value]) => [
      visible(key),
      typeof value === "string" ? visible(value) : value,
    ]),
  ),
  at: new Date(notification.at).toISOString(),
})

/** POSTs JSON to an address of the operator; any 2xx answer means taken. Idempotency-Key is the notification's id. */
export const webhookChannel = (options: WebhookOptions, client: HttpClient.HttpClient): Channel => ({
  name: options.name,
  send: Effect.fn("Webhook.send")(function* (notification: Notification) {
    const failed = (detail: string) => new NotifyError({ receiver: options.name, detail })
    const headers = Object.entries(options.headers).map(([key, value]) => [key, Redacted.value(value)] as const)
    const request = HttpClientRequest.post(Redacted.value(options.url)).pipe(
      HttpClientRequest.setHeaders([...headers, ["Idempotency-Key", notification.id]]),
      HttpClientRequest.bodyJsonUnsafe(webhookBody(notification)),
    )
    // Its head says all: what a receiver sends behind it is not waited for, nor is its connection kept.
    const { status } = yield* Effect.scoped(HttpClient.withScope(client).execute(request)).pipe(
      Effect.timeout(deadline),
      // The cause may spell the address, which is a secret.
      Effect.mapError((error) => failed(error._tag === "TimeoutError" ? "no answer within 10 s" : "not reached")),
    )
    if (status >= 200 && status < 300) return
    return yield* failed(`answered with status ${status}`)
  }),
})

/** A receiver as configured, its secrets read. */
type ReceiverOptions = { readonly kind: "log"; readonly name: string } | ({ readonly kind: "webhook" } & WebhookOptions)

/** Delivers notifications to named receivers. */
export class Notifier extends Context.Service<
  Notifier,
  {
    readonly receivers: ReadonlyArray<string>
    readonly send: (receiver: string, notification: Notification) => Effect.Effect<void, NotifyError>
  }
>()("cofferer/notify/Notifier") {
  static readonly layer = (channels: ReadonlyArray<Channel>) =>
    Layer.succeed(Notifier, {
      receivers: channels.map((c) => c.name),
      send: (receiver, notification) => {
        const channel = channels.find((c) => c.name === receiver)
        return channel === undefined
          ? Effect.fail(new NotifyError({ receiver, detail: "no such receiver is configured any more" }))
          : channel.send(notification)
      },
    })

  /** The channels of the receivers, over one HTTP client of their own. */
  static readonly layerReceivers = (receivers: ReadonlyArray<ReceiverOptions>) =>
    Layer.unwrap(
      Effect.map(HttpClient.HttpClient, (client) =>
        Notifier.layer(receivers.map((r) => (r.kind === "log" ? logChannel(r.name) : webhookChannel(r, client)))),
      ),
    ).pipe(Layer.provide(NodeHttpClient.layerUndici))
}
