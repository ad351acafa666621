import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { alertRows } from "../support/alertRows.ts"
import { type FlowBody, flow, paid, pass, round, states } from "../support/Flow.ts"
import { altered, down, type Manner, rewritten, threeFronts } from "../support/Fronts.ts"
import { halts } from "../support/Intents.ts"
import { behind } from "../support/LoneLiar.ts"
import { head as headOf } from "../support/TestClient.ts"
import { chainId, powOf } from "../support/TestSandbox.ts"

const attempts = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return intent === undefined ? [] : yield* outbox.attempts(intent.id)
})

/** A flow behind a front that adds to the height that its gateway tells. */
const behindFront = (use: (add: (blocks: bigint, inRows?: boolean) => void) => FlowBody) =>
  behind({}, (front, _, ...args) => {
    const add = (blocks: bigint, inRows = false) => {
      const head = rewritten("height", (told) => String(BigInt(told) + blocks), "/blockchain/height")
      front.manner = async (request, ask) => {
        const answer = await head(request, ask)
        if (answer === "hang" || answer === "drop") return answer
        const height = answer.headers["x-block-height"]
        if (!inRows || height === undefined) return answer
        return { ...answer, headers: { ...answer.headers, "x-block-height": String(BigInt(height) + blocks) } }
      }
    }
    return use(add)(...args)
  })

describe("a store that knows no head of the chain", () => {
  it.effect("signs nothing for ten seconds, then pays", () =>
    flow(
      function* (options, sandbox) {
        for (let i = 0; i < 9; i++) yield* Effect.ignore(round(options, sandbox))
        assert.deepStrictEqual(yield* attempts, [])
        for (let i = 0; i < 12 && !(yield* states).includes("confirmed"); i++) {
          yield* Effect.ignore(round(options, sandbox))
        }
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.lengthOf(yield* paid(sandbox), 1)
      },
      { isFirst: true, gateways: (url) => Effect.succeed({ sandbox: url }) },
    ),
  )
})

describe("a store that knows no head, before three gateways of which one names row headers, far behind", () => {
  it.effect("takes the head on which the others agree", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      const named = (height: string | undefined): Manner =>
        altered(
          () => true,
          ({ headers: { "x-block-height": was, ...headers }, ...answer }) => ({
            ...answer,
            headers: was === undefined || height === undefined ? headers : { ...headers, "x-block-height": height },
          }),
        )
      const withHeaders = (network: string) =>
        Effect.tap(gateways(network), () =>
          Effect.sync(() => {
            for (const front of fronts) front.manner = named(front.name === "c" ? "1" : undefined)
          }),
        )
      return flow(
        function* (options, sandbox) {
          for (let i = 0; i < 60; i++) yield* sandbox.stepBlock
          const undone = new Set(["decide", "submit", "confirm", "reconcile", "compare"])
          for (let i = 0; i < 20; i++) yield* Effect.ignore(round(options, sandbox, undone))
          const { accepted } = yield* (yield* ChainState).acceptedHead(chainId)
          assert.isAbove(Number(accepted?.height), 60)
        },
        { isFirst: true, gateways: withHeaders },
      )
    }),
  )
})

describe("a lone gateway that tells a head far ahead", () => {
  it.effect("has nothing signed, and pays once after it", () =>
    behindFront(
      (add) => (options, sandbox) =>
        Effect.gen(function* () {
          add(1_000_000n)
          yield* pass(sandbox, 20, Effect.ignore(round(options, sandbox)))
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
          const heard = Effect.ignore(round(options, sandbox, undone))
          yield* heard
          yield* pass(sandbox, 299, heard)
          const head = Effect.exit(Effect.flatMap(GatewayReader, (chain) => chain.head))
          assert.strictEqual((yield* head)._tag, "Failure")
          yield* heard
          assert.strictEqual((yield* head)._tag, "Success")
          const { accepted } = yield* (yield* ChainState).acceptedHead(chainId)
          assert.isAbove(Number(accepted?.height), 1_000_000)
          const tickets = (yield* alertRows).filter(({ kind }) => kind === "head")
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

describe("three gateways of which one is down and one tells a head that others do not come to", () => {
  it.effect("name a block that the chain has come to", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* (options, sandbox, client) {
          fronts[2]!.manner = down
          fronts[1]!.manner = rewritten("height", (told) => String(BigInt(told) + 25n), "/blockchain/height")
          for (let i = 0; i < 5; i++) yield* Effect.ignore(round(options, sandbox))
          const { height } = yield* (yield* GatewayReader).head
          const newest = BigInt((yield* headOf(client)).height)
          assert.isTrue(height > 0n && height <= newest, `${height} is told, and ${newest} is the newest`)
        },
        { scenario: { pow: powOf(40) }, gateways },
      )
    }),
  )
})

describe("one of three gateways whose row headers are ahead and of no time", () => {
  it.effect("makes no other chain of nodes that are a block apart", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      const moved = (by: bigint, time?: string): Manner =>
        altered(
          ({ method }) => method === "GET",
          (answer) => {
            const height = answer.headers["x-block-height"]
            const text = answer.text.replace(/^(\{"height": *")(\d+)"/, (_, key, old) =>
              time === undefined ? `${key}${BigInt(old) + by}"` : `${key}${old}"`,
            )
            if (height === undefined) return { ...answer, text }
            const named = { "x-block-height": String(BigInt(height) + by) }
            const timed = time === undefined ? {} : { "x-block-timestamp": time }
            return { ...answer, text, headers: { ...answer.headers, ...named, ...timed } }
          },
        )
      return flow(
        function* (options, sandbox) {
          fronts[0]!.manner = moved(10n, "1")
          for (let i = 0; i < 25; i++) yield* Effect.ignore(round(options, sandbox))
          for (const front of fronts.slice(1)) front.manner = moved(-4n)
          for (let i = 0; i < 3; i++) yield* Effect.ignore(round(options, sandbox))
          assert.deepStrictEqual(yield* halts, [])
        },
        { scenario: { pow: powOf(40) }, gateways },
      )
    }),
  )
})
