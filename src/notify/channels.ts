import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { connect, type LookupFunction } from "node:net"
import { dirname } from "node:path"
import { Clock, Duration, Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { visible } from "../domain/text.ts"
import { type Channel, cut, jsonOf, type Notification, NotifyError, type ReceiverOptions, textOf } from "./Channel.ts"
import { errorCodeOf, privateCode, privateWords } from "./publicOnly.ts"
import type { Post, postsOf } from "./services.ts"

/** From a request to the head of its answer, and for a program, which is killed with its children. */
const deadline = Duration.seconds(10)

const wordsOf = (error: unknown): string => {
  const code = errorCodeOf(error)
  if (code === privateCode) return privateWords
  return code === undefined ? "not reached" : `not reached (${code})`
}

/**
 * Sends one request. Only the status of its answer counts: no body is read, and the connection is not kept. Returns the
 * time at which it was answered by the other's clock (Unix milliseconds), not a number if the answer does not tell it.
 */
const taken = Effect.fnUntraced(function* (
  receiver: string,
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
) {
  const failed = (detail: string) => new NotifyError({ receiver, detail })
  const { status, headers } = yield* Effect.scoped(HttpClient.withScope(client).execute(request)).pipe(
    Effect.timeout(deadline),
    Effect.mapError((error) => failed(error._tag === "TimeoutError" ? "no answer within 10 s" : wordsOf(error))),
  )
  if (status < 200 || status >= 300) return yield* failed(`answered with status ${status}`)
  return Date.parse(headers["date"] ?? "")
})

/** Clocks differ by less. */
const apartMillis = 60_000

/** GETs the address of a heartbeat; any 2xx answer means taken. */
export const beatOf = (url: string, client: HttpClient.HttpClient) =>
  taken("heartbeat", client, HttpClientRequest.get(url))

/** POSTs JSON; any 2xx answer means taken. Redirects are not followed, and count as failures. */
export const httpChannel = (
  name: string,
  posts: NonNullable<ReturnType<typeof postsOf>>,
  client: HttpClient.HttpClient,
): Channel => ({
  name,
  send: Effect.fn("HttpChannel.send")(function* (notification) {
    const post = ({ url, headers = {}, body }: Post) =>
      taken(
        name,
        client,
        HttpClientRequest.post(url).pipe(
          HttpClientRequest.setHeaders(headers),
          HttpClientRequest.bodyText(body, "application/json"),
        ),
      )
    // One after the other, a slow service would keep a page waiting for as many deadlines.
    const sendBy = (now: number) =>
      Effect.forEach(posts(notification, now), (one) => Effect.map(post(one), (theirs) => ({ ...one, theirs })), {
        concurrency: "unbounded",
      })
    const now = yield* Clock.currentTimeMillis
    const answered = yield* sendBy(now)
    const other = answered.find(({ isTimed, theirs }) => isTimed === true && Math.abs(theirs - now) > apartMillis)
    // By a clock that is behind an alert would be over as it comes, and be shown to nobody.
    if (other !== undefined) yield* sendBy(other.theirs)
  }),
})

/**
 * Runs an operator's program, without a shell: the notification is JSON on its standard input, an exit with 0 means
 * taken. It gets nothing of this process' environment, which may hold secrets; its output is discarded.
 */
export const commandChannel = (
  name: string,
  { program, args = [], text }: NonNullable<ReceiverOptions["command"]>,
): Channel => ({
  name,
  send: Effect.fn("CommandChannel.send")(function* (notification) {
    const failed = (detail: string) => new NotifyError({ receiver: name, detail })
    const run = Effect.callback<void, NotifyError>((resume) => {
      const child = spawn(program, args, {
        cwd: dirname(program),
        env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
        stdio: ["pipe", "ignore", "ignore"],
        // A group of its own, which ends as one.
        detached: true,
      })
      child.on("error", (error) =>
        resume(Effect.fail(failed(`not started (${(error as NodeJS.ErrnoException).code})`))),
      )
      child.on("exit", (code, signal) =>
        resume(code === 0 ? Effect.void : Effect.fail(failed(`ended with ${signal ?? code}`))),
      )
      // A program that does not read all of it breaks the pipe; its exit code tells whether it failed.
      child.stdin.on("error", () => {})
      child.stdin.end(`${JSON.stringify(jsonOf(notification, text))}\n`)
      return Effect.sync(() => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
        } catch {
          // It ended by itself meanwhile.
        }
      })
    })
    yield* Effect.timeoutOrElse(run, {
      duration: deadline,
      orElse: () => Effect.fail(failed("did not end within 10 s")),
    })
  }),
})

type MailOptions = NonNullable<ReceiverOptions["email"]>

/** From the connection to the server's word that it has the mail. */
const mailDeadline = Duration.seconds(30)
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
const mailWords = (error: unknown): string => {
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
    const refused = yield* Effect.tryPromise({
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
          return (await transport.sendMail({ ...messageOf(options, notification), signal })).rejected
        } finally {
          connection.destroy()
        }
      },
      catch: (error) => failed(mailWords(error)),
    }).pipe(
      Effect.timeoutOrElse({ duration: mailDeadline, orElse: () => Effect.fail(failed("no answer within 30 s")) }),
    )
    return refused.length === 0 ? undefined : `the mail server refused it for ${refused.join(", ")}`
  }),
})
