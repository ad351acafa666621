import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { LedgerAudit } from "../../src/store/payments/LedgerAudit.ts"
import { movementsFor } from "../../src/submitter/judgeFound.ts"
import { loadSends } from "../../src/submitter/loadEnds.ts"
import { alice, paid, pass, round, vault, withdrawing } from "../support/Flow.ts"
import { honest, type Manner } from "../support/Fronts.ts"
import { intentsOf } from "../support/Intents.ts"
import { behind, pages, pow } from "../support/LoneLiar.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"

const isMissing =
  /^nothing is signed: to-vault: 200\.00 USDT alice -> vault is recorded as paid, and the ledger neither lists it .+"cofferer submit"/

const tickets = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (due) => due.filter(({ severity, kind }) => severity === "ticket" && kind === "intent").map(({ detail }) => detail),
)

/** Takes nothing, and shows each withdrawal that it is asked for as done at a time (Unix milliseconds). */
const lyingOf = () => {
  let createdTimestamp = "0"
  const manner: Manner = async (request, ask) => {
    if (request.method === "POST") return { status: 503, headers: {}, text: "" }
    const answer = await ask()
    const id = /^\/api\/v2\/withdrawal\/([0-9a-f]{64})$/.exec(request.url.pathname)?.[1]
    if (id === undefined) return answer
    const [status, amount] = ["STATUS_FINALIZED", String(200n * one)]
    const ext = { erc20: { receiverAddress: vault } }
    const withdrawal = { id, partyId: alice, amount, asset: usdt, status, createdTimestamp, ext }
    return { ...answer, status: 200, text: JSON.stringify({ withdrawal }) }
  }
  const at = (millis: number) => {
    createdTimestamp = String(BigInt(millis) * 1_000_000n)
  }
  return { manner, at }
}

describe("a payment that is recorded as paid on one gateway's word", () => {
  for (const isPaid of [false, true]) {
    it.effect(`calls ${isPaid ? "nobody" : "people"} for a withdrawal ${isPaid ? "that" : "and nothing"} left`, () =>
      behind(
        { scenario: pow(40), ...withdrawing, network: { framing: "bare" } },
        function* (liar, _, options, sandbox) {
          const { states, attempts } = intentsOf("withdraw")
          const { manner, at } = lyingOf()
          const unconfirmed = new Set(["confirm"])
          if (!isPaid) liar.manner = manner
          while ((yield* attempts).length === 0) yield* Effect.ignore(round(options, sandbox, unconfirmed))
          at((yield* attempts)[0]!.createdAt + 1_000)
          for (let i = 0; i < 60 && (yield* states)[0] !== "confirmed"; i++)
            yield* Effect.ignore(ticking(round(options, sandbox)))
          assert.deepStrictEqual(yield* states, ["confirmed"])
          liar.manner = honest
          yield* pass(sandbox, 90, Effect.ignore(ticking(round(options, sandbox))))
          assert.deepStrictEqual(yield* (yield* LedgerAudit).watched, [])
          const [attempt] = yield* attempts
          const sends = yield* loadSends(alice, [attempt!])
          const moved = yield* movementsFor(attempt!, sends!)
          assert.deepInclude(moved, { count: isPaid ? 1 : 0, complete: true }, "movements of a withdrawal bear no id")
          const [page, ...more] = yield* pages
          if (isPaid) assert.isUndefined(page)
          else assert.match(page ?? "", isMissing)
          assert.deepStrictEqual(more, [])
          assert.lengthOf(yield* tickets, isPaid ? 0 : 1)
        },
      ),
    )
  }

  it.effect("keeps an equal withdrawal of another rule from being decided, which would be taken for it", () =>
    behind(
      {
        scenario: pow(40),
        ...withdrawing,
        rules: [...withdrawing.rules, { ...withdrawing.rules[0]!, name: "also-to-vault", priority: 2 }],
        network: { framing: "bare" },
      },
      function* (liar, _, options, sandbox) {
        yield* (yield* Controls).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
        const { intents, states, attempts } = intentsOf("withdraw")
        const { manner, at } = lyingOf()
        liar.manner = manner
        while ((yield* attempts).length === 0) {
          yield* Effect.ignore(round(options, sandbox, new Set(["confirm"])))
        }
        at((yield* attempts)[0]!.createdAt + 1_000)
        for (let i = 0; i < 60 && (yield* states)[0] !== "confirmed"; i++)
          yield* Effect.ignore(ticking(round(options, sandbox)))
        liar.manner = honest
        yield* pass(sandbox, 90, Effect.ignore(ticking(round(options, sandbox))))
        assert.deepStrictEqual(
          (yield* intents).map(({ rule, state }) => [rule, state]),
          [["to-vault", "confirmed"]],
        )
        assert.match((yield* pages).join(), isMissing)
        yield* (yield* Controls).resume({ scope: "all", reason: "looked", author: "ana" })
        yield* pass(sandbox, 30, Effect.ignore(ticking(round(options, sandbox))))
        assert.deepStrictEqual(
          (yield* intents).map(({ state }) => state),
          ["confirmed", "confirmed"],
          "the need is paid once it is known that it was not",
        )
        assert.lengthOf(
          (yield* paid(sandbox)).filter(({ command }) => command.toLowerCase().includes("withdraw")),
          1,
        )
      },
    ),
  )
})
