import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import type { Notification, ReceiverOptions } from "../../src/notify/Channel.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import type { Resolver } from "../../src/notify/publicOnly.ts"
import { soon } from "../support/until.ts"

/** One request as it came. */
interface Call {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly json: unknown
}

/** A real server that plays a service: it keeps each request, and answers with `answer` once it has `after` of them. */
export const serverAfter = (after: number) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const calls: Array<Call> = []
      const held: Array<() => void> = []
      const answer = { status: 200, headers: {} as Readonly<Record<string, string>> }
      const server = createServer((request, response) => {
        let text = ""
        request.on("data", (chunk: Buffer) => {
          text += chunk.toString()
        })
        request.on("end", () => {
          const { method = "", url: path = "", headers } = request
          calls.push({ method, path, headers, text, json: text === "" ? undefined : JSON.parse(text) })
          // Its clock is the test's, not the machine's.
          response.sendDate = false
          held.push(() => response.writeHead(answer.status, answer.headers).end())
          if (calls.length >= after) for (const one of held.splice(0)) one()
        })
      }).listen(0, "127.0.0.1")
      yield* soon(
        "the server",
        Effect.promise(() => once(server, "listening")),
      )
      const { port } = server.address() as AddressInfo
      return { server, calls, answer, port, url: `http://127.0.0.1:${port}` }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      }),
  )
export const serviceServer = serverAfter(1)

/** A page of a payment that hangs, and the all-clear of it. */
export const page: Notification = {
  id: "harbor/0a1b2c3d/7/lx",
  key: "harbor/0a1b2c3d/overdue/r44f",
  treasury: "harbor",
  name: "payment_manual",
  count: 1,
  severity: "page",
  kind: "intent",
  subject: "r44f",
  detail: "no <end> after 10 min & more",
  fields: { intent: "r44f", tries: 3 },
  at: Date.UTC(2026, 10, 21, 12, 0, 0),
  resolves: undefined,
}
export const allClear: Notification = {
  ...page,
  id: "harbor/0a1b2c3d/9/ly",
  key: "harbor/0a1b2c3d/ended/r44f",
  severity: "info",
  detail: "the payment is confirmed",
  at: Date.UTC(2026, 10, 21, 12, 30, 0),
  resolves: [{ key: page.key, severity: "page", kind: "intent", subject: "r44f", at: page.at }],
}

/** Sends to one receiver. */
export const sendTo = (receiver: ReceiverOptions, notification: Notification, resolve?: Resolver) =>
  Effect.flatMap(Notifier, ({ send }) => send(receiver.name, notification)).pipe(
    Effect.provide(Notifier.layerReceivers([receiver], { resolve })),
  )
