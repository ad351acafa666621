import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { bob, eve, paid, pass, round, states } from "../support/Flow.ts"
import { honest, type Manner } from "../support/Fronts.ts"
import { halts, rounds } from "../support/Intents.ts"
import { behind, keeper, pages, pow, shown, wage, wages } from "../support/LoneLiar.ts"
import { one } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

const isMissing =
  /^nothing is signed: wage: 30\.00 USDT alice -> eve is recorded as paid, and the ledger neither lists it .+"cofferer submit"/

describe("a lone gateway", () => {
  it.effect("that reports a refusal around an outage does not cause another payment", () =>
    behind({ scenario: pow(100), network: { framing: "bare" } }, function* (liar, url, options, sandbox) {
      const { kept, state, manner } = keeper()
      liar.manner = manner
      const passing = Effect.ignore(round(options, sandbox))
      const refusing = Effect.gen(function* () {
        state.as = shown("STATUS_REJECTED", bob, 150n * one)
        yield* passing
        state.as = undefined
      })
      yield* waitUntil("a payment to be kept back", () => kept.length > 0, passing)
      yield* refusing
      const blind: Manner = (request, ask) =>
        request.url.pathname.startsWith("/api/v2/transfer/")
          ? Promise.resolve({ status: 503, headers: {}, text: "" })
          : manner(request, ask)
      liar.manner = blind
      yield* pass(sandbox, 31, passing)
      liar.manner = manner
      yield* refusing
      yield* pass(sandbox, 64, passing)
      state.keeps = false
      const post = ({ path, body }: (typeof kept)[number]) =>
        Effect.promise(async () => void (await (await fetch(`${url}${path}`, { method: "POST", body })).text()))
      yield* Effect.forEach(kept, post, { discard: true })
      yield* pass(sandbox, 12, round(options, sandbox))
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.deepStrictEqual(yield* halts, [])
    }),
  )

  for (const [words, roundsBefore, lasts] of [
    ["for four seconds", 0, 4],
    ["for a minute", 0, 60],
    ["for a minute, once its window is over,", 46, 60],
  ] as const) {
    it.effect(`that tells ${words} that a payday is done has people called, who pay it`, () =>
      behind({ scenario: pow(40), rules: [wage], network: { framing: "bare" } }, function* (liar, _, options, sandbox) {
        yield* rounds(options, sandbox, 8)
        yield* pass(sandbox, 12, round(options, sandbox))
        const before = (yield* paid(sandbox)).length
        yield* TestClock.adjust("40 seconds")
        const { kept, state, manner } = keeper()
        liar.manner = manner
        const passing = Effect.ignore(round(options, sandbox))
        yield* waitUntil("a payment to be kept back", () => kept.length > 0, passing)
        yield* pass(sandbox, roundsBefore, passing)
        const told = shown("STATUS_DONE", eve, 30n * one)
        const [sent] = (yield* (yield* Outbox).recent(50)).filter(({ rule }) => rule === "wage")
        // The same time in each answer, as a block has.
        const at = String(BigInt(sent?.updatedAt ?? 0) * 1_000_000n + 1_000_000_000n)
        state.as = (id) => told(id, at)
        yield* pass(sandbox, lasts, passing)
        liar.manner = honest
        yield* pass(sandbox, 90, passing)
        assert.deepStrictEqual([yield* wages, (yield* paid(sandbox)).length - before], [["confirmed"], 0])
        assert.deepStrictEqual(yield* halts, ["payment_missing"])
        const [page, ...more] = yield* pages
        assert.match(page ?? "", isMissing)
        assert.deepStrictEqual(more, [])
      }),
    )
  }

  it.effect("with one node without old movements calls nobody to paid payments", () =>
    behind({ scenario: pow(40) }, function* (liar, _, options, sandbox) {
      const isConfirmed = Effect.map(states, ([state]) => state === "confirmed")
      yield* waitUntil("the confirmation", isConfirmed, round(options, sandbox))
      let asked = 0
      // The first question after the window goes to that node.
      liar.manner = async ({ url }, ask) => {
        const answer = await ask()
        if (url.pathname !== "/api/v2/ledgerentry/history" || answer.status !== 200 || asked++ > 0) return answer
        const told = JSON.parse(answer.text)
        return { ...answer, text: JSON.stringify({ ...told, ledgerEntries: { ...told.ledgerEntries, edges: [] } }) }
      }
      yield* pass(sandbox, 70, round(options, sandbox))
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.deepStrictEqual(yield* pages, [])
    }),
  )

  for (const kind of ["drops its row headers", "raises its row headers alike"]) {
    it.effect(`whose head runs ahead and that ${kind} gets nothing signed on future blocks`, () =>
      behind({ scenario: pow(100) }, function* (liar, _, options, sandbox) {
        const unsent = new Set(["submit"])
        yield* pass(sandbox, 15, round(options, sandbox, unsent))
        let by = 0n
        liar.manner = async (request, ask) => {
          const answer = await ask()
          if (request.url.pathname === "/blockchain/height" && answer.status === 200) {
            const told = JSON.parse(answer.text)
            return { ...answer, text: JSON.stringify({ ...told, height: String(BigInt(told.height) + by) }) }
          }
          const { "x-block-height": height, "x-block-timestamp": time, ...headers } = answer.headers
          if (height === undefined || time === undefined) return answer
          const raised = { "x-block-height": String(BigInt(height) + by), "x-block-timestamp": time }
          return { ...answer, headers: kind.startsWith("raises") ? { ...headers, ...raised } : headers }
        }
        for (let second = 0; second < 9; second++) {
          by += 900n
          yield* Effect.ignore(round(options, sandbox, second < 7 ? unsent : undefined))
        }
        liar.manner = honest
        const outbox = yield* Outbox
        const [intent] = yield* outbox.recent(1)
        const anchors = (yield* outbox.attempts(intent?.id ?? "")).map(({ anchorHeight }) => anchorHeight)
        assert.deepStrictEqual(
          anchors.filter((height) => height > 100n),
          [],
        )
        yield* pass(sandbox, 90, Effect.ignore(round(options, sandbox)))
        assert.lengthOf(yield* paid(sandbox), 1)
      }),
    )
  }
})
