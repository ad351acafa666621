import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ChainContext } from "../../src/gateway/ChainContext.ts"
import { AcceptedHead } from "../../src/store/AcceptedHead.ts"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { Journal } from "../../src/store/Journal.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { flow, paid, round, states } from "../support/Flow.ts"
import { type Front, rewritten, startFront } from "../support/Fronts.ts"
import { chainId } from "../support/TestSandbox.ts"

const attempts = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return intent === undefined ? [] : yield* outbox.attempts(intent.id)
})

/** A flow behind a front that adds to the height that its gateway tells. */
const behindFront = (use: (add: (blocks: bigint, inRows?: boolean) => void) => Parameters<typeof flow>[0]) => {
  let front: Front | undefined
  let by = 0n
  const add = (blocks: bigint, inRows = false) => {
    by = blocks
    const head = rewritten("height", (told) => String(BigInt(told) + by), "/blockchain/height")
    front!.manner = async (request, ask) => {
      const answer = await head(request, ask)
      if (answer === "hang" || answer === "drop") return answer
      const height = answer.headers["x-block-height"]
      if (!inRows || height === undefined) return answer
      return { ...answer, headers: { ...answer.headers, "x-block-height": String(BigInt(height) + by) } }
    }
  }
  return flow(use(add), {
    front: (url) =>
      Effect.map(startFront("a", url), (started) => {
        front = started
        return started.server.url
      }),
  })
}

describe("a store that knows no head of the chain", () => {
  it.effect("signs nothing for ten seconds, then pays", () =>
    flow(
      (options, sandbox) =>
        Effect.gen(function* () {
          for (let i = 0; i < 9; i++) yield* Effect.ignore(round(options, sandbox))
          assert.deepStrictEqual(yield* attempts, [])
          for (let i = 0; i < 12 && !(yield* states).includes("confirmed"); i++) {
            yield* Effect.ignore(round(options, sandbox))
          }
          assert.deepStrictEqual(yield* states, ["confirmed"])
          assert.lengthOf(yield* paid(sandbox), 1)
        }),
      { isFirst: true, gateways: (url) => Effect.succeed({ sandbox: url }) },
    ),
  )
})

describe("a lone gateway that tells a head far ahead", () => {
  it.effect("has nothing signed, and pays once after it", () =>
    behindFront(
      (add) => (options, sandbox) =>
        Effect.gen(function* () {
          add(1_000_000n)
          for (let i = 0; i < 20; i++) yield* Effect.ignore(round(options, sandbox))
          assert.deepStrictEqual(yield* attempts, [])
          add(0n)
          for (let i = 0; i < 20; i++) yield* round(options, sandbox)
          assert.deepStrictEqual(yield* states, ["confirmed"])
          assert.lengthOf(yield* paid(sandbox), 1)
        }),
    ),
  )

  it.effect("is taken at its word after five minutes, with a ticket and a journal entry", () =>
    behindFront(
      (add) => (options, sandbox) =>
        Effect.gen(function* () {
          const undone = new Set(["decide", "submit", "confirm", "reconcile", "compare", "poll"])
          add(1_000_000n, true)
          for (let i = 0; i < 300; i++) yield* Effect.ignore(round(options, sandbox, undone))
          const head = Effect.exit(Effect.flatMap(ChainContext, (chain) => chain.head))
          assert.strictEqual((yield* head)._tag, "Failure")
          yield* Effect.ignore(round(options, sandbox, undone))
          assert.strictEqual((yield* head)._tag, "Success")
          const { accepted } = yield* (yield* AcceptedHead).of(chainId)
          assert.isAbove(Number(accepted?.height), 1_000_000)
          const tickets = (yield* (yield* AlertQueue).due(100)).filter(({ kind }) => kind === "head")
          assert.match(
            tickets[0]?.detail ?? "",
            /^block 1000\d+ is accepted after block \d+: for five minutes none fitted/,
          )
          assert.strictEqual(tickets[0]?.severity, "ticket")
          const [entry] = (yield* (yield* Journal).about(chainId)).filter(({ body }) =>
            body.includes("is accepted after"),
          )
          assert.isDefined(entry)
        }),
    ),
  )
})
