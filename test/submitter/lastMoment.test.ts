import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, type Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { daemonLayer } from "../../src/layers.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { ProofOfWork } from "../../src/pow/ProofOfWork.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Database } from "../../src/store/database/Database.ts"
import { InFlight } from "../../src/submitter/InFlight.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { type Flow, paid, round } from "../support/Flow.ts"
import { type Front, honest, type Manner } from "../support/Fronts.ts"
import { behind } from "../support/LoneLiar.ts"
import { powOf } from "../support/TestSandbox.ts"
import { turn, waitUntil } from "../support/until.ts"

type Services = Layer.Success<ReturnType<typeof daemonLayer>>
type Change = Effect.Effect<void, unknown, Services>
type Options = Parameters<Flow>[0]
type Node = Parameters<Flow>[1]

const isHead = ({ url }: { readonly url: URL }) => url.pathname === "/blockchain/height"
const posts = ({ server }: Front) => server.arrived.filter(({ method }) => method === "POST").length
const sends = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1 FROM sends`).pipe(
  Effect.map((rows) => rows.length),
)

/** Virtual time goes on until the effect has ended. */
const ticking = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.gen(function* () {
    const passing = Effect.andThen(turn, TestClock.adjust("2 millis"))
    yield* waitUntil("the end of the effect", () => fiber.pollUnsafe() !== undefined, passing)
    return yield* Fiber.join(fiber)
  })

/** So long a window that the work of a test does not outlast it, but for the blocks that it makes. */
const pow = powOf(10)
/** From the anchor on, blocks until nothing may be sent: the window less its margin. */
const blocksLeft = 7

interface Stage {
  readonly front: Front
  readonly options: Options
  readonly sandbox: Node
}

/** What may happen in the last moment before a send. */
const changes: Readonly<Record<string, (stage: Stage) => Change>> = {
  "a halt": () => Effect.flatMap(Controls, (controls) => controls.halt("operator", "stop")),
  "a pause of the rule": () =>
    Effect.flatMap(Controls, (controls) =>
      controls.pause({ scope: "rule:keep-bob", reason: "odd", author: "ana", until: undefined }),
    ),
  "a pause of the receiver": () =>
    Effect.flatMap(Controls, (controls) =>
      controls.pause({ scope: "party:bob", reason: "odd", author: "ana", until: undefined }),
    ),
  "the end of its window": Effect.fnUntraced(function* ({ options, sandbox }) {
    for (let i = 0; i < blocksLeft; i++) yield* sandbox.stepBlock
    yield* TestClock.adjust("1 second")
    const poll = pollBalances(options.treasury)
    yield* ticking(yield* Effect.forkChild(Effect.repeat(poll, { while: (isMore) => isMore })))
  }),
  "the end of the process": () => Effect.flatMap(InFlight, ({ drain }) => drain),
}

/** Runs the effect from outside of it, as what answers a request does. */
const fromOutside = Effect.fnUntraced(function* (change: Change) {
  const context = yield* Effect.context<Services>()
  return () => Effect.runPromiseWith(context)(change)
})

/** The first send was lost; the next one is due. */
const dueAgain = Effect.fnUntraced(function* ({ front, options, sandbox }: Stage) {
  front.manner = async (request, ask) =>
    request.method === "POST" ? { status: 503, headers: {}, text: "" } : await ask()
  yield* submitOnce()
  assert.deepStrictEqual([posts(front), yield* sends], [1, 1])
  front.manner = honest
  yield* round(options, sandbox, new Set(["decide", "submit", "confirm"]))
})

/** The moments between the decision to send and the POST. */
const moments: Readonly<Record<string, (stage: Stage, change: Change) => Change>> = {
  "while the newest block is looked up": Effect.fnUntraced(function* (stage, change) {
    yield* dueAgain(stage)
    // No head of the moment is known.
    yield* TestClock.adjust("301 millis")
    const happen = yield* fromOutside(change)
    let happened: Promise<void> | undefined
    const once = () => {
      happened ??= happen()
      return happened
    }
    // The answer is of the block before the change.
    stage.front.manner = async (request, ask) => {
      const answer = await ask()
      if (isHead(request)) await once()
      return answer
    }
    yield* submitOnce()
    assert.isDefined(happened)
  }),
  "while the work is solved": Effect.fnUntraced(function* (_, change) {
    const pow = yield* ProofOfWork
    const context = yield* Effect.context<Services>()
    const solve: typeof pow.solve = (work) =>
      Effect.tap(pow.solve(work), () => Effect.orDie(Effect.provideContext(change, context)))
    yield* Effect.provideService(submitOnce(), ProofOfWork, { ...pow, solve })
  }),
  "while it waits for its turn": Effect.fnUntraced(function* (stage, change) {
    yield* dueAgain(stage)
    // A head is asked for first, and its answer spends the turns: else the POST leaves before the change.
    yield* TestClock.adjust("301 millis")
    const { front } = stage
    const spent = { "ratelimit-limit": "100", "ratelimit-reset": "1", "ratelimit-remaining": "0" }
    const slow: Manner = async (_, ask) => {
      const answer = await ask()
      return { ...answer, headers: { ...answer.headers, ...spent } }
    }
    const before = front.server.arrived.length
    front.manner = slow
    const fiber = yield* Effect.forkChild(submitOnce())
    yield* waitUntil("a request", () => front.server.arrived.length > before)
    // The clock stands: whatever the limiter holds back stays there.
    for (let i = 0; i < 50; i++) yield* turn
    yield* change
    yield* ticking(fiber)
  }),
}

describe("a send that has not begun", () => {
  for (const [moment, play] of Object.entries(moments)) {
    for (const [what, change] of Object.entries(changes)) {
      it.effect(`is stopped by ${what} ${moment}`, () =>
        behind({ scenario: { pow } }, function* (front, _, options, sandbox) {
          for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
          const stage = { front, options, sandbox }
          let before = { posts: -1, sends: -1 }
          const noted = Effect.gen(function* () {
            before = { posts: posts(stage.front), sends: yield* sends }
            yield* change(stage)
          })
          yield* play(stage, noted)
          const begun = moment === "while the work is solved" ? 0 : 1
          assert.deepStrictEqual(before, { posts: begun, sends: begun }, "nothing left before the change")
          assert.deepStrictEqual({ posts: posts(front), sends: yield* sends }, before)
          assert.lengthOf(yield* paid(sandbox), 0)
        }),
      )
    }
  }
})

describe("a send that has begun", () => {
  for (const [how, millis, back, isSent] of [
    ["at once", 0, 0, true],
    ["so long that the margin of its window may have begun", 10_000, 0, false],
    ["so long, and the clock is set back meanwhile", 10_000, 60_000, false],
  ] as const) {
    it.effect(`leaves ${isSent ? "" : "no more "}where its commit takes ${how}`, () =>
      behind({ scenario: { pow } }, function* (front, _, options, sandbox) {
        for (let i = 0; i < 2; i++) yield* round(options, sandbox, new Set(["submit"]))
        yield* dueAgain({ front, options, sandbox })
        const database = yield* Database
        const slow: typeof database.write = (effect, takenBack) =>
          Effect.gen(function* () {
            const before = yield* sends
            const done = yield* database.write(effect, takenBack)
            if ((yield* sends) > before) {
              yield* TestClock.adjust(millis)
              yield* TestClock.setTime((yield* Clock.currentTimeMillis) - back)
            }
            return done
          }).pipe(Effect.catchTag("SqlError", Effect.die)) as ReturnType<typeof database.write<never, never, never>>
        yield* Effect.provideService(submitOnce(), Database, { ...database, write: slow })
        assert.deepStrictEqual([posts(front), yield* sends], [isSent ? 2 : 1, 2])
      }),
    )
  }
})
