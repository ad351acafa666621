import { connect, isIP } from "node:net"
import { Context, Effect, Layer, type Redacted } from "effect"
import { HttpClient } from "effect/http"
import { layerHttpOptions } from "../sockets/client.ts"
import { logEvent } from "../telemetry/Logging.ts"
import {
  type Channel,
  isFactOver,
  type Notification,
  NotifyError,
  plain,
  type ReceiverOptions,
  type SendResult,
  subjectText,
  visibleTexts,
} from "./Channel.ts"
import { beatOf, commandChannel, httpChannel, mailChannel } from "./channels.ts"
import { errorCodeOf, privateCode, privateWords, publicOnly, type Resolver } from "./publicOnly.ts"
import { postsOf } from "./services.ts"

/** Writes to the log, the receiver that is always there: pages as errors, tickets as warnings. */
export const logChannel = (name: string): Channel => ({
  name,
  send: (notification) =>
    logEvent(
      notification.resolves === undefined ? "alert raised" : "alert resolved",
      {
        subject: subjectText(notification),
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

/** For receivers that people read. They keep no state of alerts, so that the all-clear of an event is no news. */
const unlessFactOver = ({ name, send }: Channel): Channel => ({
  name,
  send: (notification) => (isFactOver(notification) ? Effect.void : send(notification)),
})

/** The address of a heartbeat, which may be a secret. */
interface Heartbeat {
  readonly url: string | Redacted.Redacted
  readonly allowPrivate: boolean
}

/** Names that may have private addresses: this machine's, and those of receivers that say so. */
const permittedHosts = (receivers: ReadonlyArray<ReceiverOptions>, heartbeat?: Heartbeat): ReadonlySet<string> => {
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
    readonly send: (receiver: string, notification: Notification) => Effect.Effect<SendResult, NotifyError>
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
          : channel.send(visibleTexts(notification))
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
            if (email !== undefined) return unlessFactOver(mailChannel(name, email, lookup))
            if (command !== undefined) return commandChannel(name, command)
            const posts = postsOf(receiver)
            if (posts === undefined) return unlessFactOver(logChannel(name))
            const isChat = (receiver.slack ?? receiver.discord ?? receiver.telegram) !== undefined
            const channel = httpChannel(name, posts, client)
            return isChat ? unlessFactOver(channel) : channel
          }),
          heartbeat && beatOf(plain(heartbeat.url), client),
        ),
      ),
    ).pipe(Layer.provide(layerHttpOptions({ lookup })))
  }
}

const connectMillisMax = 5_000

/** A notification that is never sent: each service shows by it which address it posts to. */
const unsent: Notification = {
  key: "",
  severity: "info",
  name: "test",
  count: 1,
  kind: "",
  subject: "",
  at: 0,
  id: "",
  treasury: "",
  detail: "",
  fields: {},
  resolves: undefined,
}

const targetOf = (receiver: ReceiverOptions) => {
  const { email } = receiver
  if (email !== undefined) {
    return { host: email.host, port: Number(email.port ?? (email.tls === "implicit" ? 465 : 587)) }
  }
  const url = URL.parse(postsOf(receiver)?.(unsent, 0)[0]?.url ?? "")
  if (url === null) return undefined
  const usual = url.protocol === "https:" ? 443 : 80
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? usual : Number(url.port) }
}

/**
 * Connects to a receiver's address and sends nothing. A receiver that fails here gets no alert; one that passes may
 * still refuse what it gets. The log is always reached, and the file's own check covers programs.
 */
export const reachReceiver = (receiver: ReceiverOptions): Effect.Effect<void, NotifyError> => {
  const failed = (detail: string) => new NotifyError({ receiver: receiver.name, detail })
  const target = targetOf(receiver)
  if (target === undefined) return Effect.void
  return Effect.callback<void, NotifyError>((resume) => {
    const socket = connect({ ...target, lookup: publicOnly(permittedHosts([receiver])) })
    socket.on("connect", () => {
      // Left open, it keeps the process alive until the receiver ends it, such as after a minute.
      socket.destroy()
      resume(Effect.void)
    })
    socket.on("error", (error) => {
      const code = errorCodeOf(error)
      resume(failed(code === privateCode ? privateWords : `no connection to ${target.host}:${target.port} (${code})`))
    })
    return Effect.sync(() => socket.destroy())
  }).pipe(
    Effect.timeoutOrElse({
      duration: connectMillisMax,
      orElse: () => failed(`no connection to ${target.host}:${target.port} within ${connectMillisMax / 1_000} s`),
    }),
  )
}
