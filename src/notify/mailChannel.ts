import { createHash } from "node:crypto"
import { once } from "node:events"
import { connect, type LookupFunction } from "node:net"
import { Duration, Effect, Redacted } from "effect"
import { visible } from "../domain/text.ts"
import { type Channel, cut, type Notification, NotifyError, type ReceiverOptions, textOf } from "./Channel.ts"
import { errorCodeOf, privateCode, privateWords } from "./publicOnly.ts"

type MailOptions = NonNullable<ReceiverOptions["email"]>

/** From the connection to the server's word that it has the mail. */
const deadline = Duration.seconds(30)
const answerBytesMax = 4_096
/** Longer lines are folded, and some servers refuse what is longer than 998. */
const subjectMax = 200

const messageOf = ({ from, to, text }: MailOptions, notification: Notification) => {
  const { id, at, detail, fields } = notification
  const subject = textOf(notification, text)
  const values = Object.entries({ ...fields, at: new Date(at).toISOString(), id })
  const lines = [subject, "", detail, "", ...values.map(([name, value]) => `${name}: ${value}`)]
  // One notification has one id, which mail programs show once.
  const messageId = `<${createHash("sha256").update(id).digest("hex").slice(0, 40)}@cofferer>`
  return { from, to: [...to], subject: cut(subject, subjectMax), text: lines.map(visible).join("\n"), messageId }
}

/** Never the error's words: they may repeat what was sent. */
const wordsOf = (error: unknown): string => {
  const { responseCode } = error as { readonly responseCode?: unknown }
  const code = errorCodeOf(error)
  if (code === privateCode) return privateWords
  const words = [code, responseCode].filter((word) => typeof word === "string" || typeof word === "number")
  return `the mail was not taken${words.length === 0 ? "" : ` (${words.join(" ")})`}`
}

/** Gives a mail to a server; "taken" is what it says once it has all of it. */
export const mailChannel = (name: string, options: MailOptions, lookup: LookupFunction): Channel => ({
  name,
  send: Effect.fn("MailChannel.send")(function* (notification) {
    const failed = (detail: string) => new NotifyError({ receiver: name, detail })
    const { host, port, user, password, tls = port === "465" ? "implicit" : "starttls" } = options
    const { createTransport } = yield* Effect.promise(() => import("nodemailer"))
    yield* Effect.tryPromise({
      try: async (signal) => {
        const wanted = Number(port ?? (tls === "implicit" ? 465 : 587))
        const connection = connect({ host, port: wanted, lookup })
        try {
          await once(connection, "connect", { signal })
          const transport = createTransport({
            host,
            connection,
            secure: tls === "implicit",
            requireTLS: tls === "starttls",
            ignoreTLS: tls === "none",
            maxResponseSize: answerBytesMax,
            disableFileAccess: true,
            disableUrlAccess: true,
            ...(password === undefined ? {} : { auth: { user: user ?? "", pass: Redacted.value(password) } }),
          })
          await transport.sendMail({ ...messageOf(options, notification), signal })
        } finally {
          connection.destroy()
        }
      },
      catch: (error) => failed(wordsOf(error)),
    }).pipe(Effect.timeoutOrElse({ duration: deadline, orElse: () => Effect.fail(failed("no answer within 30 s")) }))
  }),
})
