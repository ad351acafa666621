import { Clock, Duration, Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { type Channel, NotifyError } from "./Channel.ts"
import { errorCodeOf, privateCode, privateWords } from "./publicOnly.ts"
import type { postsOf } from "./services.ts"

/** From the start of the request to the end of the answer's head. */
const deadline = Duration.seconds(10)

const wordsOf = (error: unknown): string => {
  const code = errorCodeOf(error)
  if (code === privateCode) return privateWords
  return code === undefined ? "not reached" : `not reached (${code})`
}

/** Sends one request. The head of an answer says all: what follows is not awaited, and its connection is not kept. */
const taken = Effect.fnUntraced(function* (
  receiver: string,
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
) {
  const failed = (detail: string) => new NotifyError({ receiver, detail })
  const { status } = yield* Effect.scoped(HttpClient.withScope(client).execute(request)).pipe(
    Effect.timeout(deadline),
    Effect.mapError((error) => failed(error._tag === "TimeoutError" ? "no answer within 10 s" : wordsOf(error))),
  )
  if (status < 200 || status >= 300) return yield* failed(`answered with status ${status}`)
})

/** GETs the address of a heartbeat; any 2xx answer means taken. */
export const beatOf = (url: string, client: HttpClient.HttpClient) =>
  taken("heartbeat", client, HttpClientRequest.get(url))

/** POSTs JSON; any 2xx answer means taken. A redirect is followed nowhere: it is an answer that is none. */
export const httpChannel = (
  name: string,
  posts: NonNullable<ReturnType<typeof postsOf>>,
  client: HttpClient.HttpClient,
): Channel => ({
  name,
  send: Effect.fn("HttpChannel.send")(function* (notification) {
    for (const { url, headers = {}, body } of posts(notification, yield* Clock.currentTimeMillis)) {
      const request = HttpClientRequest.post(url).pipe(
        HttpClientRequest.setHeaders(headers),
        HttpClientRequest.bodyText(body, "application/json"),
      )
      yield* taken(name, client, request)
    }
  }),
})
