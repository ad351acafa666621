import { isIP } from "node:net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, Layer, type Redacted } from "effect"
import { HttpClient } from "effect/http"
import { logEvent } from "../telemetry/Logging.ts"
import { type Channel, type Notification, NotifyError, plain, type ReceiverOptions } from "./Channel.ts"
import { commandChannel } from "./commandChannel.ts"
import { beatOf, httpChannel } from "./httpChannel.ts"
import { mailChannel } from "./mailChannel.ts"
import { publicOnly, type Resolver } from "./publicOnly.ts"
import { postsOf } from "./services.ts"

/** Writes to the log, the receiver that is always there: pages as errors, tickets as warnings. */
export const logChannel = (name: string): Channel => ({
  name,
  send: (notification) =>
    logEvent(
      "alert raised",
      {
        subject: notification.subject,
        detail: notification.detail,
        severity: notification.severity,
        kind: notification.kind,
        id: notification.id,
        receiver: name,
        delivered: notification.fields,
      },
      { severity: notification.severity },
    ),
})

/** The address of a heartbeat, which may be a secret. */
interface Heartbeat {
  readonly url: string | Redacted.Redacted
  readonly allowPrivate: boolean
}

/** Names that may have private addresses: this machine's, and those of receivers that say so. */
export const permittedHosts = (
  receivers: ReadonlyArray<ReceiverOptions>,
  heartbeat?: Heartbeat,
): ReadonlySet<string> => {
  const own = heartbeat?.allowPrivate === true ? [URL.parse(plain(heartbeat.url))?.hostname ?? ""] : []
  const hosts = receivers.flatMap(({ name: _, ...kinds }) =>
    Object.values(kinds).flatMap((options) => {
      if (typeof options !== "object" || !("allowPrivate" in options) || options.allowPrivate !== "true") return []
      if ("host" in options) return [options.host]
      return options.url === undefined ? [] : [URL.parse(plain(options.url))?.hostname ?? ""]
    }),
  )
  return new Set(["localhost", ...[...own, ...hosts].filter((host) => isIP(host) === 0)])
}

/** Delivers notifications to named receivers. */
export class Notifier extends Context.Service<
  Notifier,
  {
    readonly receivers: ReadonlyArray<string>
    readonly send: (receiver: string, notification: Notification) => Effect.Effect<void, NotifyError>
    /** Calls the heartbeat's address; absent where none is configured. */
    readonly beat?: Effect.Effect<void, NotifyError>
  }
>()("cofferer/notify/Notifier") {
  static readonly layer = (channels: ReadonlyArray<Channel>, beat?: Effect.Effect<void, NotifyError>) =>
    Layer.succeed(Notifier, {
      ...(beat === undefined ? {} : { beat }),
      receivers: channels.map((c) => c.name),
      send: (receiver, notification) => {
        const channel = channels.find((c) => c.name === receiver)
        return channel === undefined
          ? Effect.fail(new NotifyError({ receiver, detail: "no such receiver is configured any more" }))
          : channel.send(notification)
      },
    })

  /** The channels of the receivers, over one HTTP client of their own. */
  static readonly layerReceivers = (
    receivers: ReadonlyArray<ReceiverOptions>,
    {
      heartbeat,
      resolve,
    }: { readonly heartbeat?: Heartbeat | undefined; readonly resolve?: Resolver | undefined } = {},
  ) => {
    const lookup = publicOnly(permittedHosts(receivers, heartbeat), resolve)
    return Layer.unwrap(
      Effect.map(HttpClient.HttpClient, (client) =>
        Notifier.layer(
          receivers.map((receiver) => {
            const { name, email, command } = receiver
            if (email !== undefined) return mailChannel(name, email, lookup)
            if (command !== undefined) return commandChannel(name, command)
            const posts = postsOf(receiver)
            return posts === undefined ? logChannel(name) : httpChannel(name, posts, client)
          }),
          heartbeat && beatOf(plain(heartbeat.url), client),
        ),
      ),
    ).pipe(Layer.provide(NodeHttpClient.layerUndiciOptions({ connect: { lookup, timeout: 5_000 } })))
  }
}
