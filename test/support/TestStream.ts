import { type Cause, Deferred, Effect, Queue, type Scope } from "effect"
import { at, NoAnswer, request, type TestClient } from "./TestClient.ts"
import { soon, waitUntil } from "./until.ts"

/** One open stream of the network, as the runtime's own WebSocket client sees it. */
export interface TestStream {
  readonly send: (message: unknown) => Effect.Effect<void>
  /** The next messages, read as JSON; fails with Done where the stream ends before. */
  readonly take: (count: number) => Effect.Effect<ReadonlyArray<unknown>, Cause.Done>
  /** What arrived and was not taken. */
  readonly rest: Effect.Effect<ReadonlyArray<unknown>>
  /** The close code, once the stream has ended, and what was not taken of it. */
  readonly ended: Effect.Effect<readonly [code: number, rest: ReadonlyArray<unknown>]>
  readonly close: Effect.Effect<void>
}

/** Connects; the stream is closed with its scope. */
export const openStream = (
  client: Pick<TestClient, "url">,
  path: string,
): Effect.Effect<TestStream, NoAnswer, Scope.Scope> =>
  Effect.gen(function* () {
    const frames = yield* Queue.unbounded<unknown, Cause.Done>()
    const ended = yield* Deferred.make<number>()
    const socket = yield* Effect.acquireRelease(
      Effect.callback<WebSocket, NoAnswer>((resume) => {
        const opening = new WebSocket(client.url.replace(/^http/, "ws") + path)
        opening.addEventListener("open", () => resume(Effect.succeed(opening)))
        opening.addEventListener("error", (cause) => resume(Effect.fail(new NoAnswer({ cause }))))
        opening.addEventListener("message", ({ data }) => Queue.offerUnsafe(frames, JSON.parse(String(data))))
        opening.addEventListener("close", ({ code }) => {
          Queue.endUnsafe(frames)
          Deferred.doneUnsafe(ended, Effect.succeed(code))
        })
      }),
      (opened) => Effect.sync(() => opened.close()),
    )
    const rest = Effect.orElseSucceed(Queue.clear(frames), () => [])
    return {
      send: (message) =>
        Effect.sync(() => socket.send(typeof message === "string" ? message : JSON.stringify(message))),
      take: (count) =>
        Effect.forEach(Array.from({ length: count }), () => soon("a message of a stream", Queue.take(frames))),
      rest,
      ended: Effect.all([soon("the end of a stream", Deferred.await(ended)), rest]),
      close: Effect.sync(() => socket.close()),
    }
  })

/** Waits until as many streams are told of blocks: none of them misses the next one. */
export const listening = (client: Pick<TestClient, "url">, count: number): Effect.Effect<void, NoAnswer> =>
  waitUntil(
    `${count} streams`,
    Effect.map(request(client, "/sandbox/ledger"), (reply) => at(reply, "streams") === count),
  )
