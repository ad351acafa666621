import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import type { Channel, Notification } from "./Channel.ts"
import { logChannel } from "./logChannel.ts"
import { NotifyError } from "./NotifyError.ts"
import { type WebhookOptions, webhookChannel } from "./webhookChannel.ts"

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
