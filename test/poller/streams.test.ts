import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { runLoops } from "../../src/daemon.ts"
import { Streams } from "../../src/gateway/Streams.ts"
import { streamLoop } from "../../src/poller/StreamLoop.ts"
import { Signals, type Topic } from "../../src/store/Signals.ts"
import { live, openTransport } from "../gateway/GatewayServer.ts"
import { alice, bob, flow, paid, round, states } from "../support/Flow.ts"
import { flood, type Opened, passUntil, type StreamServer, startStreams } from "../support/StreamServer.ts"
import { listening } from "../support/TestStream.ts"
import { turn, waitUntil } from "../support/until.ts"

const day = 86_400_000
/** The wake itself is at most such a step before it is seen. */
const stepMillis = 20

/** How often a topic is woken. */
const counting = Effect.fnUntraced(function* (topic: Topic) {
  const signals = yield* Signals
  const at: Array<number> = []
  const count = Effect.gen(function* () {
    yield* signals.wait(topic, day)
    at.push(yield* Clock.currentTimeMillis)
  })
  yield* Effect.forkScoped(Effect.forever(count))
  return at
})

const result = JSON.stringify({
  result: { transactionResults: [{ partyId: alice, status: true, hash: "0".repeat(64) }] },
})
const balance = JSON.stringify({
  result: { updates: { accounts: [{ owner: bob, balance: "1", asset: "", type: 4 }] } },
})

/** Tells a lie of ours as often as it can. */
const lying = (opened: Opened) => flood(opened, opened.url.pathname.endsWith("accounts") ? balance : result)

describe("news by streams", () => {
  it.effect("wake the confirm loop for our transactions and the poller for balances", () =>
    flow((options, sandbox, client) =>
      Effect.scoped(
        Effect.gen(function* () {
          const confirm = yield* counting("confirm")
          const balances = yield* counting("balances")
          yield* Effect.forkScoped(streamLoop({ senders: [alice], holders: [bob] }))
          yield* listening(client, 2)
          yield* waitUntil("both to be woken", () => confirm.length > 0 && balances.length > 0)
          yield* TestClock.adjust("20 seconds")
          for (let i = 0; i < 4; i++) yield* round(options, sandbox, new Set(["confirm"]))
          yield* waitUntil("both to be woken again", () => confirm.length > 1 && balances.length > 1)
          assert.strictEqual((yield* paid(sandbox)).length, 1)
        }),
      ),
    ),
  )

  it.effect("wake a loop ten times in a row, then once a second", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const server = yield* startStreams()
        server.onOpen = lying
        const streams = Streams.make([yield* openTransport(server.url)])
        const at = yield* counting("confirm")
        const began = yield* Clock.currentTimeMillis
        yield* Effect.forkScoped(Effect.provideService(streamLoop({ senders: [alice], holders: [] }), Streams, streams))
        yield* passUntil(() => at.length > 0)
        yield* Effect.repeat(Effect.andThen(TestClock.adjust(stepMillis), turn), { times: 3_000 })
        const seconds = ((yield* Clock.currentTimeMillis) - began) / 1_000
        assert.isAtMost(at.length, 11 + seconds)
        assert.isAtLeast(at.length, seconds / 2, "and it does wake")
        for (const [i, millis] of at.slice(1).entries()) assert.isAtLeast(millis - at[i]!, 100 - stepMillis)
      }),
    ).pipe(Effect.provide(Layer.merge(live, Signals.layer))),
  )
})

const refusing = (server: StreamServer): void => {
  server.refusal = 403
}
const silent = (): void => {}
const breaking = (server: StreamServer): void => {
  server.onOpen = ({ wire }) => void wire.destroy()
}
const flooding = (server: StreamServer): void => {
  server.onOpen = lying
}
const troubles = { refusing, silent, breaking, flooding }

describe("a daemon whose gateway's streams are", () => {
  for (const [name, spoil] of Object.entries(troubles)) {
    it.effect(`${name} pays once, as without them`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          let server: StreamServer | undefined
          const front = (url: string) =>
            Effect.map(startStreams(url), (started) => {
              server = started
              spoil(started)
              return started.url
            })
          const use: Parameters<typeof flow>[0] = (options, sandbox) =>
            Effect.gen(function* () {
              const loops = yield* Effect.forkScoped(runLoops(options))
              for (let i = 0; i < 40 && (yield* states)[0] !== "confirmed"; i++) {
                yield* sandbox.stepBlock
                for (let j = 0; j < 20; j++)
                  yield* Effect.andThen(TestClock.adjust("50 millis"), Effect.repeat(turn, { times: 4 }))
              }
              assert.deepStrictEqual(yield* states, ["confirmed"])
              assert.strictEqual((yield* paid(sandbox)).length, 1)
              assert.isUndefined(loops.pollUnsafe(), "no loop gave up")
              assert.isAbove(server?.asked() ?? 0, 0)
            }).pipe(Effect.scoped)
          yield* flow(use, { network: { streams: true }, front })
        }),
      ),
    )
  }
})
