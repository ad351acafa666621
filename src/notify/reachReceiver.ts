import { connect } from "node:net"
import { Effect } from "effect"
import { type Notification, NotifyError, type ReceiverOptions } from "./Channel.ts"
import { permittedHosts } from "./Notifier.ts"
import { errorCodeOf, privateCode, privateWords, publicOnly } from "./publicOnly.ts"
import { postsOf } from "./services.ts"

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
    socket.on("connect", () => resume(Effect.void))
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
