import { Duration, Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { visible } from "../domain/visible.ts"
import type { Channel, Notification } from "./Channel.ts"
import { NotifyError } from "./NotifyError.ts"

export interface WebhookOptions {
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
