import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decideOnce } from "../../src/engine/Engine.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { bob, eve, paid, pass, round } from "../support/Flow.ts"
import { altered, honest, rewritten } from "../support/Fronts.ts"
import { halts, rounds } from "../support/Intents.ts"
import { behind, deposits, keeper, pow, shown, keepEve as topEve, wage, wages } from "../support/LoneLiar.ts"
import { one } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

const [level] = topEve.topUp.levels
const keepEve = { ...topEve, topUp: { ...topEve.topUp, levels: [{ ...level, target: "200" }] } }

describe("a lone gateway", () => {
  for (const [words, time] of [
    ["an hour before it", (told: string) => String(BigInt(told) - 3_600_000_000_000n)],
    ["at no time", () => "0"],
    ["a second before it", (told: string) => String(BigInt(told) - 1_000_000_000n)],
    ["a millisecond before it", (told: string) => String(BigInt(told) - 1_000_000n)],
  ] as const) {
    it.effect(`that reports an execution ${words} does not cause a second payment`, () =>
      behind({ network: { framing: "bare" } }, function* (liar, _, options, sandbox) {
        const outbox = yield* Outbox
        const unconfirmed = new Set(["confirm", "decide"])
        const isSent = Effect.map(outbox.live, (all) => all.some(({ sends }) => sends > 0))
        yield* waitUntil("a send", isSent, Effect.andThen(round(options, sandbox, unconfirmed), decideOnce()))
        yield* waitUntil(
          "the payment",
          Effect.map(paid(sandbox), (all) => all.length > 0),
          sandbox.stepBlock,
        )
        liar.manner = rewritten("timestamp", time, "/api/v2/transfer/")
        yield* confirmOnce()
        liar.manner = honest
        // The engine looks before the next poll, as it does when a confirmation wakes it.
        yield* decideOnce()
        yield* round(options, sandbox, new Set(["confirm", "reconcile"]))
        yield* pass(sandbox, 90, round(options, sandbox))
        assert.lengthOf(yield* paid(sandbox), 1)
        assert.deepStrictEqual(yield* halts, [], "what left the account is explained by it all the same")
      }),
    )
  }

  it.effect("that reports an execution while another payment of the amount leaves does not cause a second one", () =>
    behind(
      { scenario: { ...pow(100), deposits }, network: { framing: "bare" }, rules: [keepEve], line: { per24h: "800" } },
      function* (liar, url, options, sandbox) {
        const outbox = yield* Outbox
        const { kept, manner } = keeper()
        liar.manner = manner
        const passing = Effect.ignore(round(options, sandbox))
        yield* waitUntil("both payments to be kept back", () => kept.length > 1, passing)
        const attemptTo = Effect.fnUntraced(function* (receiver: string) {
          const intent = (yield* outbox.open).find(({ payment }) => payment.toKey === receiver)
          return (yield* outbox.attempts(intent?.id ?? ""))[0] ?? assert.fail(`nothing to ${receiver}`)
        })
        const [first, other] = [yield* attemptTo(bob), yield* attemptTo(eve)]
        const post = ({ signature }: typeof first) =>
          Effect.promise(async () => {
            const { path, body } = kept.find((one) => one.body.includes(signature)) ?? assert.fail("not kept")
            await (await fetch(`${url}${path}`, { method: "POST", body })).text()
          })
        const done = shown("STATUS_DONE", bob, 150n * one)
        liar.manner = async (request, ask) => {
          if (request.method === "POST") return { status: 503, headers: {}, text: "" }
          const answer = await ask()
          const at = answer.headers["x-block-timestamp"] ?? ""
          if (request.url.pathname.endsWith(first.transferId)) {
            return { ...answer, status: 200, text: done(first.transferId, at) }
          }
          const isSilent = [other.transferId, "/api/v2/transfers"].some((end) => request.url.pathname.endsWith(end))
          return isSilent ? { status: 503, headers: {}, text: "" } : answer
        }
        yield* post(other)
        for (let i = 0; i < 6; i++) yield* passing
        liar.manner = honest
        yield* pass(sandbox, 10, passing)
        yield* post(first)
        yield* pass(sandbox, 10, passing)
        const decided = yield* outbox.recent(10)
        assert.lengthOf(
          yield* paid(sandbox),
          2,
          decided.map(({ subject, state, detail }) => `${subject} ${state} ${detail}`).join("; "),
        )
      },
    ),
  )

  it.effect("that reports a refusal for four seconds does not cause another payment", () =>
    behind({ scenario: pow(100), network: { framing: "bare" } }, function* (liar, url, options, sandbox) {
      const { kept, state, manner } = keeper()
      liar.manner = manner
      const passing = Effect.ignore(round(options, sandbox))
      yield* waitUntil("a payment to be kept back", () => kept.length > 0, passing)
      state.as = shown("STATUS_REJECTED", bob, 150n * one)
      for (let i = 0; i < 4; i++) yield* passing
      state.as = undefined
      yield* pass(sandbox, 64, passing)
      state.keeps = false
      const post = ({ path, body }: (typeof kept)[number]) =>
        Effect.promise(async () => void (await (await fetch(`${url}${path}`, { method: "POST", body })).text()))
      yield* Effect.forEach(kept, post, { discard: true })
      yield* pass(sandbox, 10, round(options, sandbox))
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.deepStrictEqual(yield* halts, [])
    }),
  )

  it.effect("that reports an impossible minimum once does not end a waiting payday", () =>
    behind({ rules: [wage] }, function* (liar, _, options, sandbox) {
      yield* rounds(options, sandbox, 3)
      yield* TestClock.adjust("1 minute")
      yield* rounds(options, sandbox, 3, new Set(["submit", "confirm"]))
      const controls = yield* Controls
      yield* controls.halt("operator", "looks at it")
      yield* rounds(options, sandbox, 2)
      yield* TestClock.adjust("6 minutes")
      let told = 0
      liar.manner = altered(
        ({ url }) => url.pathname === "/api/v2/network/parameters" && told++ === 0,
        (answer) => {
          const raised = (_: string, value: { readonly key?: string } | null) =>
            value?.key === "transfer.minTransferQuantumMultiple" ? { ...value, value: "1000000" } : value
          return { ...answer, text: JSON.stringify(JSON.parse(answer.text), raised) }
        },
      )
      yield* rounds(options, sandbox, 2)
      assert.isAbove(told, 0)
      yield* controls.resume({ scope: "all", reason: "looked", author: "ana" })
      yield* rounds(options, sandbox, 3)
      assert.notInclude(["confirmed", "cancelled"], (yield* wages)[0], "it waits")
      yield* TestClock.adjust("2 minutes")
      yield* rounds(options, sandbox, 15)
      assert.deepStrictEqual(yield* wages, ["confirmed"])
    }),
  )

  it.effect("whose head runs ahead of the balances gets nothing signed on future blocks", () =>
    behind({ scenario: pow(100) }, function* (liar, _, options, sandbox) {
      const unsent = new Set(["submit"])
      yield* pass(sandbox, 15, round(options, sandbox, unsent))
      let by = 0n
      liar.manner = rewritten("height", (told) => String(BigInt(told) + by), "/blockchain/height")
      for (let second = 0; second < 4; second++) {
        by += 900n
        yield* Effect.ignore(round(options, sandbox, second < 3 ? unsent : undefined))
      }
      const [intent] = yield* (yield* Outbox).recent(1)
      assert.deepStrictEqual(yield* (yield* Outbox).attempts(intent?.id ?? ""), [])
      assert.match(intent?.detail ?? "", /^waits: .*block 3[0-9]{3} is above what can follow block [0-9]+/)
      liar.manner = honest
      yield* pass(sandbox, 60, Effect.ignore(round(options, sandbox)))
      assert.lengthOf(yield* paid(sandbox), 1)
    }),
  )
})
