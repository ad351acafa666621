import { Context, Effect, Layer } from "effect"
import type { Channel, Notification } from "./Channel.ts"
import { NotifyError } from "./NotifyError.ts"

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
}
